//! No prediction at all.

use crate::governor::{Choice, Governor, Slept, View};
use crate::states::States;

/// Always the same state, or the deepest that is allowed.
#[derive(Clone, Debug)]
pub struct Fixed(
    /// Index of the state.
    pub usize,
);

impl Governor for Fixed {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        Choice::stay(self.0.min(states.deepest_within(view.max_latency_us)))
    }

    fn reflect(&mut self, _: &States, _: &Slept) {}
}
