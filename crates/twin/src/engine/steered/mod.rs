//! Linux: the interrupted core queues each request for an application thread, mostly on another
//! core; interrupts preempt the thread that runs there.
//!
//! Cores interact only by handing over requests, and a request is visible to the other core no
//! sooner than an interrupt plus a hand-over takes. That lookahead lets each core be simulated
//! by itself for a short stretch of time (conservative parallel simulation, Chandy and Misra
//! 1979): within a stretch the order of cores does not matter, so no event queue is needed.

mod core;
mod imbalance;

use self::core::{Core, Outbox, Shared};
use self::imbalance::Imbalance;
use super::Server;
use super::queue::Waiting;
use super::sleeper::IdleModel;
use super::tally::Tally;
use super::vector::{Batch, NEVER_US, Vector, max, min};
use crate::balance::CHOICES;
use crate::costs::Costs;
use crate::idle::IdleGovernor;
use crate::moderation::Moderation;
use crate::network::Network;
use crate::profile::Profile;
use crate::rng::Rng;
use crate::run::Applied;
use crate::service::ServiceTimes;

/// Least stretch, for profiles whose interrupts cost nothing; hand-overs are delayed to its end.
const LEAST_LOOKAHEAD_US: f64 = 0.25;

/// Cores that steer requests to each other.
pub struct Steered<M, I> {
    cores: Vec<Core<M, I>>,
    /// When the next event of each core is due.
    next_us: Vec<f64>,
    costs: Vec<Costs>,
    /// Length of a stretch; zero when it has to be computed anew.
    lookahead_us: f64,
    imbalance: Imbalance,
    shared: Shared,
    outbox: Vec<(u8, Waiting)>,
    batch: Batch,
    tally: Tally,
}

impl<M: Moderation, I: IdleGovernor> Steered<M, I> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let app = &profile.app;
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, governor))| {
                let service_rng = Rng::new(run.seed, 2 * core as u64 + 1);
                Core::new(vector, governor, service_rng, app.queue_limit)
            })
            .collect();
        Self {
            next_us: cores.iter().map(Core::first_us).collect(),
            tally: Tally::new(cores.len()),
            cores,
            costs: profile.machine.freq_mhz.iter().map(|&f| Costs::new(profile, f)).collect(),
            lookahead_us: 0.0,
            imbalance: Imbalance::new(profile, run),
            shared: Shared {
                idle: IdleModel::new(profile),
                network: Network::new(profile, run),
                service: ServiceTimes::new(app),
                steer_us: profile.os.steer_us,
                targets: [0; CHOICES],
            },
            outbox: Vec::with_capacity(256),
            batch: Batch::default(),
        }
    }

    /// Recomputes what depends on the frequencies of all cores: the lookahead and how evenly the
    /// scheduler spreads the application threads.
    fn adapt(&mut self) {
        let costs = |core: &Core<M, I>| &self.costs[core.step];
        let handover_us = |c: &Costs| c.interrupt_us + c.packets_us[1] + self.shared.steer_us;
        let least_us = self.cores.iter().map(|core| handover_us(costs(core))).fold(NEVER_US, min);
        self.lookahead_us = max(least_us, LEAST_LOOKAHEAD_US);
        let service_us: f64 = self.cores.iter().map(|core| costs(core).service_us[1]).sum();
        self.shared.targets = self.imbalance.targets(self.cores.len(), service_us / self.cores.len() as f64);
    }

    /// Hands over what the cores sent during the stretch that ends at `end_us`.
    #[inline(always)]
    fn deliver(&mut self, end_us: f64) {
        for &(target, mut request) in &self.outbox {
            request.ready_us = max(request.ready_us, end_us);
            let core = &mut self.cores[usize::from(target)];
            if !core.queue.insert(request) {
                self.tally.dropped += 1;
            } else if core.service_end_us == NEVER_US {
                let next_us = &mut self.next_us[usize::from(target)];
                *next_us = min(*next_us, max(request.ready_us, core.free_us));
            }
        }
        self.outbox.clear();
    }
}

impl<M: Moderation, I: IdleGovernor> Server for Steered<M, I> {
    fn advance(&mut self, until_us: f64) {
        if self.lookahead_us == 0.0 {
            self.adapt();
        }
        loop {
            let first_us = self.next_us.iter().fold(NEVER_US, |a, &b| min(a, b));
            if first_us >= until_us {
                return;
            }
            let end_us = min(first_us + self.lookahead_us, until_us);
            for index in 0..self.cores.len() {
                let mut now_us = self.next_us[index];
                if now_us >= end_us {
                    continue;
                }
                let core = &mut self.cores[index];
                let costs = &self.costs[core.step];
                let mut outbox = Outbox { requests: &mut self.outbox, batch: &mut self.batch, tally: &mut self.tally };
                while now_us < end_us {
                    now_us = core.step(index, now_us, costs, &self.shared, &mut outbox);
                }
                self.next_us[index] = now_us;
            }
            self.deliver(end_us);
        }
    }

    fn set_step(&mut self, core: usize, step: usize) {
        self.cores[core].step = step;
        self.lookahead_us = 0.0; // adapt before the next event
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }
}
