//! What the twin's governors see: what a kernel knows when a core goes idle, never the length of the period to come.
//!
//! In floating point and for one kernel's menu, with which profiles were fitted. The governors of `crates/idle` are
//! integers and have timers of their own ([`Asked`](super::Asked)).

/// What a kernel's table says about an idle state (C-state) of a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Worst case of the time from the wake-up to the first instruction. Zero: a loop that polls.
    pub exit_latency_us: f64,
    /// Shortest stay that saves energy against the next shallower state.
    pub target_residency_us: f64,
}

/// Chooses the idle states of one core. For each idle period, in this order:
/// [`select`](Self::select), then [`reflect`](Self::reflect).
///
/// Every call gets the same states, from the shallowest to the deepest and at least one. Points in
/// time are microseconds since any moment that stays the same.
pub trait IdleGovernor {
    /// The index of the state to enter, for a core that goes idle now and whose next timer fires at
    /// `next_timer_us`, which is later.
    fn select(&mut self, states: &[State], now_us: f64, next_timer_us: f64) -> usize;

    /// The period lasted `length_us`: a device or another core ended it, no timer.
    fn reflect(&mut self, states: &[State], length_us: f64);

    /// Instead of [`reflect`](Self::reflect): the kernel's tick ended the period, which it goes on through when the
    /// state that was selected says that the period will be short.
    fn tick(&mut self) {}
}
