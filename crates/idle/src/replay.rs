//! Replay of recorded idle periods: what a governor would have made of them.
//!
//! The periods stay as they were, whatever the governor chooses: a late wake-up moves no later one. A state takes its
//! power and the energy of entering and leaving it; a wake-up by a tick or by a timer of the governor's own costs the
//! handler, arming that timer costs as well.

use crate::TICK_US;
use crate::governor::{Governor, Slept, View, Waker};
use crate::states::{States, UNIT};

/// Energy of programming a timer: 0.5 us of a polling core.
pub const ARM: u64 = UNIT as u64 / 2;
/// Energy of a wake-up that finds nothing to do: 1.5 us of a polling core.
pub const HANDLER: u64 = 3 * UNIT as u64 / 2;
/// Time that such a wake-up takes after the exit latency.
pub const HANDLER_US: u32 = 1;

/// A recorded idle period of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// When the core had nothing more to do.
    pub start_us: u64,
    /// Until something woke it.
    pub length_us: u32,
    /// Until its next timer, as known at the start.
    pub timer_us: u32,
    /// Whether that timer ended it.
    pub by_timer: bool,
    /// Polls that found packets since the period before.
    pub arrivals: u32,
    /// How long ago the last of them was, if there was ever one.
    pub arrival_age_us: Option<u32>,
}

/// A stay in one state, as it turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Index of the period that it is part of.
    pub period: usize,
    /// The state.
    pub state: usize,
    /// How long until something woke the core.
    pub length_us: u32,
    /// For the last stay of a period that a device or another core ended: how long that had to wait for the core.
    pub late_us: Option<u32>,
}

/// What all periods together took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Energy, in 1 / [`UNIT`] us of a polling core.
    pub energy: u64,
    /// The least energy that any governor could have taken without a timer of its own.
    pub least_energy: u64,
    /// Selections.
    pub decisions: u64,
    /// Stays that ended before the target residency of their state (`above` in sysfs).
    pub too_deep: u64,
    /// Stays for which a deeper state would have been right (`below` in sysfs).
    pub too_shallow: u64,
    /// Wake-ups by a timer of the governor's own.
    pub own_wakes: u64,
}

/// Lets a governor choose for every period, and tells of every stay.
pub fn replay<G: Governor + ?Sized>(
    states: &States,
    periods: impl IntoIterator<Item = Period>,
    max_latency_us: u32,
    governor: &mut G,
    mut stayed: impl FnMut(Stay),
) -> Outcome {
    let mut outcome = Outcome::default();
    for (index, period) in periods.into_iter().enumerate() {
        if period.arrivals > 0 {
            let age_us = u64::from(period.arrival_age_us.unwrap_or(0));
            governor.arrivals(period.start_us.saturating_sub(age_us), period.arrivals);
        }
        outcome.least_energy += states.least_energy(period.length_us);
        sleep(states, &period, max_latency_us, governor, &mut outcome, |stay| stayed(Stay { period: index, ..stay }));
    }
    outcome
}

fn sleep<G: Governor + ?Sized>(
    states: &States,
    period: &Period,
    max_latency_us: u32,
    governor: &mut G,
    outcome: &mut Outcome,
    mut stayed: impl FnMut(Stay),
) {
    let length_us = u64::from(period.length_us);
    let mut since_us = 0_u64;
    loop {
        let now_us = period.start_us.saturating_add(since_us);
        let tick_us = TICK_US - (now_us % u64::from(TICK_US)) as u32;
        let timer_us = u64::from(period.timer_us).saturating_sub(since_us) as u32;
        let choice = governor.select(states, &View { now_us, timer_us, tick_us, max_latency_us });
        outcome.decisions += 1;
        let state = &states[choice.state];
        let polls = state.exit_latency_us == 0;
        // A loop that polls looks at the clock; a core that sleeps needs a timer.
        outcome.energy += if choice.wake_after_us.is_some() && !polls { ARM } else { 0 };
        let own_us = choice.wake_after_us.map_or(u64::MAX, u64::from);
        let tick_us = if choice.keeps_tick { u64::from(tick_us) } else { u64::MAX };
        let left_us = length_us - since_us;
        if own_us.min(tick_us) < left_us {
            let by_own = own_us <= tick_us;
            let asleep_us = own_us.min(tick_us) as u32;
            let awake_us = u64::from(asleep_us) + u64::from(state.exit_latency_us) + u64::from(HANDLER_US);
            outcome.energy += state.energy(asleep_us) + if polls { 0 } else { HANDLER };
            outcome.own_wakes += u64::from(by_own);
            let waited_us = awake_us.checked_sub(left_us).map(|us| us as u32);
            let event = waited_us.is_some() && !period.by_timer;
            let late_us = if event { waited_us } else { None };
            stayed(Stay { period: 0, state: choice.state, length_us: asleep_us, late_us });
            let measured_us = awake_us.min(u64::from(u32::MAX)) as u32;
            let waker = match (waited_us, by_own) {
                (Some(_), _) => period.waker(),
                (None, true) => Waker::Own,
                (None, false) => Waker::Tick,
            };
            governor.reflect(states, &Slept { length_us: measured_us, waker });
            if waited_us.is_some() {
                return;
            }
            since_us += awake_us;
            continue;
        }
        let asleep_us = left_us as u32;
        outcome.energy += state.energy(asleep_us);
        let fitting = states.deepest_for(asleep_us, max_latency_us);
        outcome.too_deep += u64::from(choice.state > fitting);
        outcome.too_shallow += u64::from(choice.state < fitting);
        let late_us = (!period.by_timer).then_some(state.exit_latency_us);
        stayed(Stay { period: 0, state: choice.state, length_us: asleep_us, late_us });
        let measured_us = asleep_us.saturating_add(state.exit_latency_us);
        governor.reflect(states, &Slept { length_us: measured_us, waker: period.waker() });
        return;
    }
}

impl Period {
    fn waker(&self) -> Waker {
        if self.by_timer { Waker::Timer } else { Waker::Event }
    }
}
