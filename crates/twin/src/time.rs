//! Where the time of cores went: what power, residencies and a frequency governor go by.

use std::ops::{AddAssign, SubAssign};

use crate::profile::limits::MAX_IDLE_STATES;

/// Time of one core or of several. Busy and idle time are the whole of it: they sum to how long was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreTime {
    /// Not halted.
    pub busy_us: f64,
    /// In each idle state.
    pub idle: [IdleTime; MAX_IDLE_STATES],
    /// What the kernel's accounting counts as idle: idle time, and busy time around it.
    pub unloaded_us: f64,
}

/// Time in one idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleTime {
    /// How often it was entered.
    pub entries: u64,
    /// Until the state had settled, or as long as something kept it from settling.
    pub halted_us: f64,
    /// After that.
    pub settled_us: f64,
}

impl CoreTime {
    /// The same with other busy time, and each idle state's time by a factor.
    pub fn with_busy(mut self, busy_us: f64, idle_factor: f64) -> Self {
        self.busy_us = busy_us;
        for idle in &mut self.idle {
            idle.halted_us *= idle_factor;
            idle.settled_us *= idle_factor;
        }
        self
    }

    /// Time of a core whose threads spent `window_us` like this, independently of each other: it is idle while all of
    /// them are, and settled while all of them are settled. Entries and unloaded time are sums over the threads.
    pub fn of_core(threads: &[Self], window_us: f64) -> Self {
        if let [only] = threads {
            return *only;
        }
        let sum = |time: &Self, part: fn(&IdleTime) -> f64| time.idle.iter().map(part).sum::<f64>();
        let idle_us = window_us * threads.iter().map(|time| sum(time, IdleTime::total_us) / window_us).product::<f64>();
        let settled_us =
            window_us * threads.iter().map(|time| sum(time, |idle| idle.settled_us) / window_us).product::<f64>();
        let mut all = Self::default();
        threads.iter().for_each(|time| all += time);
        let [all_us, all_settled_us] = [sum(&all, IdleTime::total_us), sum(&all, |idle| idle.settled_us)];
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        for idle in &mut all.idle {
            let total_us = idle_us * share(idle.total_us(), all_us);
            idle.settled_us = settled_us * share(idle.settled_us, all_settled_us);
            idle.halted_us = total_us - idle.settled_us;
        }
        all.busy_us = window_us - idle_us;
        all
    }
}

impl IdleTime {
    /// All of it.
    pub fn total_us(&self) -> f64 {
        self.halted_us + self.settled_us
    }
}

impl AddAssign<&Self> for CoreTime {
    fn add_assign(&mut self, other: &Self) {
        self.busy_us += other.busy_us;
        self.unloaded_us += other.unloaded_us;
        for (state, other) in self.idle.iter_mut().zip(&other.idle) {
            state.entries += other.entries;
            state.halted_us += other.halted_us;
            state.settled_us += other.settled_us;
        }
    }
}

impl SubAssign<&Self> for CoreTime {
    fn sub_assign(&mut self, other: &Self) {
        self.busy_us -= other.busy_us;
        self.unloaded_us -= other.unloaded_us;
        for (state, other) in self.idle.iter_mut().zip(&other.idle) {
            state.entries -= other.entries;
            state.halted_us -= other.halted_us;
            state.settled_us -= other.settled_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(busy_us: f64, halted_us: f64, settled_us: f64) -> CoreTime {
        let mut time = CoreTime { busy_us, ..CoreTime::default() };
        time.idle[1] = IdleTime { entries: 1, halted_us, settled_us };
        time
    }

    #[test]
    fn a_core_is_busy_while_any_of_its_threads_is() {
        let core = CoreTime::of_core(&[thread(500.0, 100.0, 400.0), thread(200.0, 300.0, 500.0)], 1000.0);
        assert!((core.busy_us - 600.0).abs() < 1e-9, "0.5 x 0.8 of the time both are idle: {core:?}");
        assert!((core.idle[1].settled_us - 200.0).abs() < 1e-9, "{core:?}");
        assert!((core.busy_us + core.idle[1].total_us() - 1000.0).abs() < 1e-9, "{core:?}");
        let never_idle = CoreTime::of_core(&[thread(1000.0, 0.0, 0.0), thread(0.0, 0.0, 1000.0)], 1000.0);
        assert_eq!((never_idle.busy_us, never_idle.idle[1].total_us()), (1000.0, 0.0));
    }
}
