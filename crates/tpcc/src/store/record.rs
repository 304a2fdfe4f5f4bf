//! A record: a TID word, and the words of a row.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use super::conflict::Conflict;
use super::lock::soon;
use super::row::Row;
use super::tid::Word;

/// The words of a record, the TID word first.
#[derive(Clone, Copy)]
pub(super) struct Record<'a>(&'a [AtomicU64]);

/// A record that stays while it is held.
pub(super) enum Held<'db> {
    /// One of an array, which stays as long as the store.
    Fixed(&'db [AtomicU64]),
    /// One of a tree, which is freed with the last who holds it.
    Counted(Arc<[AtomicU64]>),
}

impl Held<'_> {
    pub(super) fn record(&self) -> Record<'_> {
        match self {
            Self::Fixed(words) => Record(words),
            Self::Counted(words) => Record(words),
        }
    }
}

/// The words of a record that is not in a table yet.
pub(super) fn words(
    word: Word,
    mut row: impl ExactSizeIterator<Item = u64>,
) -> impl ExactSizeIterator<Item = AtomicU64> {
    (0..row.len() + 1).map(move |at| match at {
        0 => AtomicU64::new(word.bits()),
        _ => AtomicU64::new(row.next().expect("as many as it said")),
    })
}

impl<'a> Record<'a> {
    pub(super) fn of(words: &'a [AtomicU64]) -> Self {
        Self(words)
    }

    /// Whether both are the same one.
    pub(super) fn is(self, other: Record<'_>) -> bool {
        core::ptr::eq(self.0, other.0)
    }

    pub(super) fn word(self) -> Word {
        Word::from_bits(self.0[0].load(Ordering::Acquire))
    }

    /// A row as one transaction left it, and the version that it is; none while it is absent.
    ///
    /// The cells are read between two looks at the word. The fence here and the one in [`Record::install`] see to it that
    /// whoever reads one cell of a writer finds that writer's lock, or its TID, at the second look.
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing it, or if it is in no table any more: another may be in its place.
    pub(super) fn read<R: Row>(self) -> Result<(Word, Option<R>), Conflict> {
        let (word, row) = soon(|| {
            let word = self.word();
            if word.is_locked() {
                return None;
            }
            if word.is_absent() {
                return Some((word, None));
            }
            let row = R::decode(&mut self.0[1..].iter().map(|cell| cell.load(Ordering::Relaxed)));
            fence(Ordering::Acquire);
            (self.0[0].load(Ordering::Relaxed) == word.bits()).then_some((word, Some(row)))
        })?;
        if word.is_unlinked() { Err(Conflict) } else { Ok((word, row)) }
    }

    /// Locks it, and says what its word was.
    ///
    /// # Errors
    /// [`Conflict`] if somebody else keeps it locked, or if it is in no table any more.
    pub(super) fn lock(self) -> Result<Word, Conflict> {
        let word = soon(|| {
            let word = self.word().unlocked();
            let locked = word.locked().bits();
            self.0[0].compare_exchange(word.bits(), locked, Ordering::Acquire, Ordering::Relaxed).ok().map(|_| word)
        })?;
        if word.is_unlinked() {
            self.unlock(word);
            return Err(Conflict);
        }
        Ok(word)
    }

    /// Unlocks it, with a word that it had or a new one.
    pub(super) fn unlock(self, word: Word) {
        self.0[0].store(word.bits(), Ordering::Release);
    }

    /// Writes a row into a record that the caller has locked, and unlocks it.
    pub(super) fn install(self, row: &[u64], word: Word) {
        fence(Ordering::Release);
        for (cell, &value) in self.0[1..].iter().zip(row) {
            cell.store(value, Ordering::Relaxed);
        }
        self.unlock(word);
    }

    /// Marks an absent record as one that leaves its table. Says what it was, if the mark is new.
    ///
    /// # Errors
    /// [`Conflict`] if somebody has it locked, and may write it yet.
    pub(super) fn unlink(self) -> Result<Option<Word>, Conflict> {
        let word = self.word();
        if word.is_locked() {
            return Err(Conflict);
        }
        if !word.is_absent() || word.is_unlinked() {
            return Ok(None);
        }
        let unlinked = word.unlinked().bits();
        match self.0[0].compare_exchange(word.bits(), unlinked, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(Some(word)),
            Err(_) => Err(Conflict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tid::Tid;

    #[test]
    fn a_record_that_left_its_table_is_of_no_use() {
        let words: Arc<[AtomicU64]> = words(Word::absent(Tid::ZERO), [7].into_iter()).collect();
        let record = Record::of(&words);
        assert_eq!(record.read::<u64>(), Ok((Word::absent(Tid::ZERO), None)));
        assert_eq!(record.unlink(), Ok(Some(Word::absent(Tid::ZERO))));
        assert_eq!(record.unlink(), Ok(None), "it leaves once");
        assert_eq!(record.read::<u64>(), Err(Conflict));
        assert_eq!(record.lock(), Err(Conflict));
    }

    #[test]
    fn a_record_stays_in_its_table_while_it_is_locked_or_has_a_row() {
        let words: Arc<[AtomicU64]> = words(Word::absent(Tid::ZERO), [7].into_iter()).collect();
        let record = Record::of(&words);
        assert_eq!(record.lock(), Ok(Word::absent(Tid::ZERO)));
        assert_eq!(record.lock(), Err(Conflict));
        assert_eq!(record.read::<u64>(), Err(Conflict));
        assert_eq!(record.unlink(), Err(Conflict));
        record.install(&[8], Word::present(Tid::ZERO));
        assert_eq!(record.unlink(), Ok(None));
        assert_eq!(record.read(), Ok((Word::present(Tid::ZERO), Some(8_u64))));
    }
}
