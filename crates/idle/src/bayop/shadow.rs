//! No later than another governor, for less energy.

use super::{BayOp, Plans};
use crate::TICK_US;
use crate::governor::{Choice, Governor, Slept, View, Waker};
use crate::replay::{HANDLER, HANDLER_US};
use crate::states::{States, UNIT};

/// Bounds of the price of latency, in 1/1024 us of a polling core for each us, and what it is at first.
const LEAST_PRICE: u32 = 8;
const GREATEST_PRICE: u32 = 1 << 14;
const FIRST_PRICE: u32 = 100;
/// Ticks of a period that the other governor is asked about, after which its choice stands.
const MOST_TICKS: u32 = 16;
/// Over how many periods costs are compared, as a power of two.
const MEMORY: u32 = 9;
/// How much cheaper the own plans must be on average: by 1 us of a polling core.
const MARGIN: i64 = UNIT as i64;
/// A debt of so many of the greatest exit latencies doubles the price.
const DOUBLES: i64 = 32;
/// How often the price can double.
const MOST_OCTAVES: i64 = 8;

/// BayOp with a price of latency that makes it as late on average as another governor, which runs in its shadow: it
/// chooses and learns, and nothing comes of it. While BayOp's own plans are not the cheaper ones, the other's are carried
/// out.
#[derive(Clone, Debug)]
pub struct Shadow<'a, G> {
    own: BayOp<'a>,
    other: G,
    /// What the other saw and chose last.
    view: View,
    choice: Choice,
    /// Whether the other's choice is what is carried out.
    follows: bool,
    /// Energy of the other's stays of this period, if it is carried out.
    energy: u64,
    /// How much later than the other this one has been: in all, in us, with one deepest sleep in hand; and the sum of that
    /// over time.
    debt_us: i64,
    debts_us: i64,
    /// Mean cost of the own plans above that of the other's, in 2^-10 us of a polling core.
    behind: i64,
}

impl<'a, G: Governor> Shadow<'a, G> {
    /// BayOp with `other` in its shadow, which must set no timers of its own: [`Choice::wake_after_us`] is not looked at.
    pub fn new(plans: &'a Plans, other: G) -> Self {
        Self {
            own: BayOp::new(plans, FIRST_PRICE),
            other,
            view: View { now_us: 0, timer_us: 0, tick_us: TICK_US, max_latency_us: u32::MAX },
            choice: Choice::stay(0),
            follows: false,
            energy: 0,
            debt_us: i64::from(plans.states[plans.states.len() - 1].exit_latency_us),
            debts_us: 0,
            behind: 0,
        }
    }

    /// What the other would have made of the period: energy and latency. It learns from that.
    #[inline]
    fn shadow(&mut self, states: &States, length_us: u32, waker: Waker) -> (u64, u32) {
        let (mut energy, mut left_us) = (0, length_us);
        for _ in 0..MOST_TICKS {
            if !self.choice.keeps_tick || self.view.tick_us >= left_us {
                break;
            }
            let state = &states[self.choice.state];
            let awake_us = self.view.tick_us.saturating_add(state.exit_latency_us).saturating_add(HANDLER_US);
            energy += state.energy(self.view.tick_us) + HANDLER;
            if awake_us >= left_us {
                self.other.reflect(states, &Slept { length_us: awake_us, waker });
                return (energy, awake_us - left_us);
            }
            self.other.reflect(states, &Slept { length_us: awake_us, waker: Waker::Tick });
            left_us -= awake_us;
            self.view = self.view.after(awake_us);
            self.choice = self.other.select(states, &self.view);
        }
        let state = &states[self.choice.state];
        self.other.reflect(states, &Slept { length_us: left_us.saturating_add(state.exit_latency_us), waker });
        (energy + state.energy(left_us), state.exit_latency_us)
    }

    /// What the other made of a stay that was carried out: energy and latency of the period so far.
    #[inline]
    fn follow(&mut self, states: &States, slept: &Slept) -> (u64, u32) {
        let state = &states[self.choice.state];
        let handler = if slept.waker == Waker::Tick { HANDLER } else { 0 };
        self.energy += state.energy(slept.until_woken_us(state.exit_latency_us)) + handler;
        self.other.reflect(states, slept);
        (self.energy, state.exit_latency_us)
    }

    /// A price that pays the debt of latency back, and keeps it paid.
    #[inline]
    fn set_price(&mut self, states: &States) {
        let scale = DOUBLES * i64::from(states[states.len() - 1].exit_latency_us.max(1));
        let bound = MOST_OCTAVES * scale * 256;
        self.debts_us = (self.debts_us + self.debt_us).clamp(-bound, bound);
        // The logarithm of the price to base 2, in 2^-8.
        let exponent = 256 * self.debt_us / scale + self.debts_us / scale / 4;
        let exponent = exponent.clamp(-256 * MOST_OCTAVES, 256 * MOST_OCTAVES);
        let octaves = exponent.div_euclid(256);
        let part = exponent.rem_euclid(256) as u64; // 2^x is nearly 1 + x between 0 and 1
        let price = u64::from(FIRST_PRICE) * (256 + part);
        let price = if octaves >= 0 { price << octaves } else { price >> -octaves } >> 8;
        self.own.price = (price as u32).clamp(LEAST_PRICE, GREATEST_PRICE);
    }
}

impl<G: Governor> Governor for Shadow<'_, G> {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        let begins = self.own.slept_us == 0;
        if begins {
            self.follows = self.behind > -MARGIN;
            self.energy = 0;
        }
        if begins || self.follows {
            self.choice = self.other.select(states, view);
            self.view = *view;
        }
        // In debt, nothing is entered that could be later than the other.
        let within_us = if self.debt_us > 0 { states[self.choice.state].exit_latency_us } else { u32::MAX };
        let own = self.own.plan(view, view.max_latency_us.min(within_us));
        if self.follows {
            self.own.entered = self.choice.state;
            self.choice
        } else {
            own
        }
    }

    #[inline]
    fn arrivals(&mut self, at_us: u64, count: u32) {
        self.own.arrivals(at_us, count);
        self.other.arrivals(at_us, count);
    }

    #[inline]
    fn reflect(&mut self, states: &States, slept: &Slept) {
        let plan = self.own.plan;
        let followed = self.follows.then(|| self.follow(states, slept));
        let Some(ended) = self.own.end(slept) else { return };
        let (energy, other_us) = followed.unwrap_or_else(|| self.shadow(states, ended.length_us, slept.waker));
        let (own_energy, own_us) = plan.cost(states, ended.length_us);
        let mut more = own_energy.min(1 << 40) as i64 - energy.min(1 << 40) as i64;
        if ended.event {
            let later_us = i64::from(own_us) - i64::from(other_us);
            more += later_us * i64::from(self.own.price);
            self.debt_us += if self.follows { 0 } else { later_us };
            self.debt_us = self.debt_us.clamp(-1 << 40, 1 << 40);
            self.set_price(states);
        }
        self.behind += (more - self.behind) >> MEMORY;
    }
}
