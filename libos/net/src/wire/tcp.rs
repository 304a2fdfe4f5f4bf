//! Segments of TCP (RFC 9293, section 3.1), with the options that set up a connection.

use core::fmt;
use core::ops::{BitAnd, BitOr};

use super::ipv4::{self, Address};
use super::{Checksum, u16_at, u32_at};
use crate::tcp::Sequence;

/// The length of a header without options.
pub const HEADER_LEN: usize = 20;
/// The length of the options that a SYN of ours has at most: maximum segment size, and window scale after a
/// no-operation.
pub const SYN_OPTIONS_LEN: usize = 8;
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

/// A segment; of its options, those that a SYN has.
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
        let options =
            if self.max_segment_size.is_some() { 4 } else { 0 } + if self.window_scale.is_some() { 4 } else { 0 };
        HEADER_LEN + options
    }
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
        payload: &bytes[header_len..],
    };
    if segment.flags.has(Flags::SYN) {
        read_options(&bytes[HEADER_LEN..header_len], &mut segment);
    }
    Some(segment)
}

/// Reads the options that we know; what follows one that is wrong is not read.
fn read_options(mut options: &[u8], segment: &mut Segment) {
    loop {
        options = match *options {
            [1, ref rest @ ..] => rest,
            [2, 4, high, low, ref rest @ ..] => {
                segment.max_segment_size = Some(u16::from_be_bytes([high, low]));
                rest
            }
            [3, 3, shift, ref rest @ ..] => {
                segment.window_scale = Some(shift.min(14)); // RFC 7323, section 2.3
                rest
            }
            [2 | 3 | 0, ..] | [] | [_] => return,
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

    extern crate std;

    const SOURCE: Address = [10, 0, 2, 2];
    const DESTINATION: Address = [10, 0, 2, 15];

    proptest! {
        #[test]
        fn what_is_written_is_read(
            source_port: u16, destination_port: u16, sequence: u32, acknowledgment: u32, window: u16, bits in 0u8..32,
            size in prop::option::of(any::<u16>()), scale in prop::option::of(0u8..=14),
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let flags = Flags(bits);
            let is_syn = flags.has(Flags::SYN);
            let segment = Segment {
                source_port,
                destination_port,
                sequence: Sequence(sequence),
                acknowledgment: Sequence(acknowledgment),
                flags,
                window,
                max_segment_size: size.filter(|_| is_syn),
                window_scale: scale.filter(|_| is_syn),
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
        fn options_end(options in prop::collection::vec(prop_oneof![1u8..5, any::<u8>()], 0..=40)) {
            let mut bytes = vec![0; 60];
            bytes[12] = 0xF0;
            bytes[13] = Flags::SYN.0;
            bytes[20..20 + options.len()].copy_from_slice(&options);
            prop_assert!(parse(&bytes, SOURCE, DESTINATION, true).is_some());
        }
    }
}
