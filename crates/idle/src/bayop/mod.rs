//! BayOp's own governor: the whole distribution of the coming period instead of a point, and the least expected cost.
//!
//! For each plan ([`Plans`]) it knows what the plan takes and how late it wakes the core for every length, and from a
//! mixture of histograms how likely each length is. It takes the plan with the least expected energy plus a price for
//! each microsecond of latency. Plans are states, and states with a promotion: shallow first, the deepest after a timer,
//! so that a wrong guess has an end. When arrivals are regular it wakes the core shortly before the next.
//!
//! The price is fixed, or follows another governor ([`Shadow`]), or an objective for the tail of the latency ([`Slo`]).

mod early;
mod mixture;
mod plans;
mod shadow;
mod slo;

use crate::governor::{Choice, Governor, Slept, View, Waker};
use early::Early;
use mixture::{BINS, Mixture, bin_of};
pub use plans::Plans;
use plans::{BEYOND_BITS, CERTAIN, Plan, Row};
pub use shadow::Shadow;
pub use slo::Slo;

/// The unit of prices: energy of 1 us of a polling core for 1 us of latency.
const PRICE_ONE: u32 = 1 << 10;
/// The unit of the price of a late wake-up: 1/16 us of a polling core.
const LATE_PER_PRICE: i64 = 1 << 6;

/// State of one core's governor.
#[derive(Clone, Debug)]
pub struct BayOp<'a> {
    plans: &'a Plans,
    mixture: Mixture,
    early: Early,
    price: u32,
    /// Price of a wake-up beyond the limit of `plans`, in 1/16 us of a polling core.
    late_price: u32,
    /// The plan without a guess, and the one that is carried out.
    steady: Plan,
    plan: Plan,
    /// The state that was entered last.
    entered: usize,
    /// How long this period has lasted, before the stay that was selected last.
    slept_us: u32,
}

/// An idle period that is over.
struct Ended {
    /// How long it was until something woke the core.
    length_us: u32,
    /// Whether somebody waited for the core.
    event: bool,
}

impl<'a> BayOp<'a> {
    /// A governor with a price for latency, in 1/1024 us of a polling core for each us.
    pub fn new(plans: &'a Plans, price: u32) -> Self {
        let plan = Plan::stay(plans.states.shallowest_halt(u32::MAX));
        Self {
            plans,
            mixture: Mixture::default(),
            early: Early::default(),
            price,
            late_price: 0,
            steady: plan,
            plan,
            entered: 0,
            slept_us: 0,
        }
    }

    /// The plan of least expected cost among those that are at most `max_latency_us` late.
    #[inline]
    fn decide(&mut self, view: &View, max_latency_us: u32) -> Plan {
        let plans = self.plans;
        let mut lengths = self.mixture.predict(view.now_us);
        // Beyond the timer there are no periods, and nobody waits when the timer ends one.
        let last = bin_of(view.timer_us);
        let beyond: i32 = lengths[last..].iter().map(|&p| i32::from(p)).sum();
        lengths[last..].fill(0);
        let events = lengths;
        lengths[last] = beyond.min(i32::from(i16::MAX)) as i16;
        let weights = weigh(&lengths, &events, self.price);
        let is_limited = plans.states.deepest_within(max_latency_us) + 1 < plans.states.len();
        let mut best = (i64::MAX, Plan::stay(plans.states.deepest_within(max_latency_us)));
        for i in (0..plans.count).filter(|&i| plans.latency_us[i] <= max_latency_us) {
            let mut cost = i64::from(cost_of(&weights, &plans.costs[i]));
            if is_limited {
                cost += i64::from(dot(&weights[0], &plans.beyond[i])) << BEYOND_BITS;
            }
            if self.late_price > 0 {
                cost += i64::from(dot(&events, &plans.late[i])) * i64::from(self.late_price) / i64::from(CERTAIN);
            }
            if cost < best.0 {
                best = (cost, plans.plans[i]);
            }
        }
        best.1
    }

