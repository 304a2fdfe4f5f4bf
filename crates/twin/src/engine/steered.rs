//! Linux: the interrupted core queues each request for an application thread, mostly on another
//! core; interrupts preempt the thread that runs there.
//!
//! Cores interact only by handing over requests, and a request is visible to the other core no
//! sooner than an interrupt plus a hand-over takes. That lookahead lets each core be simulated
//! by itself for a short stretch of time (conservative parallel simulation, Chandy and Misra
//! 1979): within a stretch the order of cores does not matter, so no event queue is needed.

use super::Server;
use super::queue::{RequestQueue, Waiting};
use super::sleeper::{IdleModel, WakeUp};
use super::tally::Tally;
use super::vector::{Batch, NEVER_US, Vector, max, min};
use crate::balance::{self, CHOICES};
use crate::costs::Costs;
use crate::idle::{IdleGovernor, IdlePeriod};
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

/// What all cores share and none changes.
struct Shared {
    idle: IdleModel,
    network: Network,
    service: ServiceTimes,
    steer_us: f64,
    targets: [u8; CHOICES],
}

/// How unevenly the application threads are loaded.
struct Imbalance {
    requests_per_us: f64,
    relative_sd: f64,
    hot_share: f64,
    exponent: f64,
}

impl Imbalance {
    fn new(profile: &Profile, run: &Applied) -> Self {
        Self {
            requests_per_us: run.qps * 1e-6 / profile.serving_cores() as f64,
            relative_sd: profile.app.thread_imbalance_share,
            hot_share: profile.app.hot_thread_share,
            exponent: profile.app.thread_imbalance_exponent,
        }
    }

    /// Equally likely targets of a request when serving one takes `service_us` on average.
    fn targets(&self, cores: usize, service_us: f64) -> [u8; CHOICES] {
        let scale = (self.requests_per_us * service_us).min(1.0).powf(self.exponent);
        balance::choice_table(&balance::weights(cores, scale * self.relative_sd, scale * self.hot_share))
    }
}

struct Core<M, I> {
    vector: Vector<M>,
    governor: I,
    service_rng: Rng,
    step: usize,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
    queue: RequestQueue,
    /// When the request in service completes; [`NEVER_US`] when there is none.
    service_end_us: f64,
    /// When the packet of the request in service arrived.
    service_arrived_us: f64,
    /// Random bits of the request in service.
    service_bits: u64,
    /// Those of the next request, and its service time relative to the mean.
    next_bits: u64,
    next_factor: f64,
}

