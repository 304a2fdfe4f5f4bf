//! Segments of TCP (RFC 9293, section 3.1), with the options that set up a connection, and selective acknowledgments.

use core::fmt;
use core::ops::{BitAnd, BitOr, Range};

use super::ipv4::{self, Address};
use super::{Checksum, u16_at, u32_at};
use crate::tcp::Sequence;

/// The length of a header without options.
pub const HEADER_LEN: usize = 20;
/// The length of one block of a selective acknowledgment: the first number of a range, and the one after it.
pub const BLOCK_LEN: usize = 8;
/// How many blocks a header has room for beside no other option (RFC 2018, section 3).
pub const MAX_BLOCKS: usize = 4;
/// Where the checksum stands in a header.
pub const CHECKSUM_OFFSET: usize = 16;

/// Control bits.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(1);
    /// Numbers begin.
    pub const SYN: Flags = Flags(2);
    /// The connection is gone.
    pub const RST: Flags = Flags(4);
    /// Hand it to the application.
    pub const PSH: Flags = Flags(8);
    /// The acknowledgment counts.
    pub const ACK: Flags = Flags(16);
    /// None.
    pub const NONE: Flags = Flags(0);

    /// Whether all of these are set.
    #[inline]
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitAnd for Flags {
    type Output = Flags;

    fn bitand(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let letters = [(Flags::SYN, "S"), (Flags::FIN, "F"), (Flags::RST, "R"), (Flags::PSH, "P"), (Flags::ACK, ".")];
        letters.iter().filter(|(flag, _)| self.has(*flag)).try_for_each(|(_, letter)| f.write_str(letter))
    }
}

/// A segment, with the options that we know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Segment<'a> {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The number of its first byte, or of its SYN.
    pub sequence: Sequence,
    /// The next number that the sender expects.
    pub acknowledgment: Sequence,
    /// Control bits.
    pub flags: Flags,
    /// How many bytes the sender has room for, not scaled.
    pub window: u16,
    /// The largest payload that the sender takes.
    pub max_segment_size: Option<u16>,
    /// By how many bits the sender's windows are shifted from now on.
    pub window_scale: Option<u8>,
    /// The sender reads selective acknowledgments.
    pub is_selective: bool,
    /// A selective acknowledgment: blocks of [`BLOCK_LEN`] bytes.
    pub blocks: &'a [u8],
    /// Data.
    pub payload: &'a [u8],
}

impl Segment<'_> {
    /// How many sequence numbers it takes.
    #[inline]
    pub fn len(&self) -> u32 {
        self.payload.len() as u32 + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }

    /// Whether it takes no sequence number.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How long its header is when we write it.
    #[inline]
    pub fn header_len(&self) -> usize {
        let option = |is_there| if is_there { 4 } else { 0 };
        let setup =
            option(self.max_segment_size.is_some()) + option(self.window_scale.is_some()) + option(self.is_selective);
        HEADER_LEN + setup + option(!self.blocks.is_empty()) + self.blocks.len()
    }

    /// The ranges of numbers that have come out of order, each with the number after its last.
    pub fn selected(&self) -> impl Iterator<Item = Range<Sequence>> {
        let number = |bytes: &[u8], at| Sequence(u32_at(bytes, at));
        self.blocks.chunks_exact(BLOCK_LEN).map(move |block| number(block, 0)..number(block, 4))
    }
}

/// Writes a block of a selective acknowledgment.
pub fn write_block(selected: &Range<Sequence>, block: &mut [u8; BLOCK_LEN]) {
    block[..4].copy_from_slice(&selected.start.0.to_be_bytes());
    block[4..].copy_from_slice(&selected.end.0.to_be_bytes());
}

/// A packet's segment; none when it is wrong.
#[inline]
pub fn parse(bytes: &[u8], source: Address, destination: Address, checksum_is_right: bool) -> Option<Segment<'_>> {
    let fixed = bytes.first_chunk::<HEADER_LEN>()?;
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < HEADER_LEN || bytes.len() < header_len {
        return None;
    }
    let pseudo = || Checksum::default().with_pseudo_header(source, destination, ipv4::TCP, bytes.len() as u16);
    if !checksum_is_right && !pseudo().with(bytes).is_right() {
        return None;
    }
    let mut segment = Segment {
        source_port: u16_at(fixed, 0),
        destination_port: u16_at(fixed, 2),
        sequence: Sequence(u32_at(fixed, 4)),
        acknowledgment: Sequence(u32_at(fixed, 8)),
        flags: Flags(fixed[13] & 0x1F),
        window: u16_at(fixed, 14),
        max_segment_size: None,
        window_scale: None,
        is_selective: false,
        blocks: &[],
        payload: &bytes[header_len..],
    };
    if header_len > HEADER_LEN {
        read_options(&bytes[HEADER_LEN..header_len], &mut segment);
    }
    Some(segment)
}

/// Reads the options that we know where they belong, on a SYN or not; what follows one that is wrong is not read.
fn read_options<'a>(mut options: &'a [u8], segment: &mut Segment<'a>) {
    let is_syn = segment.flags.has(Flags::SYN);
    loop {
        options = match *options {
            [1, ref rest @ ..] => rest,
            [2, 4, high, low, ref rest @ ..] if is_syn => {
                segment.max_segment_size = Some(u16::from_be_bytes([high, low]));
                rest
            }
            [3, 3, shift, ref rest @ ..] if is_syn => {
                segment.window_scale = Some(shift.min(14)); // RFC 7323, section 2.3
                rest
            }
            [4, 2, ref rest @ ..] if is_syn => {
                segment.is_selective = true;
                rest
            }
            [5, len @ (10 | 18 | 26 | 34), ref rest @ ..] if !is_syn => {
                let Some((blocks, rest)) = rest.split_at_checked(usize::from(len) - 2) else { return };
                segment.blocks = blocks;
                rest
            }
            [0 | 2..=5, ..] | [] | [_] => return,
            [_, len, ..] if len < 2 || usize::from(len) > options.len() => return,
            [_, len, ..] => &options[usize::from(len)..],
        };
    }
}

