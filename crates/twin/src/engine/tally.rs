//! What a simulation counts.

use crate::histogram::Histogram;
use crate::power::CoreTime;
use crate::profile::limits::MAX_IDLE_STATES;

/// Counters of one window.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies as the clients see them.
    pub latency: Histogram,
    /// Requests answered.
    pub completed: u64,
    /// Requests that found the queue full.
    pub dropped: u64,
    /// Interrupts of all vectors.
    pub interrupts: u64,
    /// Sum of the intervals that moderation imposed after each interrupt.
    pub interval_us: f64,
    /// Packets received, acknowledgements included.
    pub packets: u64,
    /// Application-thread wake-ups.
    pub thread_wakes: u64,
    /// Entries of each idle state.
    pub idle_entries: [u64; MAX_IDLE_STATES],
    /// Time in each idle state.
    pub idle_us: [f64; MAX_IDLE_STATES],
    /// Part of it after the state had settled.
    pub settled_us: [f64; MAX_IDLE_STATES],
    /// Busy time of all cores.
    pub busy_us: f64,
}

/// Where the time of one core went.
#[derive(Clone, Debug, Default)]
pub struct CoreTally {
    /// Since the last [`CoreTally::take_time`].
    time: CoreTime,
    /// Time that the kernel's accounting counts as idle, since the last
    /// [`CoreTally::take_load`].
    unloaded_us: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latency: Histogram::default(),
            completed: 0,
            dropped: 0,
            interrupts: 0,
            interval_us: 0.0,
            packets: 0,
            thread_wakes: 0,
            idle_entries: [0; MAX_IDLE_STATES],
            idle_us: [0.0; MAX_IDLE_STATES],
            settled_us: [0.0; MAX_IDLE_STATES],
            busy_us: 0.0,
        }
    }
}

impl Tally {
    /// Counts an idle period in `state`: `asleep_us`, of which `settled_us` after it settled.
    #[inline(always)]
    pub fn idle(&mut self, state: usize, asleep_us: f64, settled_us: f64) {
        let state = state % MAX_IDLE_STATES;
        self.idle_entries[state] += 1;
        self.idle_us[state] += asleep_us;
        self.settled_us[state] += settled_us;
    }
}

impl CoreTally {
    /// Counts busy time.
    #[inline(always)]
    pub fn busy(&mut self, us: f64) {
        self.time.busy_us += us;
    }

    /// Counts an idle period: `halted_us` until the state settled, `settled_us` after,
    /// `entry_us` busy entering idle and `exit_us` leaving it. The kernel counts both as idle;
    /// the latter is part of what [`CoreTally::busy`] is told.
    #[inline(always)]
    pub fn idle(&mut self, halted_us: f64, settled_us: f64, entry_us: f64, exit_us: f64) {
        self.time.halted_us += halted_us;
        self.time.busy_us += entry_us;
        self.unloaded_us += halted_us + settled_us + entry_us + exit_us;
    }

    /// Takes the times since they were last taken.
    pub fn take_time(&mut self) -> CoreTime {
        std::mem::take(&mut self.time)
    }

    /// Load (0 to 1) over a period, as the kernel's idle accounting has it.
    pub fn take_load(&mut self, period_us: f64) -> f64 {
        (1.0 - std::mem::take(&mut self.unloaded_us) / period_us).clamp(0.0, 1.0)
    }
}
