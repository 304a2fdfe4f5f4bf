//! No prediction at all.

use super::governor::{IdleGovernor, State};

/// Always the same state.
#[derive(Clone, Debug)]
pub struct Always(
    /// Index of the state.
    pub usize,
);

impl IdleGovernor for Always {
    #[inline(always)]
    fn select(&mut self, _: &[State], _: f64, _: f64) -> usize {
        self.0
    }

    #[inline(always)]
    fn reflect(&mut self, _: &[State], _: f64) {}
}
