//! Linux's timer-events-oriented governor (teo) of 6.1, as documented (Documentation/admin-guide/pm/cpuidle.rst, "The
//! Timer Events Oriented (TEO) Governor").
//!
//! It starts from the deepest state that the next timer leaves time for, and asks how often in such a case something else
//! woke the core early: when more than half of the time, or in most of the last nine periods, it takes the deepest
//! state that the greater part of those early wake-ups would still have suited.
//!
//! Left out: states that users have switched off, and the utilization that 6.3 to 6.10 looked at.

use crate::TICK_US;
use crate::governor::{Choice, Governor, Slept, View, Waker};
use crate::states::{MAX_STATES, States};

/// What one event adds to a counter, of which every period takes an eighth away.
const PULSE: u32 = 1024;
const DECAY_SHIFT: u32 = 3;
/// Early wake-ups remembered one by one.
const RECENT: usize = 9;

/// What happened while the core was idle for about as long as one state wants.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// The timer fired about when it should.
    hits: u32,
    /// Something else woke the core that early.
    intercepts: u32,
    /// The same among the last periods.
    recent: u32,
}

/// State of one core's governor.
#[derive(Clone, Debug, Default)]
pub struct Teo {
    bins: [Bin; MAX_STATES],
    recent: [Option<u8>; RECENT],
    next: usize,
    timer_us: u32,
    state: usize,
}

/// Sums over the bins of states shallower than one.
#[derive(Clone, Copy, Default)]
struct Sums {
    hits: u32,
    intercepts: u32,
    recent: u32,
}

impl Teo {
    #[inline]
    fn below(&self, state: usize) -> Sums {
        self.bins[..state].iter().fold(Sums::default(), |sums, bin| Sums {
            hits: sums.hits + bin.hits,
            intercepts: sums.intercepts + bin.intercepts,
            recent: sums.recent + bin.recent,
        })
    }

    /// The state for early wake-ups, when those are what to expect.
    #[inline]
    fn for_intercepts(&self, states: &States, deepest: usize, least: usize) -> usize {
        let total: u32 = self.bins.iter().map(|bin| bin.hits + bin.intercepts).sum();
        let sums = self.below(deepest);
        let mostly = 2 * sums.intercepts > total - sums.hits;
        let lately = sums.recent > (RECENT / 2) as u32;
        if !(mostly || lately) {
            return deepest;
        }
        let (mut intercepts, mut recent) = (0, 0);
        for state in (least..deepest.min(states.len())).rev() {
            intercepts += self.bins[state].intercepts;
            recent += self.bins[state].recent;
            if (!lately || 2 * recent > sums.recent) && (!mostly || 2 * intercepts > sums.intercepts) {
                return state;
            }
        }
        least.min(deepest)
    }
}

impl Governor for Teo {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        self.timer_us = view.timer_us;
        let limit_us = view.max_latency_us;
        let deepest = states.deepest_for(view.timer_us, u32::MAX);
        let halt = states.shallowest_halt(limit_us);
        let least = if view.timer_us >= states[halt].target_residency_us { halt } else { 0 };
        let expected = self.for_intercepts(states, deepest, least);
        let mut state = expected.min(states.deepest_within(limit_us)).max(least);
        let expected_us = if expected < deepest { middle_us(states, expected) } else { view.timer_us };
        let keeps_tick = expected_us < TICK_US || states[state].exit_latency_us == 0;
        if keeps_tick && states[state].target_residency_us > view.tick_us {
            state = states.deepest_for(view.tick_us, limit_us);
        }
        self.state = state;
        Choice { state, wake_after_us: None, keeps_tick }
    }

    #[inline]
    fn reflect(&mut self, states: &States, slept: &Slept) {
        let exit_us = states[self.state].exit_latency_us;
        let measured_us = match slept.waker {
            Waker::Timer => self.timer_us,
            // The tick is no reason to think that the period would have been short.
            Waker::Tick if slept.length_us >= TICK_US / 2 => self.timer_us,
            _ if slept.length_us >= exit_us.saturating_mul(2) => slept.until_woken_us(exit_us),
            _ => slept.length_us / 2,
        };
        for bin in &mut self.bins {
            bin.hits -= bin.hits >> DECAY_SHIFT;
            bin.intercepts -= bin.intercepts >> DECAY_SHIFT;
        }
        let by_timer = states.deepest_for(self.timer_us, u32::MAX);
        let by_length = states.deepest_for(measured_us, u32::MAX);
        let intercept = (by_timer != by_length).then_some(by_length as u8);
        match intercept {
            Some(_) => self.bins[by_length].intercepts += PULSE,
            None => self.bins[by_timer].hits += PULSE,
        }
        if let Some(forgotten) = core::mem::replace(&mut self.recent[self.next], intercept) {
            self.bins[usize::from(forgotten)].recent -= 1;
        }
        if let Some(bin) = intercept {
            self.bins[usize::from(bin)].recent += 1;
        }
        self.next = (self.next + 1) % RECENT;
    }
}

/// Between the target residencies of a state and of the next deeper one.
fn middle_us(states: &States, state: usize) -> u32 {
    let own_us = states[state].target_residency_us;
    states.get(state + 1).map_or(own_us, |next| own_us.midpoint(next.target_residency_us))
}
