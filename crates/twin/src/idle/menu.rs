//! Linux's menu governor (`drivers/cpuidle/governors/menu.c`, kernel 5.5).
//!
//! It predicts the length of the coming idle period in two ways and believes the shorter:
//! the last eight periods when they are regular enough, and the time to the next timer times a
//! learned factor (how much of that time the core usually sleeps). The deepest state whose
//! target residency fits the prediction wins.
//!
//! Simplified: no tasks waiting for I/O, no latency limits, whoever runs the core decides when the
//! scheduler's tick goes on, and the recent periods are tried even when all of them are longer than
//! the timer's prediction, which the minimum makes irrelevant.

use super::governor::{IdleGovernor, State};

/// Periods remembered.
const INTERVALS: usize = 8;
/// Weight of the past in the learned factors, and their unit: a factor of 1 is
/// `RESOLUTION * DECAY`. The integer arithmetic matters: a factor never decays below
/// `DECAY - 1`, so a core whose next timer is a second away predicts almost a millisecond
/// however short its sleeps are. That is why a busy server enters its deepest state at all.
const DECAY: u32 = 8;
const RESOLUTION: u32 = 1024;
/// Resolution of remembered periods: integers, so that running sums stay exact.
const PER_US: f32 = 16.0;
/// Longer periods count as this long.
const MAX_TICKS: f32 = 1e6 * PER_US;
/// Variance below which the recent periods count as regular (400 us squared), in ticks squared.
const REGULAR_VARIANCE: u64 = 400 * 256;
/// What a period counts as that a tick ended: the prediction was too short (`9 * MAX_INTERESTING / 10`).
const TICKED_US: f32 = 45_000.0;
/// One factor per decade of the distance to the next timer.
const BUCKETS: usize = 6;

/// State of one core's governor.
#[derive(Clone, Debug)]
pub struct Menu {
    recent: Recent,
    factors: [u32; BUCKETS],
    /// Distance to the next timer and its bucket, as of the last selection.
    timer_us: f32,
    bucket: usize,
    /// The state selected last.
    choice: usize,
}

impl Default for Menu {
    fn default() -> Self {
        Self {
            recent: Recent::new(20 * PER_US as u32),
            factors: [RESOLUTION; BUCKETS],
            timer_us: 0.0,
            bucket: 0,
            choice: 0,
        }
    }
}

/// The last periods, in ticks of 1 / [`PER_US`] us, with their sum and sum of squares.
#[derive(Clone, Debug)]
struct Recent {
    ticks: [u32; INTERVALS],
    next: usize,
    sum: u64,
    squares: u64,
}

impl Recent {
    fn new(ticks: u32) -> Self {
        let each = u64::from(ticks);
        let n = INTERVALS as u64;
        Self { ticks: [ticks; INTERVALS], next: 0, sum: n * each, squares: n * each * each }
    }

    #[inline(always)]
    fn push(&mut self, us: f32) {
        let new = (us * PER_US).min(MAX_TICKS) as u32;
        let old = core::mem::replace(&mut self.ticks[self.next % INTERVALS], new);
        self.next = self.next.wrapping_add(1);
        let (new, old) = (u64::from(new), u64::from(old));
        self.sum = self.sum + new - old;
        self.squares = self.squares + new * new - old * old;
    }

    /// Mean of the recent periods if they are regular, leaving out up to two of the longest.
    #[inline(always)]
    fn typical_us(&self) -> Option<f32> {
        regular_mean_us(self.sum, self.squares, 8).or_else(|| {
            let (mut longest, mut second) = (0, 0);
            for &ticks in &self.ticks {
                second = second.max(ticks.min(longest));
                longest = longest.max(ticks);
            }
            let (longest, second) = (u64::from(longest), u64::from(second));
            let (sum, squares) = (self.sum - longest, self.squares - longest * longest);
            regular_mean_us(sum, squares, 7).or_else(|| regular_mean_us(sum - second, squares - second * second, 6))
        })
    }
}

