//! Numbers that others can't foresee: SipHash-2-4 (Aumasson and Bernstein, 2012) of what they know, with a key that
//! they don't.

/// The key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(pub [u64; 2]);

impl Key {
    /// The hash of two words.
    pub fn hash(&self, words: [u64; 2]) -> u64 {
        let [k0, k1] = self.0;
        let mut v = [
            k0 ^ 0x736F_6D65_7073_6575,
            k1 ^ 0x646F_7261_6E64_6F6D,
            k0 ^ 0x6C79_6765_6E65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        for word in [words[0], words[1], 16 << 56] {
            v[3] ^= word;
            rounds(&mut v, 2);
            v[0] ^= word;
        }
        v[2] ^= 0xFF;
        rounds(&mut v, 4);
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

fn rounds(v: &mut [u64; 4], count: usize) {
    for _ in 0..count {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::hash::Hasher;

    #[test]
    #[allow(deprecated)] // Rust's own, which has no other name
    fn is_siphash() {
        for key in [[0, 0], [0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908]] {
            for words in [[0, 0], [1, u64::MAX], [0x1234_5678_9ABC_DEF0, 42]] {
                let mut reference = core::hash::SipHasher::new_with_keys(key[0], key[1]);
                words.iter().for_each(|word: &u64| reference.write(&word.to_le_bytes()));
                assert_eq!(super::Key(key).hash(words), reference.finish());
            }
        }
    }
}
