//! IPv4 (RFC 791), without fragments and without options of ours.

use super::{Checksum, u16_at};

/// An address.
pub type Address = [u8; 4];

/// The length of a header that we write.
pub const HEADER_LEN: usize = 20;

/// ICMP's number.
pub const ICMP: u8 = 1;
/// TCP's number.
pub const TCP: u8 = 6;
/// UDP's number.
pub const UDP: u8 = 17;

const TIME_TO_LIVE: u8 = 64;
const DO_NOT_FRAGMENT: [u8; 2] = [0x40, 0];

/// A header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// Who sent the packet.
    pub source: Address,
    /// Who is to get it.
    pub destination: Address,
    /// What it carries.
    pub protocol: u8,
}

/// A packet's header and what it carries, without what Ethernet pads. None when it is wrong, or a fragment.
#[inline]
pub fn parse(packet: &[u8], checksum_is_right: bool) -> Option<(Header, &[u8])> {
    let fixed = packet.first_chunk::<HEADER_LEN>()?;
    let header_len = usize::from(fixed[0] & 0xF) * 4;
    let len = usize::from(u16_at(fixed, 2));
    let is_fragment = u16_at(fixed, 6) & 0x3FFF != 0;
    if fixed[0] >> 4 != 4 || header_len < HEADER_LEN || len < header_len || is_fragment {
        return None;
    }
    let packet = packet.get(..len)?;
    let (header, payload) = packet.split_at(header_len);
    if !checksum_is_right && !Checksum::default().with(header).is_right() {
        return None;
    }
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
    Some((Header { source: [s0, s1, s2, s3], destination: [d0, d1, d2, d3], protocol: fixed[9] }, payload))
}

/// Writes a header in front of `payload_len` bytes. Panics when there is not the room of one.
#[inline]
pub fn write(header: &Header, payload_len: usize, bytes: &mut [u8]) {
    let len = (HEADER_LEN + payload_len) as u16;
    let bytes = &mut bytes[..HEADER_LEN];
    bytes[..2].copy_from_slice(&[0x45, 0]);
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes[4..6].copy_from_slice(&[0, 0]); // the identification means nothing where nothing is fragmented (RFC 6864)
    bytes[6..8].copy_from_slice(&DO_NOT_FRAGMENT);
    bytes[8..10].copy_from_slice(&[TIME_TO_LIVE, header.protocol]);
    bytes[10..12].copy_from_slice(&[0, 0]);
    bytes[12..16].copy_from_slice(&header.source);
    bytes[16..20].copy_from_slice(&header.destination);
    let checksum = Checksum::default().with(bytes).bytes();
    bytes[10..12].copy_from_slice(&checksum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    extern crate std;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            source: Address, destination: Address, protocol: u8,
            payload in prop::collection::vec(any::<u8>(), 0..200), padding in 0usize..40,
        ) {
            let header = Header { source, destination, protocol };
            let mut packet = vec![0; HEADER_LEN];
            write(&header, payload.len(), &mut packet);
            packet.extend(&payload);
            packet.resize(packet.len() + padding, 0xAA);
            prop_assert_eq!(parse(&packet, false), Some((header, &payload[..])));
        }

        #[test]
        fn foreign_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some((_, payload)) = parse(&bytes, true) {
                prop_assert!(payload.len() + HEADER_LEN <= bytes.len());
            }
        }
    }
}
