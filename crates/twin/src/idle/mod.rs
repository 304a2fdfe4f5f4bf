//! Idle governors: how deeply a core sleeps.

mod menu;
mod simple;

use crate::profile::IdleState;

pub use menu::Menu;
pub use simple::{Always, Oracle};

/// What is known about an idle period.
#[derive(Clone, Copy, Debug)]
pub struct IdlePeriod {
    /// When it begins.
    pub start_us: f64,
    /// How long until the core is wanted again. Only [`Oracle`] may look at it in
    /// [`IdleGovernor::select`].
    pub length_us: f64,
}

/// Chooses an idle state; one governor per core.
pub trait IdleGovernor {
    /// Index of the state to enter.
    fn select(&mut self, states: &[IdleState], period: IdlePeriod) -> usize;

    /// Tells how the period in state `chosen` went.
    fn reflect(&mut self, states: &[IdleState], period: IdlePeriod, chosen: usize);
}
