//! The governors of `crates/idle`: whole microseconds, timers of their own, and no knowledge but a kernel's.

use bayop_idle::{Governor, Slept, States, TICK_US, View, Waker};

use super::{Chooser, IdlePeriod, State, Stay, Timers};

/// A governor, asked as a kernel would ask it. Its timers and the ticks that it keeps wake the core, which takes as long
/// and as much as any wake-up.
pub struct Asked<'a> {
    governor: Box<dyn Governor + 'a>,
    states: &'a States,
    /// PM QoS: no state with a greater exit latency.
    max_latency_us: u32,
    timers: Timers,
    /// What ends the stay if nobody wants the core before.
    alarm: Waker,
}

impl<'a> Asked<'a> {
    /// `governor` on a core with these states, of which it may enter those within a limit, and these timers.
    pub fn new(governor: Box<dyn Governor + 'a>, states: &'a States, max_latency_us: u32, timers: Timers) -> Self {
        Self { governor, states, max_latency_us, timers, alarm: Waker::Event }
    }
}

impl Chooser for Asked<'_> {
    const WAKES: bool = true;

    fn select(&mut self, _: &[State], period: IdlePeriod) -> Stay {
        let timer_us = self.timers.next_us(period.start_us) - period.start_us;
        let now_us = period.start_us as u64;
        let tick_us = TICK_US - (now_us % u64::from(TICK_US)) as u32;
        let view = View { now_us, timer_us: timer_us as u32, tick_us, max_latency_us: self.max_latency_us };
        let choice = self.governor.select(self.states, &view);
        let tick_us = if choice.keeps_tick { tick_us } else { u32::MAX };
        let own_us = choice.wake_after_us.unwrap_or(u32::MAX);
        self.alarm = if own_us <= tick_us { Waker::Own } else { Waker::Tick };
        let again_us = match own_us.min(tick_us) {
            u32::MAX => f64::INFINITY,
            us => f64::from(us.max(1)),
        };
        Stay { state: choice.state, again_us, armed: choice.wake_after_us.is_some() }
    }

    fn again(&mut self, table: &[State], left: IdlePeriod, stay_us: f64) -> Stay {
        self.governor.reflect(self.states, &Slept { length_us: stay_us as u32, waker: self.alarm });
        self.select(table, left)
    }

    fn reflect(&mut self, _: &[State], length_us: f64, wait_us: f64) {
        let slept = Slept { length_us: (length_us + wait_us) as u32, waker: Waker::Event };
        self.governor.reflect(self.states, &slept);
    }

    fn arrival(&mut self, now_us: f64) {
        self.governor.arrivals(now_us as u64, 1);
    }
}
