//! A bound for the tail: no more than one wake-up in so many may be later than the limit of the plans.

use super::{BayOp, Plans};
use crate::governor::{Choice, Governor, Slept, View, Waker};
use crate::states::States;

/// One late wake-up, in the unit of the budget.
const LATE: u32 = 1 << 15;
/// Late wake-ups that can be saved up.
const MOST_SAVED: u32 = 4;
/// The price of latency itself: what is free is taken.
const PRICE: u32 = 20;
/// Bounds of the price of a late wake-up, in 1/16 us of a polling core.
const LEAST_PRICE: u32 = 1 << 4;
const GREATEST_PRICE: u32 = 1 << 20;
/// After a late wake-up the price rises by one part in so many.
const STEP: u32 = 12;

/// BayOp under an objective such as "99 % of wake-ups within the limit". Late wake-ups are paid from a budget: each
/// wake-up for an event adds the allowed share to it, and while it is empty nothing is entered that could be late. The
/// price of being late rises with each that was and falls slowly, so that the budget is spent where it saves most.
#[derive(Clone, Debug)]
pub struct Slo<'a> {
    own: BayOp<'a>,
    share: u32,
    budget: u32,
}

impl<'a> Slo<'a> {
    /// Share of wake-ups that an SLO of the 99th percentile lets be late, in millionths: with some to spare.
    pub const LATE_PER_MILLION: u32 = 9_000;

    /// A governor by whose plans at most `late_per_million` wake-ups in a million are later than their limit.
    pub fn new(plans: &'a Plans, late_per_million: u32) -> Self {
        let share = u64::from(late_per_million.min(1_000_000)) * u64::from(LATE) / 1_000_000;
        let own = BayOp { late_price: 800, ..BayOp::new(plans, PRICE) };
        Self { own, share: share as u32, budget: 0 }
    }
}

impl Governor for Slo<'_> {
    #[inline]
    fn select(&mut self, _: &States, view: &View) -> Choice {
        let within_us = if self.budget < LATE { self.own.plans.limit_us } else { u32::MAX };
        self.own.plan(view, view.max_latency_us.min(within_us))
    }

    #[inline]
    fn arrivals(&mut self, at_us: u64, count: u32) {
        self.own.arrivals(at_us, count);
    }

    #[inline]
    fn reflect(&mut self, states: &States, slept: &Slept) {
        let plan = self.own.plan;
        let Some(ended) = self.own.end(slept) else { return };
        if slept.waker != Waker::Event {
            return;
        }
        let late = plan.cost(states, ended.length_us).1 > self.own.plans.limit_us;
        self.budget = (self.budget + self.share).min(MOST_SAVED * LATE);
        let price = &mut self.own.late_price;
        if late {
            self.budget = self.budget.saturating_sub(LATE);
            *price += *price / STEP + 1;
        } else {
            let fall = u64::from(*price) * u64::from(self.share) / u64::from(STEP * LATE);
            *price -= fall as u32;
        }
        *price = (*price).clamp(LEAST_PRICE, GREATEST_PRICE);
    }
}
