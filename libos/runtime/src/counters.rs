//! What a core has done, for whoever looks while it runs.

use core::cell::Cell;

/// Counts since the core began; they only grow.
#[derive(Debug, Default)]
pub struct Counters {
    received_frames: Cell<u64>,
    received_bytes: Cell<u64>,
    sent_frames: Cell<u64>,
    sent_bytes: Cell<u64>,
    turns: Cell<u64>,
    sleeps: Cell<u64>,
    slept_us: Cell<u64>,
}

/// The counts of a moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Frames that have come.
    pub received_frames: u64,
    /// Their bytes, with the Ethernet header.
    pub received_bytes: u64,
    /// Frames that the NIC has taken.
    pub sent_frames: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// How often it has looked for frames.
    pub turns: u64,
    /// How often it has slept.
    pub sleeps: u64,
    /// For how long, in us.
    pub slept_us: u64,
}

impl Counters {
    /// How far they have counted.
    pub fn totals(&self) -> Totals {
        Totals {
            received_frames: self.received_frames.get(),
            received_bytes: self.received_bytes.get(),
            sent_frames: self.sent_frames.get(),
            sent_bytes: self.sent_bytes.get(),
            turns: self.turns.get(),
            sleeps: self.sleeps.get(),
            slept_us: self.slept_us.get(),
        }
    }

    #[inline]
    pub(crate) fn add_turn(&self, frames: usize, bytes: usize) {
        add(&self.turns, 1);
        add(&self.received_frames, frames as u64);
        add(&self.received_bytes, bytes as u64);
    }

    #[inline]
    pub(crate) fn add_sent(&self, bytes: usize) {
        add(&self.sent_frames, 1);
        add(&self.sent_bytes, bytes as u64);
    }

    #[inline]
    pub(crate) fn add_sleep(&self, duration_us: u64) {
        add(&self.sleeps, 1);
        add(&self.slept_us, duration_us);
    }
}

#[inline]
fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}