/// Mean of `n` periods when their variance is small, absolutely or relative to the mean.
#[inline(always)]
fn regular_mean_us(sum: u64, squares: u64, n: u64) -> Option<f32> {
    let variance = n * squares - sum * sum; // n squared times the variance
    let regular = variance <= REGULAR_VARIANCE * n * n || sum * sum > 36 * variance;
    regular.then(|| sum as f32 * (1.0 / PER_US) / n as f32)
}

impl Menu {
    /// Learns that the last period was so long.
    #[inline(always)]
    fn learn(&mut self, measured_us: f32) {
        let measured_us = measured_us.min(self.timer_us);
        self.recent.push(measured_us);
        let factor = &mut self.factors[self.bucket];
        let old = *factor;
        *factor += (RESOLUTION as f32 * measured_us / self.timer_us) as u32;
        *factor -= old / DECAY;
    }
}

impl IdleGovernor for Menu {
    #[inline]
    fn select(&mut self, states: &[State], now_us: f64, next_timer_us: f64) -> usize {
        self.timer_us = (next_timer_us - now_us) as f32;
        let least = [10.0, 100.0, 1_000.0, 10_000.0, 100_000.0];
        self.bucket = least.iter().map(|&us| usize::from(self.timer_us >= us)).sum();
        let by_timer_us = self.timer_us * self.factors[self.bucket] as f32 * (1.0 / (RESOLUTION * DECAY) as f32);
        let predicted_us = match self.recent.typical_us() {
            Some(typical) => typical.min(by_timer_us),
            None => by_timer_us,
        };
        let predicted_us = f64::from(predicted_us);
        let mut choice = 0;
        while choice + 1 < states.len() && states[choice + 1].target_residency_us <= predicted_us {
            choice += 1;
        }
        // A state that halts rather than polling, unless a timer is about to fire.
        if choice == 0 && states.len() > 1 && states[0].exit_latency_us == 0.0 && self.timer_us > 2.0 {
            choice = 1;
        }
        self.choice = choice;
        choice
    }

    #[inline]
    fn reflect(&mut self, states: &[State], length_us: f64) {
        let exit_us = states[self.choice].exit_latency_us as f32;
        let length_us = length_us as f32;
        self.learn(if length_us > 2.0 * exit_us { length_us - exit_us } else { 0.5 * length_us });
    }

    fn tick(&mut self) {
        self.learn(TICKED_US);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C1, C1E and C3 of a Xeon E5-2690 (Linux's `intel_idle.c`).
    const STATES: [State; 3] = [
        State { exit_latency_us: 2.0, target_residency_us: 2.0 },
        State { exit_latency_us: 10.0, target_residency_us: 20.0 },
        State { exit_latency_us: 80.0, target_residency_us: 211.0 },
    ];

    fn choice_after(length_us: f64) -> usize {
        let mut menu = Menu::default();
        let mut choice = 0;
        for i in 0..100 {
            choice = menu.select(&STATES, f64::from(i), 100_000.0);
            menu.reflect(&STATES, length_us);
        }
        choice
    }

    #[test]
    fn learns_regular_periods() {
        assert_eq!(choice_after(10.0), 0);
        assert_eq!(choice_after(60.0), 1);
        assert_eq!(choice_after(900.0), 2);
    }

    #[test]
    fn ticks_lead_to_the_deepest_state() {
        let mut menu = Menu::default();
        let mut choices = [0; 10];
        for (tick, choice) in choices.iter_mut().enumerate() {
            *choice = menu.select(&STATES, 4_000.0 * tick as f64, 700_000.0);
            menu.tick();
        }
        assert!(choices[0] < 2 && choices[9] == 2 && choices.is_sorted(), "{choices:?}");
    }

    #[test]
    fn two_outliers_do_not_hide_a_pattern() {
        let typical_us = |periods_us: [f32; 8]| {
            let mut recent = Recent::new(0);
            periods_us.iter().for_each(|&us| recent.push(us));
            recent.typical_us()
        };
        assert_eq!(typical_us([50.0, 50.0, 9000.0, 50.0, 50.0, 50.0, 8000.0, 50.0]), Some(50.0));
        assert_eq!(typical_us([5.0, 900.0, 9000.0, 50.0, 500.0, 5.0, 8000.0, 50.0]), None);
    }
}
