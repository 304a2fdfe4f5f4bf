//! Governors that need no prediction.

use super::{IdleGovernor, IdlePeriod};
use crate::profile::IdleState;

/// Always the same state.
#[derive(Clone, Debug)]
pub struct Always(
    /// Index of the state.
    pub usize,
);

impl IdleGovernor for Always {
    #[inline(always)]
    fn select(&mut self, _: &[IdleState], _: IdlePeriod) -> usize {
        self.0
    }

    #[inline(always)]
    fn reflect(&mut self, _: &[IdleState], _: IdlePeriod, _: usize) {}
}

/// The deepest state whose target residency fits the period, known in advance.
#[derive(Clone, Debug)]
pub struct Oracle;

impl IdleGovernor for Oracle {
    fn select(&mut self, states: &[IdleState], period: IdlePeriod) -> usize {
        states.iter().rposition(|s| s.target_residency_us <= period.length_us).unwrap_or(0)
    }

    fn reflect(&mut self, _: &[IdleState], _: IdlePeriod, _: usize) {}
}
