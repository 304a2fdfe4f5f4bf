//! Who runs transactions, one after another, and what one of them has seen and wants.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::AtomicU64;

use super::record::Held;
use super::tid::{Epoch, Tid, Word};
use super::tree::Partition;

/// Runs transactions on a store that lives for `'db`. Each thread has one of its own.
pub struct Worker<'db> {
    pub(super) epoch: &'db Epoch,
    pub(super) number: u8,
    /// Its last TID.
    pub(super) last: Tid,
    pub(super) log: Log<'db>,
    garbage: Vec<Garbage<'db>>,
}

/// What the transaction at hand has seen, and what it wants to write.
#[derive(Default)]
pub(super) struct Log<'db> {
    pub(super) reads: Vec<(Held<'db>, Word)>,
    /// Partitions in which a key was missing or a range was read, and their versions.
    pub(super) scans: Vec<(&'db Partition, u64)>,
    /// One for each place.
    pub(super) writes: Vec<Write<'db>>,
    /// Words of the rows to be written.
    pub(super) words: Vec<u64>,
    /// The greatest TID of what is gone, and was not found.
    pub(super) removed: Tid,
}

/// A row that is to be written.
pub(super) struct Write<'db> {
    pub(super) place: Place,
    pub(super) target: Target<'db>,
    /// Where its words are in the log; none if it is to be removed.
    pub(super) words: Option<Range<usize>>,
    /// Its record, once it is locked, and what its word was.
    pub(super) locked: Option<(Held<'db>, Word)>,
}

/// Where a row is. All transactions lock in this order, so that none waits for one that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The address of the table.
    pub(super) table: usize,
    pub(super) partition: usize,
    pub(super) key: u64,
}

/// What to lock to write a row.
#[derive(Clone, Copy)]
pub(super) enum Target<'db> {
    Fixed(&'db [AtomicU64]),
    Keyed(&'db Partition),
}

/// An absent record that is to leave its table.
struct Garbage<'db> {
    partition: &'db Partition,
    key: u64,
    record: Arc<[AtomicU64]>,
}

impl<'db> Worker<'db> {
    /// One of up to 256 workers of a store, each with a number of its own.
    pub fn new(epoch: &'db Epoch, number: u8) -> Self {
        Self { epoch, number, last: Tid::ZERO, log: Log::default(), garbage: Vec::new() }
    }

    /// Remembers that a record, absent from now on, is to leave its table.
    pub(super) fn discard(&mut self, place: Place, target: Target<'db>, held: Held<'db>) {
        if let (Target::Keyed(partition), Held::Counted(record)) = (target, held) {
            self.garbage.push(Garbage { partition, key: place.key, record });
        }
    }

    /// Takes absent records out of their tables, but for those that another thread is at.
    ///
    /// Their memory is freed when the last transaction that has seen them is over.
    pub(super) fn collect(&mut self) {
        self.garbage.retain(|each| each.partition.unlink(each.key, &each.record).is_err());
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.collect();
    }
}
