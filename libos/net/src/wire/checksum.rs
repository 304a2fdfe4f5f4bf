//! The Internet checksum (RFC 1071).

/// A sum of 16-bit words that is being made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds bytes that begin at an even place of what is summed; only the last ones may be odd in number.
    #[inline]
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Checksum {
        // The sum does not depend on the order of bytes (RFC 1071, section 2.B), nor on how many words are added at
        // once.
        let mut sum = self.0;
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
        sum += match *words.remainder() {
            [a] => u64::from(u16::from_ne_bytes([a, 0])),
            [a, b] => u64::from(u16::from_ne_bytes([a, b])),
            [a, b, c] => u64::from(u16::from_ne_bytes([a, b])) + u64::from(u16::from_ne_bytes([c, 0])),
            _ => 0,
        };
        Checksum(sum)
    }

    /// Adds the header that TCP and UDP think in front of their own (RFC 9293, section 3.1).
    #[inline]
    #[must_use]
    pub fn with_pseudo_header(self, source: [u8; 4], destination: [u8; 4], protocol: u8, len: u16) -> Checksum {
        self.with(&source).with(&destination).with(&[0, protocol]).with(&len.to_be_bytes())
    }

    /// The checksum as it stands in a header; zero when what was summed held its own.
    #[inline]
    pub fn bytes(self) -> [u8; 2] {
        (!self.folded()).to_ne_bytes()
    }

    /// The sum itself as it stands in a header that a device completes.
    #[inline]
    pub fn partial_bytes(self) -> [u8; 2] {
        self.folded().to_ne_bytes()
    }

    /// Whether what was summed held its own checksum, and it was right.
    #[inline]
    pub fn is_right(self) -> bool {
        self.folded() == 0xFFFF
    }

    #[inline]
    fn folded(self) -> u16 {
        let sum = (self.0 & 0xFFFF_FFFF) + (self.0 >> 32);
        let sum = (sum & 0xFFFF) + (sum >> 16 & 0xFFFF) + (sum >> 32);
        let sum = (sum & 0xFFFF) + (sum >> 16);
        ((sum & 0xFFFF) + (sum >> 16)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071's definition.
    fn by_definition(bytes: &[u8]) -> u16 {
        let mut sum: u32 = 0;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }

    proptest! {
        #[test]
        fn is_the_sum_of_words(bytes in prop::collection::vec(any::<u8>(), 0..2000), middle in 0usize..1000) {
            let middle = (middle * 2).min(bytes.len() / 2 * 2);
            let sum = Checksum::default().with(&bytes[..middle]).with(&bytes[middle..]);
            prop_assert_eq!(u16::from_be_bytes(sum.bytes()), by_definition(&bytes));
        }

        #[test]
        fn a_changed_bit_is_seen(
            bytes in prop::collection::vec(any::<u8>(), 2..300), at in any::<prop::sample::Index>(),
        ) {
            let mut whole = bytes.clone();
            whole.truncate(bytes.len() / 2 * 2);
            let sum = Checksum::default().with(&whole).bytes();
            whole.extend(sum);
            prop_assert!(Checksum::default().with(&whole).is_right());
            let at = at.index(whole.len());
            whole[at] ^= 4;
            prop_assert!(!Checksum::default().with(&whole).is_right());
        }
    }
}
