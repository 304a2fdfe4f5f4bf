//! The one interface of all governors.

use crate::TICK_US;
use crate::states::States;

/// What a kernel knows when a core goes idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Now, since any moment that stays the same.
    pub now_us: u64,
    /// Until the core's next timer fires, the tick aside.
    pub timer_us: u32,
    /// Until the next tick, if it goes on.
    pub tick_us: u32,
    /// No state may be entered whose exit latency is greater (PM QoS); the shallowest always may.
    pub max_latency_us: u32,
}

impl View {
    /// What it will be after a while in which nothing happened but ticks.
    pub fn after(&self, length_us: u32) -> Self {
        let tick_us = match length_us.checked_sub(self.tick_us) {
            Some(beyond_us) => TICK_US - beyond_us % TICK_US,
            None => self.tick_us - length_us,
        };
        let now_us = self.now_us.saturating_add(u64::from(length_us));
        Self { now_us, timer_us: self.timer_us.saturating_sub(length_us), tick_us, ..*self }
    }
}

/// What a governor decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of the state to enter.
    pub state: usize,
    /// A timer of the governor's own, after which it wants to be asked again.
    pub wake_after_us: Option<u32>,
    /// The tick goes on, which asks it again as well.
    pub keeps_tick: bool,
}

impl Choice {
    /// To stay in one state for as long as the period lasts.
    pub fn stay(state: usize) -> Self {
        Self { state, wake_after_us: None, keeps_tick: false }
    }
}

/// What ended a stay in an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A device or another core.
    Event,
    /// The timer that [`View::timer_us`] told of.
    Timer,
    /// The tick; the core has nothing to do and goes on idling.
    Tick,
    /// The governor's own timer; the core has nothing to do and goes on idling.
    Own,
}

/// A stay in the state that was selected last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slept {
    /// As a kernel measures it: from the entry until the core runs again, the wake-up with it.
    pub length_us: u32,
    /// What ended it.
    pub waker: Waker,
}

impl Slept {
    /// How long it was until something woke the core, as far as can be told.
    pub fn until_woken_us(&self, exit_latency_us: u32) -> u32 {
        self.length_us.saturating_sub(exit_latency_us)
    }
}

/// Chooses the idle states of one core: [`select`](Self::select) and then [`reflect`](Self::reflect) for each stay, and
/// both again for as long as the idle period goes on after a tick or a timer of its own.
///
/// Every call gets the same states. No call panics, whatever the numbers.
pub trait Governor {
    /// What to do with a core that has nothing to do.
    fn select(&mut self, states: &States, view: &View) -> Choice;

    /// Polls of the core's receive queue found packets `count` times since the last call, the last time at `at_us`.
    fn arrivals(&mut self, at_us: u64, count: u32) {
        let _ = (at_us, count);
    }

    /// How the stay went that was selected last.
    fn reflect(&mut self, states: &States, slept: &Slept);
}

impl<G: Governor + ?Sized> Governor for &mut G {
    fn select(&mut self, states: &States, view: &View) -> Choice {
        (**self).select(states, view)
    }

    fn arrivals(&mut self, at_us: u64, count: u32) {
        (**self).arrivals(at_us, count);
    }

    fn reflect(&mut self, states: &States, slept: &Slept) {
        (**self).reflect(states, slept);
    }
}
