//! Linux: the interrupted core queues each request for an application thread, mostly on another
//! core; interrupts preempt the thread that runs there.
//!
//! Cores interact only by handing over requests, and a request is visible to the other core no
//! sooner than an interrupt plus a hand-over takes. That lookahead lets each core be simulated
//! by itself for a short stretch of time (conservative parallel simulation, Chandy and Misra
//! 1979): within a stretch the order of cores does not matter, so no event queue is needed.

mod core;
mod imbalance;
mod outbox;

use self::core::{Core, Shared};
use self::imbalance::Imbalance;
use self::outbox::Outbox;
use super::queue::Waiting;
use super::server::Server;
use super::sleeper::IdleModel;
use super::tally::{CoreTally, Tally};
use super::vector::{NEVER_US, Vector, max, min};
use crate::balance::CHOICES;
use crate::costs::Costs;
use crate::idle::Chooser;
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
    outbox: Outbox,
    /// Equally likely cores for a request.
    targets: [u8; CHOICES],
    /// Whether a request goes to the thread with the fewest instead.
    shared_queue: bool,
    /// Cores with events in the current stretch.
    active: Vec<usize>,
    tally: Tally,
}

impl<M: Moderation, I: Chooser> Steered<M, I> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let app = &profile.app;
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, chooser))| {
                let service_rng = Rng::new(run.seed, 2 * core as u64 + 1);
                Core::new(vector, chooser, service_rng, app.queue_limit)
            })
            .collect();
        Self {
            active: vec![0; cores.len()],
            next_us: cores.iter().map(Core::first_us).collect(),
            tally: Tally::default(),
            cores,
            costs: profile.machine.freq_mhz.iter().map(|&f| Costs::new(profile, f)).collect(),
            lookahead_us: 0.0,
            imbalance: Imbalance::new(profile, run),
            shared: Shared {
                idle: IdleModel::new(profile),
                network: Network::new(profile, run),
                service: ServiceTimes::new(app),
                steer_us: profile.os.steer_us,
            },
            targets: [0; CHOICES],
            shared_queue: app.shared_queue,
            outbox: Outbox::new(),
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
        self.targets = self.imbalance.targets(self.cores.len(), service_us / self.cores.len() as f64);
    }

    /// Cores with events before `end_us`, in ascending order.
    ///
    /// Whether a core has one is hard to predict, so the list is built without branches.
    #[inline(always)]
    fn find_active(&mut self, end_us: f64) -> usize {
        let mut count = 0;
        for (core, &next_us) in self.next_us.iter().enumerate() {
            self.active[count] = core;
            count += usize::from(next_us < end_us);
        }
        count
    }

    /// The thread with the fewest requests; the first such one from `start` on.
    fn least_busy_from(&self, start: usize) -> usize {
        let cores = self.cores.len();
        (start..start + cores).map(|core| core % cores).min_by_key(|&core| self.cores[core].backlog()).unwrap_or(start)
    }

    /// Hands over what the cores sent during the stretch that ends at `end_us`.
    #[inline(always)]
    fn deliver(&mut self, end_us: f64) {
        for (packet, ready_us) in self.outbox.requests() {
            let choice = usize::from(self.targets[packet.choice as usize % CHOICES]);
            let target = if self.shared_queue { self.least_busy_from(choice) } else { choice };
            let request = Waiting { ready_us: max(ready_us, end_us), arrived_us: packet.arrived_us };
            match self.cores[target].accept(request) {
                Some(next_us) => self.next_us[target] = min(self.next_us[target], next_us),
                None => self.tally.dropped += 1,
            }
        }
        self.outbox.clear();
    }
}

/// The least of `times_us`, or [`NEVER_US`]; four minima side by side, because each has to wait for
/// the one before.
#[inline(always)]
fn least(times_us: &[f64]) -> f64 {
    let fours = times_us.chunks_exact(4);
    let rest = fours.remainder();
    let lanes = fours.fold([NEVER_US; 4], |lanes, four| std::array::from_fn(|i| min(lanes[i], four[i])));
    lanes.iter().chain(rest).fold(NEVER_US, |a, &b| min(a, b))
}

impl<M: Moderation, I: Chooser> Server for Steered<M, I> {
    fn advance(&mut self, until_us: f64) {
        if self.lookahead_us == 0.0 {
            self.adapt();
        }
        loop {
            let first_us = least(&self.next_us);
            if first_us >= until_us {
                return;
            }
            let end_us = min(first_us + self.lookahead_us, until_us);
            for at in 0..self.find_active(end_us) {
                let index = self.active[at];
                let core = &mut self.cores[index];
                let costs = &self.costs[core.step];
                let mut now_us = self.next_us[index];
                while now_us < end_us {
                    now_us = core.step(now_us, costs, &self.shared, &mut self.outbox, &mut self.tally);
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

    fn core_tally(&mut self, core: usize) -> &mut CoreTally {
        &mut self.cores[core].tally
    }
}
