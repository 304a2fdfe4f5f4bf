//! Linux's menu governor (`drivers/cpuidle/governors/menu.c`, kernel 5.5).
//!
//! It predicts the length of the coming idle period in two ways and believes the shorter:
//! the last eight periods when they are regular enough, and the time to the next timer times a
//! learned factor (how much of that time the core usually sleeps). The deepest state whose
//! target residency fits the prediction wins.

use super::{IdleGovernor, IdlePeriod};
use crate::profile::IdleState;

/// Periods remembered.
const INTERVALS: usize = 8;
/// Weight of the past in the learned factors.
const DECAY: f32 = 8.0;
/// Variance (us squared) below which the recent periods count as regular.
const REGULAR_VARIANCE: f32 = 400.0;
/// One factor per decade of the distance to the next timer.
const BUCKETS: usize = 6;

/// State of one core's governor.
#[derive(Clone, Debug)]
pub struct Menu {
    recent_us: [f32; INTERVALS],
    next: usize,
    factors: [f32; BUCKETS],
    timer_period_us: f64,
    timer_phase_us: f64,
    /// Distance to the next timer and its bucket, as of the last selection.
    timer_us: f32,
    bucket: usize,
}

impl Menu {
    /// A governor whose core has a timer every `timer_period_us`, the first at `phase_us`.
    pub fn new(timer_period_us: f64, phase_us: f64) -> Self {
        Self {
            recent_us: [20.0; INTERVALS],
            next: 0,
            factors: [0.1; BUCKETS],
            timer_period_us,
            timer_phase_us: phase_us,
            timer_us: 0.0,
            bucket: 0,
        }
    }

    fn look_at_timer(&mut self, now_us: f64) {
        let periods = (now_us + self.timer_phase_us) / self.timer_period_us;
        self.timer_us = ((1.0 - periods.fract()) * self.timer_period_us) as f32;
        self.bucket = match self.timer_us as u32 {
            0..10 => 0,
            10..100 => 1,
            100..1_000 => 2,
            1_000..10_000 => 3,
            10_000..100_000 => 4,
            _ => 5,
        };
    }
}

/// Mean of the recent periods if they are regular, leaving out up to two of the longest.
fn typical_us(recent: &[f32; INTERVALS]) -> Option<f32> {
    let (mut sum, mut squares) = (0.0, 0.0);
    for &x in recent {
        sum += x;
        squares += x * x;
    }
    if let Some(mean) = regular_mean(sum, squares, 8.0) {
        return Some(mean);
    }
    let (mut longest, mut second) = (0.0f32, 0.0f32);
    for &x in recent {
        second = second.max(x.min(longest));
        longest = longest.max(x);
    }
    regular_mean(sum - longest, squares - longest * longest, 7.0).or_else(|| {
        let (sum, squares) = (sum - longest - second, squares - longest * longest - second * second);
        regular_mean(sum, squares, 6.0)
    })
}

#[inline(always)]
fn regular_mean(sum: f32, squares: f32, n: f32) -> Option<f32> {
    let mean = sum / n;
    let variance = squares / n - mean * mean;
    (variance <= REGULAR_VARIANCE || mean * mean > 36.0 * variance).then_some(mean)
}

impl IdleGovernor for Menu {
    #[inline]
    fn select(&mut self, states: &[IdleState], period: IdlePeriod) -> usize {
        self.look_at_timer(period.start_us);
        let by_timer_us = self.timer_us * self.factors[self.bucket];
        let predicted_us = match typical_us(&self.recent_us) {
            Some(typical) => typical.min(by_timer_us),
            None => by_timer_us,
        };
        let predicted_us = f64::from(predicted_us);
        let mut chosen = 0;
        while chosen + 1 < states.len() && states[chosen + 1].target_residency_us <= predicted_us {
            chosen += 1;
        }
        // A state that halts rather than polling, unless a timer is about to fire.
        if chosen == 0 && states.len() > 1 && states[0].exit_latency_us == 0.0 && self.timer_us > 2.0 {
            1
        } else {
            chosen
        }
    }

    #[inline]
    fn reflect(&mut self, states: &[IdleState], period: IdlePeriod, chosen: usize) {
        let exit_us = states[chosen].exit_latency_us as f32;
        let length_us = period.length_us as f32;
        let measured_us = if length_us > 2.0 * exit_us { length_us - exit_us } else { 0.5 * length_us };
        let measured_us = measured_us.min(self.timer_us);
        self.recent_us[self.next % INTERVALS] = measured_us;
        self.next = self.next.wrapping_add(1);
        let factor = &mut self.factors[self.bucket];
        *factor += (measured_us / self.timer_us - *factor) * (1.0 / DECAY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> Vec<IdleState> {
        [("C1", 2.0, 2.0), ("C1E", 10.0, 20.0), ("C3", 80.0, 211.0)]
            .map(|(name, exit_latency_us, target_residency_us)| IdleState {
                name: name.into(),
                exit_latency_us,
                target_residency_us,
                wake_us: 1.0,
                settle_us: 1.0,
                settled_w: 0.0,
            })
            .to_vec()
    }

    fn choice_after(length_us: f64) -> usize {
        let mut menu = Menu::new(100_000.0, 0.0);
        let mut chosen = 0;
        for i in 0..100 {
            let period = IdlePeriod { start_us: f64::from(i) * 1.0, length_us };
            chosen = menu.select(&states(), period);
            menu.reflect(&states(), period, chosen);
        }
        chosen
    }

    #[test]
    fn learns_regular_periods() {
        assert_eq!(choice_after(10.0), 0);
        assert_eq!(choice_after(60.0), 1);
        assert_eq!(choice_after(900.0), 2);
    }

    #[test]
    fn two_outliers_do_not_hide_a_pattern() {
        assert_eq!(typical_us(&[50.0, 50.0, 9000.0, 50.0, 50.0, 50.0, 8000.0, 50.0]), Some(50.0));
        assert_eq!(typical_us(&[5.0, 900.0, 9000.0, 50.0, 500.0, 5.0, 8000.0, 50.0]), None);
    }
}
