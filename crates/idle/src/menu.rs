//! Linux's menu governor, as documented (Documentation/admin-guide/pm/cpuidle.rst, "The menu Governor").
//!
//! It predicts the length of the coming idle period in two ways and believes the shorter: the last eight periods when
//! they are regular enough, and the time to the next timer times a learned factor (how much of that time the core usually
//! sleeps). The deepest state whose target residency fits the prediction wins.
//!
//! Left out: tasks that wait for I/O (they limit the exit latency to a share of the prediction, which is its limit here), the
//! load average, states that users have switched off, and rules for a tick that has stopped.

use crate::TICK_US;
use crate::governor::{Choice, Governor, Slept, View, Waker};
use crate::states::States;

/// Periods remembered.
const INTERVALS: usize = 8;
/// Weight of the past in the learned factors, and their unit: a factor of 1 is `RESOLUTION * DECAY`.
const DECAY: u64 = 8;
const RESOLUTION: u64 = 1024;
/// One factor per decade of the distance to the next timer.
const BUCKETS: usize = 6;
/// Periods from here on count as long as their timer promised.
const MAX_INTERESTING_US: u32 = 50_000;
/// Longer periods count as this one, so that what is worked out of the squares of eight fits 64 bits.
const LONGEST_US: u32 = 1 << 28;
/// Variance below which recent periods count as regular, in us squared.
const REGULAR_VARIANCE: u64 = 400;

/// Whose menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuOf {
    /// Linux 4.4: the tick always stops when a core goes idle.
    Linux4,
    /// Linux 6.1: the tick goes on when the prediction is shorter than it.
    Linux6,
}

/// State of one core's governor.
#[derive(Clone, Debug)]
pub struct Menu {
    of: MenuOf,
    recent_us: [u32; INTERVALS],
    next: usize,
    factors: [u32; BUCKETS],
    timer_us: u32,
    bucket: usize,
    state: usize,
}

impl Menu {
    /// The governor of a kernel.
    pub fn new(of: MenuOf) -> Self {
        let factors = [(RESOLUTION * DECAY) as u32; BUCKETS];
        Self { of, recent_us: [0; INTERVALS], next: 0, factors, timer_us: 0, bucket: 0, state: 0 }
    }

    /// How long the core will probably be idle.
    #[inline]
    fn predict_us(&self) -> u32 {
        let unit = RESOLUTION * DECAY;
        let by_timer = (u64::from(self.timer_us) * u64::from(self.factors[self.bucket]) + unit / 2) / unit;
        let by_timer_us = by_timer.min(u64::from(u32::MAX)) as u32;
        typical_us(&self.recent_us).map_or(by_timer_us, |typical_us| typical_us.min(by_timer_us))
    }

    /// As 6.1 chooses: a prediction shorter than a tick keeps the tick, so that a wrong one has an end.
    #[inline]
    fn select_with_tick(&self, states: &States, view: &View, mut predicted_us: u32) -> Choice {
        let limit_us = view.max_latency_us.min(predicted_us);
        let mut state = states.deepest_for(predicted_us, limit_us);
        let halt = states.shallowest_halt(limit_us);
        // Halts rather than polling, unless a timer is about to fire.
        if state < halt && states[halt].target_residency_us <= self.timer_us {
            state = halt;
            predicted_us = states[halt].target_residency_us;
        }
        let deeper = states.get(state + 1).is_some_and(|next| next.exit_latency_us <= limit_us);
        if predicted_us >= TICK_US && deeper {
            // The next state would need longer still: its tick may wake the core and let it choose again.
            predicted_us = states[state].target_residency_us;
        }
        if predicted_us >= TICK_US && states[state].exit_latency_us > 0 {
            return Choice::stay(state);
        }
        if states[state].target_residency_us > view.tick_us {
            state = states.deepest_for(view.tick_us, limit_us);
        }
        Choice { state, wake_after_us: None, keeps_tick: true }
    }
}

impl Governor for Menu {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        self.timer_us = view.timer_us;
        self.bucket = [10, 100, 1_000, 10_000, 100_000].iter().map(|&us| usize::from(self.timer_us >= us)).sum();
        let predicted_us = self.predict_us();
        let choice = match self.of {
            MenuOf::Linux6 => self.select_with_tick(states, view, predicted_us),
            MenuOf::Linux4 => {
                let halt = if self.timer_us > 5 { states.shallowest_halt(view.max_latency_us) } else { 0 };
                Choice::stay(states.deepest_for(predicted_us, view.max_latency_us).max(halt))
            }
        };
        self.state = choice.state;
        choice
    }

    #[inline]
    fn reflect(&mut self, states: &States, slept: &Slept) {
        let exit_us = states[self.state].exit_latency_us;
        let measured_us = match self.of {
            // The tick cut the period short: what it would have been is not known, only that it was long.
            MenuOf::Linux6 if slept.waker == Waker::Tick && self.timer_us > TICK_US => MAX_INTERESTING_US / 10 * 9,
            MenuOf::Linux6 if slept.length_us <= exit_us.saturating_mul(2) => slept.length_us / 2,
            _ => slept.until_woken_us(exit_us),
        };
        let measured_us = measured_us.min(self.timer_us);
        let factor = &mut self.factors[self.bucket];
        let share = if self.timer_us > 0 && measured_us < MAX_INTERESTING_US {
            RESOLUTION * u64::from(measured_us) / u64::from(self.timer_us)
        } else {
            RESOLUTION
        };
        *factor = (*factor - *factor / DECAY as u32 + share as u32).max(1);
        self.recent_us[self.next] = measured_us.min(LONGEST_US);
        self.next = (self.next + 1) % INTERVALS;
    }
}

/// Mean of the recent periods if they are regular, leaving out up to two of the longest.
#[inline]
fn typical_us(recent_us: &[u32; INTERVALS]) -> Option<u32> {
    let mut longest_us = u32::MAX;
    loop {
        let (mut n, mut sum, mut greatest_us) = (0_u64, 0_u64, 0_u32);
        for &us in recent_us.iter().filter(|&&us| us <= longest_us) {
            n += 1;
            sum += u64::from(us);
            greatest_us = greatest_us.max(us);
        }
        let mean = sum / n.max(1);
        let square = |&us: &u32| u64::from(us).abs_diff(mean).pow(2);
        let squares: u64 = recent_us.iter().filter(|&&us| us <= longest_us).map(square).sum();
        let variance = squares / n.max(1);
        if variance <= REGULAR_VARIANCE || (4 * n >= 3 * INTERVALS as u64 && mean * mean > 36 * variance) {
            return Some(mean as u32);
        }
        if 4 * n <= 3 * INTERVALS as u64 || greatest_us == 0 {
            return None;
        }
        longest_us = greatest_us - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_outliers_do_not_hide_a_pattern() {
        assert_eq!(typical_us(&[50, 50, 9000, 50, 50, 50, 8000, 50]), Some(50));
        assert_eq!(typical_us(&[5, 900, 9000, 50, 500, 5, 8000, 50]), None);
    }
}
