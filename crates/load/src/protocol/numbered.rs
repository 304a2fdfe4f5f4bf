//! Texts that name a record by its number.

use std::sync::Arc;

/// Where a text has the number.
const NUMBER: &str = "{n}";

/// A text with the number of a record wherever it has `{n}`.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    /// What stands before, between and after the numbers.
    pieces: Arc<[Vec<u8>]>,
}

impl Numbered {
    /// `text`, and `end` as it is.
    pub(crate) fn new(text: &str, end: &[u8]) -> Self {
        let mut pieces: Vec<Vec<u8>> = text.split(NUMBER).map(|piece| piece.as_bytes().to_vec()).collect();
        if let Some(last) = pieces.last_mut() {
            last.extend_from_slice(end);
        }
        Self { pieces: pieces.into() }
    }

    /// Whether it has the number at all.
    pub(crate) fn differs(&self) -> bool {
        self.pieces.len() > 1
    }

    /// It, by itself.
    pub(crate) fn with(&self, number: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        self.push(number, &mut text);
        text
    }

    /// Appends it.
    #[inline]
    pub(super) fn push(&self, number: &[u8], out: &mut Vec<u8>) {
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(number);
            }
            out.extend_from_slice(piece);
        }
    }
}

/// The number of the record with this key: its digits without the zeros before them.
#[inline]
pub(super) fn number(key: &[u8]) -> &[u8] {
    let zeros = key.iter().take_while(|digit| **digit == b'0').count();
    &key[zeros.min(key.len().saturating_sub(1))..]
}

/// What the digits of a number mean.
pub(crate) fn value(digits: &[u8]) -> usize {
    digits.iter().fold(0, |value, digit| value * 10 + usize::from(digit - b'0'))
}
