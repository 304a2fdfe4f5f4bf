//! Transaction identifiers, epochs, and the word in front of each record.

use core::sync::atomic::{AtomicU64, Ordering};

/// How long an epoch lasts (Silo, section 4.1).
pub const EPOCH_US: u64 = 40_000;

const STATUS_BITS: u32 = 3;
const WORKER_BITS: u32 = 8;
const NUMBER_BITS: u32 = 15;
const NUMBER_SHIFT: u32 = STATUS_BITS + WORKER_BITS;
const EPOCH_SHIFT: u32 = NUMBER_SHIFT + NUMBER_BITS;

/// The identifier of a transaction, and the version of the records that it wrote.
///
/// From high to low: epoch (38 bits), number (15), worker (8), and three bits that are zero here and a record's status in
/// its [`Word`]. No two transactions share one. A transaction's is above those of all whose rows it read or wrote over; not
/// always above those of transactions that had read what it wrote over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(u64);

impl Tid {
    /// Of what was there from the beginning.
    pub const ZERO: Self = Self(0);

    /// The least TID of a worker in an epoch or later that is above `floor`: the worker's last, and all that it saw
    /// (Silo, section 4.2). More than 2^15 in one epoch go on in the numbers of the next.
    pub(super) fn above(floor: Self, epoch: u64, worker: u8) -> Self {
        let number = (floor.0 >> NUMBER_SHIFT).max(epoch << NUMBER_BITS) + 1;
        Self(number << NUMBER_SHIFT | u64::from(worker) << STATUS_BITS)
    }

    /// The epoch in which it was committed.
    pub fn epoch(self) -> u64 {
        self.0 >> EPOCH_SHIFT
    }
}

/// A TID with the status of the record that it stands in front of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    const LOCKED: u64 = 1;
    const ABSENT: u64 = 2;
    const UNLINKED: u64 = 4;

    pub(super) fn present(tid: Tid) -> Self {
        Self(tid.0)
    }

    pub(super) fn absent(tid: Tid) -> Self {
        Self(tid.0 | Self::ABSENT)
    }

    pub(super) fn tid(self) -> Tid {
        Tid(self.0 >> STATUS_BITS << STATUS_BITS)
    }

    /// A transaction is writing it.
    pub(super) fn is_locked(self) -> bool {
        self.0 & Self::LOCKED != 0
    }

    /// It is as if there were no record.
    pub(super) fn is_absent(self) -> bool {
        self.0 & Self::ABSENT != 0
    }

    /// It is in no table any more, and never will be.
    pub(super) fn is_unlinked(self) -> bool {
        self.0 & Self::UNLINKED != 0
    }

    pub(super) fn locked(self) -> Self {
        Self(self.0 | Self::LOCKED)
    }

    pub(super) fn unlocked(self) -> Self {
        Self(self.0 & !Self::LOCKED)
    }

    pub(super) fn unlinked(self) -> Self {
        Self(self.0 | Self::UNLINKED)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

/// The epoch of a store, which all of its workers share.
#[derive(Debug, Default)]
pub struct Epoch(AtomicU64);

impl Epoch {
    /// Goes on to the epoch of a time since 1970 or any other beginning that stays the same. Never goes back.
    pub(super) fn advance(&self, now_us: u64) {
        let epoch = now_us / EPOCH_US;
        if epoch > self.0.load(Ordering::Relaxed) {
            self.0.fetch_max(epoch, Ordering::Relaxed);
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tid_is_above_all_that_was_seen_and_in_the_epoch() {
        let first = Tid::above(Tid::ZERO, 7, 3);
        assert_eq!(first.epoch(), 7);
        let second = Tid::above(first, 7, 2);
        assert!(second > first);
        assert!(Tid::above(second, 6, 0) > second, "an epoch that is behind does not lower it");
        assert_eq!(Tid::above(second, 9, 0).epoch(), 9);
        assert_ne!(Tid::above(first, 7, 4), second, "workers never share one");
    }

    #[test]
    fn numbers_go_on_when_an_epoch_is_full() {
        let mut tid = Tid::above(Tid::ZERO, 1, 255);
        for _ in 0..3 << NUMBER_BITS {
            let next = Tid::above(tid, 1, 255);
            assert!(next > tid);
            tid = next;
        }
    }

    #[test]
    fn an_epoch_never_goes_back() {
        let epoch = Epoch::default();
        epoch.advance(5 * EPOCH_US);
        epoch.advance(2 * EPOCH_US);
        assert_eq!(epoch.now(), 5);
    }
}
