//! Waking before the event: deep sleep until shortly before it is expected, and then a shallow wait. It pays when periods
//! are regular, and costs energy and nothing else when they are not: each guess is tried on paper while lengths deviate by
//! less than half their mean, and used while it is ahead.

use super::plans::Plan;
use crate::states::States;

/// Guesses at how soon the event can come: the mean less one and a half and less three mean deviations, and the least of
/// the last eight.
const GUESSES: usize = 3;
const REMEMBERED: usize = 8;
/// What a guess is behind at first, in us of a polling core, so that it has to prove itself; kept in 2^-10.
const HANDICAP: i32 = 5 << 10;

/// What was learned about one core's regularity, and the guesses for the period at hand.
#[derive(Clone, Debug)]
pub(super) struct Early {
    mean_us: u32,
    deviation_us: u32,
    recent_us: [u32; REMEMBERED],
    next: u8,
    plans: [Option<Plan>; GUESSES],
    /// Mean cost above that of the plan without a guess.
    behind: [i32; GUESSES],
}

impl Default for Early {
    fn default() -> Self {
        Self {
            mean_us: 100,
            deviation_us: 100,
            recent_us: [0; REMEMBERED],
            next: 0,
            plans: [None; GUESSES],
            behind: [HANDICAP; GUESSES],
        }
    }
}

impl Early {
    /// The plan of the best guess, if it is ahead.
    #[inline]
    pub(super) fn plan(&mut self, states: &States, timer_us: u32, max_latency_us: u32) -> Option<Plan> {
        self.plans = [None; GUESSES];
        if self.deviation_us > self.mean_us / 2 {
            return None;
        }
        let soonest_us = self.recent_us.iter().copied().min().unwrap_or(0);
        let less = |halves: u32| self.mean_us.saturating_sub(self.deviation_us.saturating_mul(halves) / 2);
        let deepest = states.deepest_within(max_latency_us);
        let mut best = None;
        let mut least = 0;
        for (i, guess_us) in [less(3), less(6), soonest_us].into_iter().enumerate() {
            self.plans[i] = before(states, deepest, guess_us.min(timer_us))
                .filter(|plan| plan.latency_us(states) <= max_latency_us);
            if self.behind[i] < least && self.plans[i].is_some() {
                least = self.behind[i];
                best = self.plans[i];
            }
        }
        best
    }

    /// Judges the guesses by what they and the plan without one would have cost.
    #[inline]
    pub(super) fn learn(&mut self, length_us: u32, cost: impl Fn(&Plan) -> i64, without: &Plan) {
        if self.plans.iter().any(Option::is_some) {
            let without = cost(without);
            for (plan, behind) in self.plans.iter().zip(&mut self.behind) {
                let more = plan.as_ref().map_or(0, |plan| cost(plan) - without);
                let more = more.clamp(i64::from(i32::MIN / 4), i64::from(i32::MAX / 4)) as i32;
                *behind += (more - *behind) >> 4;
            }
        }
        let deviation_us = length_us.abs_diff(self.mean_us);
        self.deviation_us = self.deviation_us - (self.deviation_us >> 3) + (deviation_us >> 3);
        self.mean_us = self.mean_us - (self.mean_us >> 3) + (length_us >> 3);
        self.recent_us[usize::from(self.next)] = length_us;
        self.next = (self.next + 1) % REMEMBERED as u8;
    }
}

/// The deepest state that pays off before `guess_us`, left in time for the shallowest halt; none if that is all there is.
#[inline]
fn before(states: &States, deepest: usize, guess_us: u32) -> Option<Plan> {
    (2..=deepest).rev().find_map(|state| {
        let after_us = guess_us.saturating_sub(states[state].exit_latency_us).saturating_sub(2);
        let pays = after_us >= states[state].target_residency_us.max(1);
        pays.then_some(Plan { first: state as u8, second: 1, after_us })
    })
}
