//! A governor beside a kernel's: what it would have chosen whenever the kernel did, told what the kernel was told.
//!
//! Nothing is modelled: every stay is as the kernel measured it, ticks included, whatever the governor would have done.

use crate::TICK_US;
use crate::governor::{Governor, Slept, View, Waker};
use crate::states::{MAX_STATES, States};

/// A stay in an idle state, as a kernel recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it began.
    pub start_us: u64,
    /// As the kernel measures it, the wake-up included.
    pub length_us: u32,
    /// Until the next timer, as known at the start.
    pub timer_us: u32,
    /// Until the next tick.
    pub tick_us: u32,
    /// What ended it; a [`Waker::Tick`] that woke nothing else.
    pub waker: Waker,
    /// Polls that found packets since the stay before.
    pub arrivals: u32,
    /// How long ago the last of them was, if there was ever one.
    pub arrival_age_us: Option<u32>,
    /// What the kernel chose.
    pub state: usize,
}

/// How often each state was chosen: by the kernel, then by the governor.
pub type Choices = [[u64; MAX_STATES]; MAX_STATES];

/// Lets a governor choose for every stay. A state that the table does not have counts as the deepest.
pub fn follow<G: Governor + ?Sized>(
    states: &States,
    stays: impl IntoIterator<Item = Recorded>,
    governor: &mut G,
) -> Choices {
    let mut choices = Choices::default();
    for stay in stays {
        if stay.arrivals > 0 {
            let age_us = u64::from(stay.arrival_age_us.unwrap_or(0));
            governor.arrivals(stay.start_us.saturating_sub(age_us), stay.arrivals);
        }
        let view = View {
            now_us: stay.start_us,
            timer_us: stay.timer_us,
            tick_us: stay.tick_us.min(TICK_US),
            max_latency_us: u32::MAX,
        };
        let choice = governor.select(states, &view);
        choices[stay.state.min(states.len() - 1)][choice.state] += 1;
        governor.reflect(states, &Slept { length_us: stay.length_us, waker: stay.waker });
    }
    choices
}
