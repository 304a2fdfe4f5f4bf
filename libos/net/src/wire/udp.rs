//! Datagrams of UDP (RFC 768).

use super::ipv4::{self, Address};
use super::{Checksum, u16_at};

/// The length of a header.
pub const HEADER_LEN: usize = 8;
/// What a datagram carries at most that Ethernet takes in one frame.
pub const MAX_PAYLOAD_LEN: usize = 1500 - ipv4::HEADER_LEN - HEADER_LEN;
/// Where the checksum stands in a header.
pub const CHECKSUM_OFFSET: usize = 6;

/// A sender that has summed nothing says so.
const NO_CHECKSUM: [u8; 2] = [0, 0];

/// A datagram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Datagram<'a> {
    /// The sender's port; zero where no answer is expected.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Data.
    pub payload: &'a [u8],
}

/// A packet's datagram, without what may follow it; none when it is wrong.
pub fn parse(bytes: &[u8], source: Address, destination: Address, checksum_is_right: bool) -> Option<Datagram<'_>> {
    let len = usize::from(u16_at(bytes.first_chunk::<HEADER_LEN>()?, 4));
    let bytes = bytes.get(..len)?;
    let (header, payload) = bytes.split_at_checked(HEADER_LEN)?;
    let is_summed = header[CHECKSUM_OFFSET..] != NO_CHECKSUM;
    if !checksum_is_right && is_summed && !pseudo_header(source, destination, len).with(bytes).is_right() {
        return None;
    }
    Some(Datagram { source_port: u16_at(header, 0), destination_port: u16_at(header, 2), payload })
}

/// Writes header and payload, without the checksum. Panics when there is not the room of them alone.
pub fn write(datagram: &Datagram, bytes: &mut [u8]) {
    let len = bytes.len() as u16;
    let (header, payload) = bytes.split_at_mut(HEADER_LEN);
    header[0..2].copy_from_slice(&datagram.source_port.to_be_bytes());
    header[2..4].copy_from_slice(&datagram.destination_port.to_be_bytes());
    header[4..6].copy_from_slice(&len.to_be_bytes());
    header[CHECKSUM_OFFSET..].copy_from_slice(&NO_CHECKSUM);
    payload.copy_from_slice(datagram.payload);
}

/// Writes the checksum of a datagram that was written: all of it, or what the device then completes.
pub fn write_checksum(bytes: &mut [u8], source: Address, destination: Address, device_completes: bool) {
    let pseudo = pseudo_header(source, destination, bytes.len());
    let checksum = if device_completes {
        pseudo.partial_bytes()
    } else {
        match pseudo.with(bytes).bytes() {
            NO_CHECKSUM => [0xFF; 2], // the same number in ones' complement
            checksum => checksum,
        }
    };
    bytes[CHECKSUM_OFFSET..HEADER_LEN].copy_from_slice(&checksum);
}

fn pseudo_header(source: Address, destination: Address, len: usize) -> Checksum {
    Checksum::default().with_pseudo_header(source, destination, ipv4::UDP, len as u16)
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

    fn written(datagram: &Datagram) -> Vec<u8> {
        let mut bytes = vec![0xEE; HEADER_LEN + datagram.payload.len()];
        write(datagram, &mut bytes);
        write_checksum(&mut bytes, SOURCE, DESTINATION, false);
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            source_port: u16, destination_port: u16, payload in prop::collection::vec(any::<u8>(), 0..300),
            behind in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let datagram = Datagram { source_port, destination_port, payload: &payload };
            let mut bytes = written(&datagram);
            prop_assert_ne!(&bytes[CHECKSUM_OFFSET..HEADER_LEN], NO_CHECKSUM);
            bytes.extend(behind);
            prop_assert_eq!(parse(&bytes, SOURCE, DESTINATION, false), Some(datagram));
        }

        #[test]
        fn a_changed_bit_is_seen(
            payload in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut bytes = written(&Datagram { source_port: 1, destination_port: 2, payload: &payload });
            // What its length leaves out may have been any bytes.
            let places: Vec<usize> = (0..bytes.len()).filter(|at| !(4..6).contains(at)).collect();
            let at = places[at.index(places.len())];
            bytes[at] ^= 1 << bit;
            let is_summed = bytes[CHECKSUM_OFFSET..HEADER_LEN] != NO_CHECKSUM;
            prop_assert!(!is_summed || parse(&bytes, SOURCE, DESTINATION, false).is_none());
        }

        #[test]
        fn a_device_completes_what_is_begun(payload in prop::collection::vec(any::<u8>(), 0..300)) {
            let whole = written(&Datagram { source_port: 1, destination_port: 2, payload: &payload });
            let mut begun = whole.clone();
            write_checksum(&mut begun, SOURCE, DESTINATION, true);
            prop_assert!(parse(&begun, SOURCE, DESTINATION, true).is_some());
            let sum = Checksum::default().with(&begun).bytes();
            prop_assert_eq!(if sum == NO_CHECKSUM { [0xFF; 2] } else { sum }, &whole[CHECKSUM_OFFSET..HEADER_LEN]);
        }

        #[test]
        fn foreign_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..80), len in 0u16..90) {
            let mut bytes = bytes;
            for checksum_is_right in [true, false] {
                if let Some(datagram) = parse(&bytes, SOURCE, DESTINATION, checksum_is_right) {
                    prop_assert!(datagram.payload.len() + HEADER_LEN <= bytes.len());
                }
            }
            if let Some(field) = bytes.get_mut(4..6) {
                field.copy_from_slice(&len.to_be_bytes());
            }
            let is_whole = (HEADER_LEN..=bytes.len()).contains(&usize::from(len)) && bytes.len() >= HEADER_LEN;
            prop_assert_eq!(parse(&bytes, SOURCE, DESTINATION, true).is_some(), is_whole);
        }
    }

    #[test]
    fn who_sums_nothing_is_believed_and_nobody_else() {
        let datagram = Datagram { source_port: 1, destination_port: 2, payload: b"data" };
        let mut bytes = written(&datagram);
        bytes[CHECKSUM_OFFSET..HEADER_LEN].copy_from_slice(&NO_CHECKSUM);
        assert_eq!(parse(&bytes, SOURCE, DESTINATION, false), Some(datagram));
        bytes[CHECKSUM_OFFSET + 1] = 1;
        assert_eq!(parse(&bytes, SOURCE, DESTINATION, false), None);
    }

    /// Zero would say that nothing was summed.
    #[test]
    fn a_sum_of_zero_is_written_as_its_other_form() {
        let mut payload = [0; 2];
        let bytes = written(&Datagram { source_port: 1, destination_port: 2, payload: &payload });
        payload.copy_from_slice(&bytes[CHECKSUM_OFFSET..HEADER_LEN]);
        let bytes = written(&Datagram { source_port: 1, destination_port: 2, payload: &payload });
        assert_eq!(bytes[CHECKSUM_OFFSET..HEADER_LEN], [0xFF; 2]);
    }
}
