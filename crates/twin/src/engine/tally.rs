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
    /// Time of each core since the last [`Tally::take_time`].
    times: Vec<CoreTime>,
    /// Time that the kernel's accounting counts as idle, since the last [`Tally::take_loads`].
    unloaded_us: Vec<f64>,
}

impl Tally {
    /// Counters for so many cores.
    pub fn new(cores: usize) -> Self {
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
            times: vec![CoreTime::default(); cores],
            unloaded_us: vec![0.0; cores],
        }
    }

    /// Starts over.
    pub fn clear(&mut self) {
        *self = Self::new(self.times.len());
    }

    /// Counts busy time.
    #[inline(always)]
    pub fn busy(&mut self, core: usize, us: f64) {
        self.times[core].busy_us += us;
    }

    /// Counts an idle period in `state`: `halted_us` until it settled, `settled_us` after,
    /// `entry_us` busy entering idle and `exit_us` leaving it. The kernel counts both as idle;
    /// the latter is part of what [`Tally::busy`] is told.
    #[inline(always)]
    pub fn idle(&mut self, core: usize, state: usize, halted_us: f64, settled_us: f64, entry_us: f64, exit_us: f64) {
        let state = state % MAX_IDLE_STATES;
        self.idle_entries[state] += 1;
        self.idle_us[state] += halted_us + settled_us;
        self.settled_us[state] += settled_us;
        let time = &mut self.times[core];
        time.halted_us += halted_us;
        time.busy_us += entry_us;
        self.unloaded_us[core] += halted_us + settled_us + entry_us + exit_us;
    }

    /// Takes the times of `core` since they were last taken.
    pub fn take_time(&mut self, core: usize) -> CoreTime {
        let time = std::mem::take(&mut self.times[core]);
        self.busy_us += time.busy_us;
        time
    }

    /// Load of every core (0 to 1) over a period, as the kernel's idle accounting has it.
    pub fn take_loads(&mut self, period_us: f64) -> Vec<f64> {
        let load = |idle_us: &mut f64| (1.0 - std::mem::take(idle_us) / period_us).clamp(0.0, 1.0);
        self.unloaded_us.iter_mut().map(load).collect()
    }
}