/// Writes header and payload, without the checksum. Panics when there is not the room of them.
#[inline]
pub fn write(segment: &Segment, bytes: &mut [u8]) {
    let header_len = segment.header_len();
    bytes[0..2].copy_from_slice(&segment.source_port.to_be_bytes());
    bytes[2..4].copy_from_slice(&segment.destination_port.to_be_bytes());
    bytes[4..8].copy_from_slice(&segment.sequence.0.to_be_bytes());
    bytes[8..12].copy_from_slice(&segment.acknowledgment.0.to_be_bytes());
    bytes[12..14].copy_from_slice(&[((header_len / 4) << 4) as u8, segment.flags.0]);
    bytes[14..16].copy_from_slice(&segment.window.to_be_bytes());
    bytes[16..20].copy_from_slice(&[0; 4]);
    let mut at = HEADER_LEN;
    if let Some(size) = segment.max_segment_size {
        let [high, low] = size.to_be_bytes();
        bytes[at..at + 4].copy_from_slice(&[2, 4, high, low]);
        at += 4;
    }
    if let Some(shift) = segment.window_scale {
        bytes[at..at + 4].copy_from_slice(&[1, 3, 3, shift]);
        at += 4;
    }
    if segment.is_selective {
        bytes[at..at + 4].copy_from_slice(&[1, 1, 4, 2]);
        at += 4;
    }
    if !segment.blocks.is_empty() {
        bytes[at..at + 4].copy_from_slice(&[1, 1, 5, 2 + segment.blocks.len() as u8]);
        bytes[at + 4..header_len].copy_from_slice(segment.blocks);
    }
    bytes[header_len..header_len + segment.payload.len()].copy_from_slice(segment.payload);
}

/// Writes the checksum of a segment that was written: all of it, or what the device then completes.
#[inline]
pub fn write_checksum(bytes: &mut [u8], source: Address, destination: Address, device_completes: bool) {
    let pseudo = Checksum::default().with_pseudo_header(source, destination, ipv4::TCP, bytes.len() as u16);
    let checksum = if device_completes { pseudo.partial_bytes() } else { pseudo.with(bytes).bytes() };
    bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&checksum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    extern crate std;

    const SOURCE: Address = [10, 0, 2, 2];
    const DESTINATION: Address = [10, 0, 2, 15];

    proptest! {
        #[test]
        fn what_is_written_is_read(
            source_port: u16, destination_port: u16, sequence: u32, acknowledgment: u32, window: u16, bits in 0u8..32,
            size in prop::option::of(any::<u16>()), scale in prop::option::of(0u8..=14), is_selective: bool,
            blocks in prop::collection::vec(any::<[u8; BLOCK_LEN]>(), 0..=MAX_BLOCKS),
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let flags = Flags(bits);
            let is_syn = flags.has(Flags::SYN);
            let blocks = if is_syn { Vec::new() } else { blocks.concat() };
            let segment = Segment {
                source_port,
                destination_port,
                sequence: Sequence(sequence),
                acknowledgment: Sequence(acknowledgment),
                flags,
                window,
                max_segment_size: size.filter(|_| is_syn),
                window_scale: scale.filter(|_| is_syn),
                is_selective: is_selective && is_syn,
                blocks: &blocks,
                payload: &payload,
            };
            let mut bytes = vec![0xEE; segment.header_len() + payload.len()];
            write(&segment, &mut bytes);
            write_checksum(&mut bytes, SOURCE, DESTINATION, false);
            prop_assert_eq!(parse(&bytes, SOURCE, DESTINATION, false), Some(segment));
            bytes[0] ^= 1;
            prop_assert_eq!(parse(&bytes, SOURCE, DESTINATION, false), None);
        }

        #[test]
        fn foreign_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(segment) = parse(&bytes, SOURCE, DESTINATION, true) {
                prop_assert!(segment.payload.len() + HEADER_LEN <= bytes.len());
            }
        }

        #[test]
        fn a_block_that_is_written_is_read(start: u32, end: u32) {
            let mut block = [0; BLOCK_LEN];
            write_block(&(Sequence(start)..Sequence(end)), &mut block);
            let mut bytes = vec![0; HEADER_LEN];
            bytes[12] = 0x50;
            let segment = Segment { blocks: &block, ..parse(&bytes, SOURCE, DESTINATION, true).unwrap() };
            prop_assert_eq!(segment.selected().collect::<Vec<_>>(), [Sequence(start)..Sequence(end)]);
        }

        #[test]
        fn options_end(options in prop::collection::vec(prop_oneof![1u8..5, any::<u8>()], 0..=40)) {
            let mut bytes = vec![0; 60];
            bytes[12] = 0xF0;
            bytes[20..20 + options.len()].copy_from_slice(&options);
            for flags in [Flags::SYN, Flags::ACK] {
                bytes[13] = flags.0;
                prop_assert!(parse(&bytes, SOURCE, DESTINATION, true).is_some());
            }
        }
    }
}
