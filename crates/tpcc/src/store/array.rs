//! Tables whose rows are numbered from 0 and never come or go.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::sync::atomic::AtomicU64;

use super::record;
use super::row::Row;
use super::tid::{Tid, Word};

/// A table of a fixed number of rows, all in one piece of memory: to find one takes no index, and no lock.
pub struct Array<R> {
    words: Box<[AtomicU64]>,
    len: usize,
    row: PhantomData<fn() -> R>,
}

impl<R: Row> Array<R> {
    const STRIDE: usize = 1 + R::WORDS;

    /// A table of the rows.
    pub fn new(rows: impl ExactSizeIterator<Item = R>) -> Self {
        let len = rows.len();
        let (mut words, mut row) = (Vec::with_capacity(len * Self::STRIDE), Vec::new());
        for each in rows {
            row.clear();
            each.encode(&mut row);
            words.extend(record::words(Word::present(Tid::ZERO), row.iter().copied()));
        }
        Self { words: words.into(), len, row: PhantomData }
    }

    /// How many rows it has.
    #[allow(clippy::len_without_is_empty, reason = "a table is made for its rows")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The words of a record.
    ///
    /// # Panics
    /// If there is no such row.
    pub(super) fn record(&self, index: usize) -> &[AtomicU64] {
        assert!(index < self.len, "row {index} of {}", self.len);
        &self.words[index * Self::STRIDE..][..Self::STRIDE]
    }
}
