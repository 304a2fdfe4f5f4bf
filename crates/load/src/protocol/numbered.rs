//! Texts that name a record by its number.

use std::sync::Arc;

/// Where a text has the number.
const NUMBER: &str = "{n}";

/// A text with the number of a record wherever it has `{n}`.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    /// What stands before, between and after the numbers.
    pieces: Arc<[Vec<u8>]>,
}

impl Numbered {
    /// `text`, and `end` as it is.
    pub(super) fn new(text: &str, end: &[u8]) -> Self {
        let mut pieces: Vec<Vec<u8>> = text.split(NUMBER).map(|piece| piece.as_bytes().to_vec()).collect();
        if let Some(last) = pieces.last_mut() {
            last.extend_from_slice(end);
        }
        Self { pieces: pieces.into() }
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
