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
    slept: AtomicU64,
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
    /// How far they have counted at a moment, the sleep that a core is in among it.
    pub fn totals(&self, now_us: u64) -> Totals {
        Totals {
            received_frames: load(&self.received_frames),
            received_bytes: load(&self.received_bytes),
            sent_frames: load(&self.sent_frames),
            sent_bytes: load(&self.sent_bytes),
            turns: load(&self.turns),
            sleeps: load(&self.sleeps),
            slept_us: slept_us(load(&self.slept), now_us),
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
    pub(crate) fn begin_sleep(&self, now_us: u64) {
        add(&self.sleeps, 1);
        let slept_us = slept_us(load(&self.slept), now_us);
        self.slept.store(slept_us.wrapping_sub(now_us) << 1 | ASLEEP, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn end_sleep(&self, now_us: u64) {
        self.slept.store(slept_us(load(&self.slept), now_us) << 1, Ordering::Relaxed);
    }
}

/// The lowest bit of `slept`. Above it is the time slept, less the moment when this sleep began if there is one: a
/// single word, so that no other core ever sees a sleep that is over and not yet counted.
const ASLEEP: u64 = 1;

fn slept_us(slept: u64, now_us: u64) -> u64 {
    if slept & ASLEEP == 0 {
        slept >> 1
    } else {
        // The other core's clock may be a little ahead.
        ((slept as i64 >> 1) + now_us as i64).max(0) as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_counts_while_it_lasts() {
        let counters = Counters::default();
        let slept_us = |now_us| counters.totals(now_us).slept_us;
        for (began_us, ended_us, before_us) in [(100, 130, 0), (150, 1_000_000, 30)] {
            assert_eq!(slept_us(began_us), before_us);
            counters.begin_sleep(began_us);
            assert_eq!([0, 20].map(|more_us| slept_us(began_us + more_us)), [before_us, before_us + 20]);
            counters.end_sleep(ended_us);
            assert_eq!(slept_us(ended_us + 5), before_us + ended_us - began_us);
        }
        assert_eq!(counters.totals(2_000_000).sleeps, 2);
    }

    #[test]
    fn a_clock_that_is_behind_has_slept_for_nothing() {
        let counters = Counters::default();
        counters.begin_sleep(100);
        assert_eq!(counters.totals(99).slept_us, 0);
    }
}
