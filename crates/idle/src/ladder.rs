//! Linux's ladder governor, as documented: one state deeper after four stays in a row that were long enough, one state
//! shallower after one that was not (Documentation/admin-guide/pm/cpuidle.rst, "ladder").

use crate::governor::{Choice, Governor, Slept, View};
use crate::states::States;

/// Long stays in a row before a deeper state is tried.
const PROMOTE_AFTER: u32 = 4;

/// State of one core's governor.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    state: usize,
    long_stays: u32,
    short: bool,
}

impl Governor for Ladder {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        let (shallowest, deepest) =
            (states.shallowest_halt(view.max_latency_us), states.deepest_within(view.max_latency_us));
        let before = self.state;
        if self.long_stays >= PROMOTE_AFTER {
            self.state += 1;
        } else if self.short {
            self.state = self.state.saturating_sub(1);
        }
        self.state = self.state.clamp(shallowest, deepest.max(shallowest));
        if self.state != before {
            self.long_stays = 0;
        }
        self.short = false;
        Choice::stay(self.state)
    }

    #[inline]
    fn reflect(&mut self, states: &States, slept: &Slept) {
        let exit_latency_us = states[self.state].exit_latency_us;
        let length_us = slept.until_woken_us(exit_latency_us);
        // What is long enough to climb and what is too short to stay is the same: the state's exit latency.
        self.short = length_us < exit_latency_us;
        self.long_stays = if length_us > exit_latency_us { (self.long_stays + 1).min(PROMOTE_AFTER) } else { 0 };
    }
}