    /// Begins a period, or goes on with one; `max_latency_us` may be stricter than the view's own.
    #[inline]
    fn plan(&mut self, view: &View, max_latency_us: u32) -> Choice {
        if self.slept_us > 0 {
            self.entered = usize::from(self.plan.second).min(self.plans.states.deepest_within(max_latency_us));
            return Choice::stay(self.entered);
        }
        self.steady = self.decide(view, max_latency_us);
        self.plan = self.early.plan(&self.plans.states, view.timer_us, max_latency_us).unwrap_or(self.steady);
        self.entered = usize::from(self.plan.first);
        self.plan.choice()
    }

    /// The end of a stay; that of the period, unless the core goes on idling.
    #[inline]
    fn end(&mut self, slept: &Slept) -> Option<Ended> {
        if matches!(slept.waker, Waker::Own | Waker::Tick) {
            self.slept_us = self.slept_us.saturating_add(slept.length_us).max(1);
            return None;
        }
        let last_us = slept.until_woken_us(self.plans.states[self.entered].exit_latency_us);
        let length_us = self.slept_us.saturating_add(last_us);
        self.slept_us = 0;
        let ended = Ended { length_us, event: slept.waker == Waker::Event };
        let prices = Prices { latency: self.price, late: self.late_price };
        self.early.learn(length_us, |plan| prices.cost(self.plans, plan, &ended), &self.steady);
        self.mixture.learn(length_us);
        Some(ended)
    }
}

/// What latency costs.
#[derive(Clone, Copy, Debug)]
struct Prices {
    latency: u32,
    late: u32,
}

impl Prices {
    /// What a plan would have cost for a period, in 1 / [`UNIT`](crate::UNIT) us of a polling core.
    #[inline]
    fn cost(self, plans: &Plans, plan: &Plan, ended: &Ended) -> i64 {
        let (energy, late_us) = plan.cost(&plans.states, ended.length_us);
        let late_us = if ended.event { late_us } else { 0 };
        let late = if late_us > plans.limit_us { LATE_PER_PRICE * i64::from(self.late) } else { 0 };
        energy.min(1 << 40) as i64 + i64::from(late_us) * i64::from(self.latency) + late
    }
}

impl Governor for BayOp<'_> {
    #[inline]
    fn select(&mut self, _: &crate::States, view: &View) -> Choice {
        self.plan(view, view.max_latency_us)
    }

    #[inline]
    fn arrivals(&mut self, at_us: u64, count: u32) {
        self.mixture.arrivals(at_us, count);
    }

    #[inline]
    fn reflect(&mut self, _: &crate::States, slept: &Slept) {
        self.end(slept);
    }
}

/// How much the energy and the latency of each bin count: its probability, and that times the price. Where the price is
/// so high that this leaves 16 bits, both lose their lowest bits.
#[inline]
fn weigh(lengths: &[i16; BINS], events: &[i16; BINS], price: u32) -> Row {
    let shift = (u32::BITS - (price / PRICE_ONE).leading_zeros()).min(15);
    let price = (price >> shift).min(PRICE_ONE) as i32;
    [lengths.map(|p| p >> shift), events.map(|p| ((i32::from(p) * price) >> 10) as i16)]
}

/// Sum of products of energies and of latencies. A distribution sums to less than 2^15, so that nothing overflows. Not
/// inlined, because the compiler multiplies and adds eight at once, on any x86-64, only where it sees nothing else.
#[inline(never)]
fn cost_of(weights: &Row, costs: &Row) -> i32 {
    dot(&weights[0], &costs[0]) + dot(&weights[1], &costs[1])
}

#[inline]
fn dot(weights: &[i16; BINS], costs: &[i16; BINS]) -> i32 {
    weights.iter().zip(costs).map(|(&weight, &cost)| i32::from(weight) * i32::from(cost)).sum()
}
