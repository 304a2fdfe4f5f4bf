//! What a core has done, for whoever looks while it runs.

use core::cell::Cell;

/// Counts since the core began; they only grow.
#[derive(Debug, Default)]
pub struct Counters {
    frames: Cell<u64>,
    sleeps: Cell<u64>,
    slept_us: Cell<u64>,
}

impl Counters {
    /// Frames that have come.
    pub fn frames(&self) -> u64 {
        self.frames.get()
    }

    /// How often it has slept.
    pub fn sleeps(&self) -> u64 {
        self.sleeps.get()
    }

    /// For how long, in us.
    pub fn slept_us(&self) -> u64 {
        self.slept_us.get()
    }

    #[inline]
    pub(crate) fn add_frames(&self, frames: usize) {
        self.frames.set(self.frames.get() + frames as u64);
    }

    #[inline]
    pub(crate) fn add_sleep(&self, slept_us: u64) {
        self.sleeps.set(self.sleeps.get() + 1);
        self.slept_us.set(self.slept_us.get() + slept_us);
    }
}