impl<M: Moderation, I: IdleGovernor> Steered<M, I> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let app = &profile.app;
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, governor))| Core {
                vector,
                governor,
                service_rng: Rng::new(run.seed, 2 * core as u64 + 1),
                step: 0,
                free_us: 0.0,
                queue: RequestQueue::new(app.queue_limit),
                service_end_us: NEVER_US,
                service_arrived_us: 0.0,
                service_bits: 0,
                next_bits: 0,
                next_factor: 1.0,
            })
            .collect();
        Self {
            next_us: cores.iter().map(|core| core.vector.due_us()).collect(),
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

impl<M: Moderation, I: IdleGovernor> Core<M, I> {
    /// Handles one event at `now_us` and returns when the next is due.
    #[inline(always)]
    fn step(&mut self, index: usize, now_us: f64, costs: &Costs, shared: &Shared, outbox: &mut Outbox) -> f64 {
        let fired_us = self.vector.due_us();
        if self.service_end_us < NEVER_US {
            if now_us < self.service_end_us {
                // An interrupt preempts the thread.
                let took_us = self.interrupt(index, fired_us, now_us, 0.0, costs, shared, outbox);
                self.free_us = now_us + took_us;
                self.service_end_us += took_us;
            } else {
                self.respond(index, costs, shared, outbox.tally);
                if self.queue.ready_us() <= self.free_us {
                    self.serve(index, 0.0, costs, shared, outbox.tally);
                }
            }
        } else {
            let ready_us = self.queue.ready_us();
            let wanted_us = min(fired_us, ready_us);
            let mut start_us = now_us;
            let mut wake = WakeUp { exit_us: 0.0, cold_us: 0.0 };
            if wanted_us > self.free_us {
                let period = IdlePeriod { start_us: self.free_us, length_us: wanted_us - self.free_us };
                wake = shared.idle.sleep(index, &mut self.governor, period, costs, outbox.tally);
                start_us = wanted_us + wake.exit_us;
            }
            if fired_us <= start_us {
                self.free_us =
                    start_us + self.interrupt(index, fired_us, start_us, wake.cold_us, costs, shared, outbox);
                let soon_us = self.free_us + shared.steer_us;
                if self.queue.ready_us() <= soon_us {
                    outbox.tally.thread_wakes += 1;
                    self.serve(index, costs.thread_wake_us, costs, shared, outbox.tally);
                }
            } else {
                self.free_us = start_us;
                outbox.tally.thread_wakes += 1;
                self.serve(index, wake.cold_us + costs.thread_wake_us, costs, shared, outbox.tally);
            }
        }
        let work_us = if self.service_end_us < NEVER_US { self.service_end_us } else { self.queue.ready_us() };
        max(min(self.vector.due_us(), work_us), self.free_us)
    }

    /// Takes an interrupt: polls the vector, steers the requests. Returns how long it took.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn interrupt(
        &mut self,
        index: usize,
        fired_us: f64,
        start_us: f64,
        cold_us: f64,
        costs: &Costs,
        shared: &Shared,
        outbox: &mut Outbox,
    ) -> f64 {
        let batch = &mut *outbox.batch;
        let interval_us = self.vector.poll(fired_us, start_us, batch);
        let took_us = costs.interrupt_us
            + cold_us
            + costs.packets_us[batch.received]
            + f64::from(batch.completions) * costs.tx_clean_us;
        let tally = &mut *outbox.tally;
        tally.interrupts += 1;
        tally.interval_us += interval_us;
        tally.packets += batch.received as u64;
        tally.busy(index, took_us);
        let ready_us = start_us + took_us + shared.steer_us;
        outbox.requests.extend(batch.packets[..batch.requests].iter().map(|packet| {
            let target = shared.targets[packet.choice as usize % CHOICES];
            (target, Waiting { ready_us, arrived_us: packet.arrived_us })
        }));
        took_us
    }

    /// Starts serving the front of the queue after `extra_us` of overhead.
    #[inline(always)]
    fn serve(&mut self, index: usize, extra_us: f64, costs: &Costs, shared: &Shared, tally: &mut Tally) {
        let waiting = self.queue.len();
        let Some(request) = self.queue.pop() else { return };
        let took_us = extra_us + costs.service_us[waiting] * self.next_factor;
        self.service_bits = self.next_bits;
        self.draw_ahead(shared);
        self.service_arrived_us = request.arrived_us;
        self.service_end_us = self.free_us + took_us;
        tally.busy(index, took_us);
    }

    /// Draws the randomness of the next request ahead, so that nothing waits for the table.
    #[inline(always)]
    fn draw_ahead(&mut self, shared: &Shared) {
        self.next_bits = self.service_rng.next_u64();
        self.next_factor = shared.service.factor(self.next_bits);
    }

    /// Ends the service: the response leaves, the client sees its latency.
    #[inline(always)]
    fn respond(&mut self, index: usize, costs: &Costs, shared: &Shared, tally: &mut Tally) {
        let end_us = self.service_end_us;
        let bits = self.service_bits;
        let network = &shared.network;
        tally.latency.record((end_us - self.service_arrived_us) as f32 + network.latency_us(bits));
        tally.completed += 1;
        self.vector.transmit(end_us + network.completion_us, 1);
        if (bits >> 12) & 0xffff < network.extra_threshold {
            self.vector.transmit(end_us + network.completion_us + network.extra_us, 1);
        }
        self.service_end_us = NEVER_US;
        self.free_us = end_us + costs.after_response_us;
        tally.busy(index, costs.after_response_us);
    }
}

/// Where a core's step leaves its effects on others.
struct Outbox<'a> {
    requests: &'a mut Vec<(u8, Waiting)>,
    batch: &'a mut Batch,
    tally: &'a mut Tally,
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
