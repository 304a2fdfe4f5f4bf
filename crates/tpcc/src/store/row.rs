//! What a record holds, as words.

use alloc::vec::Vec;
use core::fmt;

/// A value that stands in a store as a number of words.
///
/// Who reads while another writes decodes a mixture of two rows before it learns of that: any words must decode.
pub trait Row: Sized {
    /// How many words it takes.
    const WORDS: usize;

    /// Appends its words.
    fn encode(&self, words: &mut Vec<u64>);

    /// What the next words say.
    fn decode(words: &mut impl Iterator<Item = u64>) -> Self;
}

fn next(words: &mut impl Iterator<Item = u64>) -> u64 {
    words.next().expect("a row has all of its words")
}

impl Row for () {
    const WORDS: usize = 0;

    fn encode(&self, _words: &mut Vec<u64>) {}

    fn decode(_words: &mut impl Iterator<Item = u64>) -> Self {}
}

impl Row for u64 {
    const WORDS: usize = 1;

    fn encode(&self, words: &mut Vec<u64>) {
        words.push(*self);
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        next(words)
    }
}

impl Row for i64 {
    const WORDS: usize = 1;

    fn encode(&self, words: &mut Vec<u64>) {
        words.push(*self as u64);
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        next(words) as i64
    }
}

impl Row for u32 {
    const WORDS: usize = 1;

    fn encode(&self, words: &mut Vec<u64>) {
        words.push(u64::from(*self));
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        next(words) as u32
    }
}

impl Row for bool {
    const WORDS: usize = 1;

    fn encode(&self, words: &mut Vec<u64>) {
        words.push(u64::from(*self));
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        next(words) != 0
    }
}

impl<R: Row + Default> Row for Option<R> {
    const WORDS: usize = 1 + R::WORDS;

    fn encode(&self, words: &mut Vec<u64>) {
        words.push(u64::from(self.is_some()));
        match self {
            Some(value) => value.encode(words),
            None => R::default().encode(words),
        }
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        let is_some = next(words) != 0;
        let value = R::decode(words);
        is_some.then_some(value)
    }
}

impl<R: Row, const N: usize> Row for [R; N] {
    const WORDS: usize = N * R::WORDS;

    fn encode(&self, words: &mut Vec<u64>) {
        self.iter().for_each(|value| value.encode(words));
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        core::array::from_fn(|_| R::decode(words))
    }
}

/// Text of at most `N` bytes. What is longer is cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// A copy of the bytes.
    pub fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut text = [0; N];
        text.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        Self(text)
    }

    /// Its bytes, without the zeros that fill it up.
    pub fn bytes(&self) -> &[u8] {
        let zeros = self.0.iter().rev().take_while(|&&byte| byte == 0).count();
        &self.0[..N - zeros]
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}

impl<const N: usize> Row for Text<N> {
    const WORDS: usize = N.div_ceil(8);

    fn encode(&self, words: &mut Vec<u64>) {
        words.extend(self.0.chunks(8).map(|chunk| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(bytes)
        }));
    }

    fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
        let mut text = [0; N];
        for chunk in text.chunks_mut(8) {
            chunk.copy_from_slice(&next(words).to_le_bytes()[..chunk.len()]);
        }
        Self(text)
    }
}

/// A struct whose fields are rows, and which is one.
macro_rules! row {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind,)* }

        impl $crate::store::Row for $name {
            const WORDS: usize = 0 $(+ <$kind as $crate::store::Row>::WORDS)*;

            fn encode(&self, words: &mut alloc::vec::Vec<u64>) {
                $($crate::store::Row::encode(&self.$field, words);)*
            }

            fn decode(words: &mut impl Iterator<Item = u64>) -> Self {
                Self { $($field: $crate::store::Row::decode(words),)* }
            }
        }
    };
}

pub(crate) use row;

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<R: Row + PartialEq + fmt::Debug>(row: R) {
        let mut words = Vec::new();
        row.encode(&mut words);
        assert_eq!(words.len(), R::WORDS);
        assert_eq!(R::decode(&mut words.into_iter()), row);
    }

    #[test]
    fn a_row_comes_back_from_its_words() {
        there_and_back(());
        there_and_back(u64::MAX);
        there_and_back(-1_i64);
        there_and_back(u32::MAX);
        there_and_back([true, false]);
        there_and_back([None, Some(5_u32)]);
        there_and_back(Text::<9>::new(*b"BAROUGHT"));
        there_and_back(Text::<9>::new(*b"BAROUGHTPRES"));
    }

    #[test]
    fn a_text_is_cut_at_its_length_and_ends_before_its_zeros() {
        assert_eq!(Text::<4>::new(*b"BAROUGHT").bytes(), b"BARO");
        assert_eq!(Text::<4>::new(*b"OK").bytes(), b"OK");
        assert_eq!(Text::<4>::new([]).bytes(), b"");
    }
}
