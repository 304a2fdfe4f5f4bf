//! What a core has done, for whoever looks while it runs, on this core or another.

use core::sync::atomic::{AtomicU64, Ordering};

/// Counts since the core began; they only grow.
#[derive(Debug, Default)]
pub struct Counters {
    received_frames: AtomicU64,
    received_bytes: AtomicU64,
    sent_frames: AtomicU64,
    sent_bytes: AtomicU64,
    turns: AtomicU64,
    sleeps: AtomicU64,
    slept_us: AtomicU64,
    interrupts: AtomicU64,
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
    /// How often a device has interrupted it.
    pub interrupts: u64,
}

impl Counters {
    /// How far they have counted.
    pub fn totals(&self) -> Totals {
        Totals {
            received_frames: load(&self.received_frames),
            received_bytes: load(&self.received_bytes),
            sent_frames: load(&self.sent_frames),
            sent_bytes: load(&self.sent_bytes),
            turns: load(&self.turns),
            sleeps: load(&self.sleeps),
            slept_us: load(&self.slept_us),
            interrupts: load(&self.interrupts),
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
    pub(crate) fn set_interrupts(&self, interrupts: u64) {
        self.interrupts.store(interrupts, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn add_sleep(&self, duration_us: u64) {
        add(&self.sleeps, 1);
        add(&self.slept_us, duration_us);
    }
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// Only the core itself counts, so that nothing comes between.
#[inline]
fn add(count: &AtomicU64, more: u64) {
    count.store(load(count) + more, Ordering::Relaxed);
}
