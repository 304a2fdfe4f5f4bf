//! Tables whose rows have a key, come and go, and are read in the order of their keys.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

use lock_api::MutexGuard;

use super::conflict::Conflict;
use super::lock::{self, Flag, Locked};
use super::record::{self, Record};
use super::row::Row;
use super::tid::{Tid, Word};

/// A table in partitions, each of which is ordered by key.
///
/// A partition is what a leaf of Masstree is to Silo (section 4.6): its version counts the keys that came, and a
/// transaction that found a key missing, or read a range, can commit only if the version is still the same. So ranges lie
/// within one partition, and keys that come elsewhere don't matter to them.
pub struct Tree<R> {
    partitions: Box<[Partition]>,
    row: PhantomData<fn() -> R>,
}

/// A part of a table, on cache lines of its own.
#[repr(align(64))]
pub(super) struct Partition {
    version: AtomicU64,
    entries: Locked<Entries>,
}

/// Its records by key. Absent ones are being made, or about to go.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) records: BTreeMap<u64, Arc<[AtomicU64]>>,
    /// The greatest TID of a record that is gone: what comes in its place must be above it.
    pub(super) removed: Tid,
}

impl<R: Row> Tree<R> {
    /// A table without rows.
    pub fn new(partitions: usize) -> Self {
        let partition = || Partition { version: AtomicU64::new(0), entries: Locked::new(Entries::default()) };
        Self { partitions: (0..partitions).map(|_| partition()).collect(), row: PhantomData }
    }

    /// Adds a row before the first transaction.
    pub fn load(&mut self, partition: usize, key: u64, row: &R) {
        let mut words = Vec::with_capacity(R::WORDS);
        row.encode(&mut words);
        let record = record::words(Word::present(Tid::ZERO), words.into_iter()).collect();
        self.partitions[partition].entries.get_mut().records.insert(key, record);
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// How many records its memory holds: rows, and for a moment what is about to go.
    ///
    /// # Errors
    /// [`Conflict`] if another thread is at it.
    pub fn records(&self) -> Result<usize, Conflict> {
        self.partitions.iter().map(|partition| Ok(partition.lock()?.records.len())).sum()
    }

    /// A part of the table.
    ///
    /// # Panics
    /// If there is no such partition.
    pub(super) fn partition(&self, partition: usize) -> &Partition {
        &self.partitions[partition]
    }
}

impl Partition {
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(super) fn lock(&self) -> Result<MutexGuard<'_, Flag, Entries>, Conflict> {
        lock::lock(&self.entries)
    }

    /// Makes a record for a key that has none, absent and locked, which makes a new version of the partition. Says what the
    /// record's word is without the lock.
    ///
    /// Its TID is the greatest that has gone: if its transaction fails, whoever writes it next must be above that too.
    pub(super) fn link(&self, entries: &mut Entries, key: u64, words: usize) -> (Arc<[AtomicU64]>, Word) {
        let word = Word::absent(entries.removed);
        let record: Arc<_> = record::words(word.locked(), core::iter::repeat_n(0, words)).collect();
        entries.records.insert(key, Arc::clone(&record));
        self.version.fetch_add(1, Ordering::AcqRel);
        (record, word)
    }

    /// Takes an absent record out. Whoever saw that it is absent is told by its word; the version stays.
    ///
    /// # Errors
    /// [`Conflict`] if another thread is at it; it must be tried again then.
    pub(super) fn unlink(&self, key: u64, record: &[AtomicU64]) -> Result<(), Conflict> {
        let mut entries = self.lock()?;
        if let Some(word) = Record::of(record).unlink()? {
            entries.records.remove(&key);
            entries.removed = entries.removed.max(word.tid());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_again_is_above_the_one_that_went_though_a_transaction_failed_meanwhile() {
        let mut tree = Tree::<u64>::new(1);
        let gone = Tid::above(Tid::ZERO, 7, 1);
        tree.partitions[0].entries.get_mut().removed = gone;
        let partition = tree.partition(0);
        let (record, word) = partition.link(&mut partition.lock().expect("nobody else is at it"), 5, 1);
        assert_eq!(
            Record::of(&record).read::<u64>(),
            Err(Conflict),
            "nobody sees it before its transaction is committed"
        );
        Record::of(&record).unlock(word);
        assert_eq!(Record::of(&record).lock().map(Word::tid), Ok(gone));
    }
}
