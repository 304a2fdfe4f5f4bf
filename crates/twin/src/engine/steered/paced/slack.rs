//! Frequency by slack: Kasture et al., "Rubik: Fast Analytical Power Management for Latency-Critical Systems", MICRO
//! 2015; and the same with foreknowledge, to show what better predictions could gain.

use super::foresight::Foresight;
use super::tails::Tails;
use crate::costs::Costs;
use crate::engine::steered::core::{Core, Shared};
use crate::engine::vector::NEVER_US;
use crate::histogram::Histogram;
use crate::idle::Chooser;
use crate::moderation::Moderation;
use crate::profile::Profile;
use crate::service::ServiceTimes;

/// How often the bound is adjusted, and from how many latencies at least.
const PERIOD_US: f64 = 100_000.0;
const PERIOD_REQUESTS: u64 = 1_000;
/// Fewest requests to learn from.
const LEAST_REQUESTS: u64 = 100;
/// How much of a relative error of the tail one adjustment takes back.
const GAIN: f64 = 0.25;

/// How far ahead the future is known, in bounds.
const HORIZON: f64 = 2.0;
/// And at most: every request until then is looked at again at every event.
const MOST_HORIZON_US: f64 = 20_000.0;

/// What is known of requests.
enum Known {
    /// How long they may take.
    Tails(Tails),
    /// How long each takes, and when those arrive that are still to come.
    Everything(Foresight),
}

/// The least P-state at which every request that a core has is answered within a bound.
pub struct Slack {
    known: Known,
    /// 99th percentile that clients may see.
    slo_us: f64,
    /// From a packet's arrival at the card to the end of its service.
    bound_us: f64,
    adjusted_us: f64,
    /// Busy time of cores relative to the service times of their requests: interrupts, wake-ups, going idle.
    overhead: f64,
}

impl Slack {
    /// Knows the distribution of service times.
    pub fn knowing_tails(profile: &Profile, service: &ServiceTimes) -> Self {
        Self::new(profile, Known::Tails(Tails::new(service)))
    }

    /// Knows the service time of every request, and what will arrive.
    pub fn knowing_everything(profile: &Profile) -> Self {
        Self::new(profile, Known::Everything(Foresight::default()))
    }

    fn new(profile: &Profile, known: Known) -> Self {
        let slo_us = profile.os.frequency_slo_us;
        let bound_us = f64::max(slo_us - profile.app.network_us, 0.1 * slo_us);
        Self { known, slo_us, bound_us, adjusted_us: 0.0, overhead: 1.0 }
    }

    /// The least P-state at which no request of `core` misses the bound, else the greatest.
    pub fn step_for<M: Moderation, I: Chooser>(
        &self,
        index: usize,
        core: &Core<M, I>,
        now_us: f64,
        costs: &[Costs],
        shared: &Shared,
    ) -> usize {
        let in_service = core.in_service(now_us, &costs[core.step()], &shared.service);
        let done = in_service.map_or(0.0, |request| request.done);
        let mut left = in_service.map_or(0.0, |request| request.left);
        let mut demands = core.demands(&shared.service);
        let first_us = in_service.map(|request| request.arrived_us);
        let mut allowed_us = NEVER_US;
        let here = first_us.into_iter().chain(core.waiting());
        let mut allow = |arrived_us: f64, demand: f64| {
            allowed_us = f64::min(allowed_us, (arrived_us + self.bound_us - now_us) / (demand * self.overhead));
        };
        match &self.known {
            Known::Tails(tails) => {
                here.enumerate().for_each(|(at, arrived_us)| allow(arrived_us, tails.left(done, at)))
            }
            Known::Everything(foresight) => {
                for (at, arrived_us) in here.chain(foresight.coming(index)).enumerate() {
                    if at > 0 || in_service.is_none() {
                        left += demands.next().unwrap_or(1.0);
                    }
                    allow(arrived_us, left);
                }
            }
        }
        let waiting = core.backlog().clamp(1, costs[0].service_us.len() - 1);
        costs.partition_point(|costs| costs.service_us[waiting] > allowed_us).min(costs.len() - 1)
    }

    /// The future as far as it is known, to those who know any.
    pub fn foresight(&mut self) -> Option<(&mut Foresight, f64)> {
        match &mut self.known {
            Known::Tails(_) => None,
            Known::Everything(foresight) => Some((foresight, f64::min(HORIZON * self.bound_us, MOST_HORIZON_US))),
        }
    }

    /// Learns from cores that were busy for as long as `served` requests take, and answered `completed`.
    pub fn learn_overhead(&mut self, served: f64, completed: u64) {
        if completed >= LEAST_REQUESTS {
            self.overhead = (served / completed as f64).clamp(0.5, 4.0);
        }
    }

    /// Moves the bound so that the tail that clients see goes to the objective; says whether it did.
    pub fn adjust(&mut self, now_us: f64, latency: &Histogram) -> bool {
        if now_us < self.adjusted_us + PERIOD_US || latency.count() < PERIOD_REQUESTS {
            return false;
        }
        self.adjusted_us = now_us;
        if let Some(p99_us) = latency.quantile_us(0.99) {
            let bound_us = self.bound_us * (self.slo_us / p99_us).powf(GAIN);
            self.bound_us = bound_us.clamp(0.05 * self.slo_us, 4.0 * self.slo_us);
        }
        true
    }
}
