//! Netlink attributes: a type and its bytes.

use std::io;

use netlink_packet_core::DefaultNla;

/// An attribute's type and its bytes.
pub(super) type Attribute = (u16, Vec<u8>);

/// An unsigned number of 1, 4 or 8 bytes: netlink sends the type `uint` as short as it fits.
pub(super) fn number(bytes: &[u8]) -> io::Result<u64> {
    match *bytes {
        [byte] => Ok(u64::from(byte)),
        [a, b, c, d] => Ok(u64::from(u32::from_ne_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(u64::from_ne_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(malformed(&format!("a number has {} bytes", bytes.len()))),
    }
}

/// The number of an attribute; none when it is not there.
pub(super) fn optional(attributes: &[Attribute], kind: u16) -> io::Result<Option<u64>> {
    attributes.iter().find(|(found, _)| *found == kind).map(|(_, bytes)| number(bytes)).transpose()
}

/// The 32-bit number of an attribute that must be there.
pub(super) fn required(attributes: &[Attribute], kind: u16) -> io::Result<u32> {
    optional(attributes, kind)?
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| malformed(&format!("no attribute {kind} of 32 bits is there")))
}

/// An attribute that holds a 32-bit number.
pub(super) fn unsigned(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().to_vec())
}

/// An attribute that holds a name.
pub(super) fn name(kind: u16, name: &str) -> DefaultNla {
    DefaultNla::new(kind, name.bytes().chain([0]).collect())
}

/// The error of a reply with something wrong in it.
pub(super) fn malformed(wrong: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the kernel's netlink reply cannot be read: {wrong}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_any_of_netlinks_lengths() {
        assert_eq!(number(&[7]).unwrap(), 7);
        assert_eq!(number(&7_u32.to_ne_bytes()).unwrap(), 7);
        assert_eq!(number(&(1_u64 << 40).to_ne_bytes()).unwrap(), 1 << 40);
        for length in [0, 2, 3, 5, 9] {
            assert!(number(&vec![0; length]).is_err());
        }
        assert!(required(&[(1, (1_u64 << 40).to_ne_bytes().to_vec())], 1).is_err());
        assert!(required(&[], 1).is_err());
    }
}
