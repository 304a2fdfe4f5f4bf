//! Library operating systems such as EbbRT: the interrupt handler serves every request it finds
//! on the spot; otherwise the core halts. A core that polls does the same without interrupts, and
//! spins instead of halting.
//!
//! Cores share nothing, so each is simulated by itself.

use super::server::Server;
use super::sleeper::{IdleModel, Sleeper, WakeUp};
use super::tally::Tally;
use super::vector::{Packet, Packets, Vector, max};
use crate::costs::Costs;
use crate::idle::{Chooser, IdlePeriod};
use crate::moderation::Moderation;
use crate::network::Network;
use crate::profile::Profile;
use crate::profile::limits::MAX_POLL_BUDGET;
use crate::rng::Rng;
use crate::run::Applied;
use crate::service::ServiceTimes;
use crate::time::CoreTime;

/// Independent cores.
pub struct RunToCompletion<M, I> {
    cores: Vec<Core<M, I>>,
    costs: Vec<Costs>,
    shared: Shared,
    polls: bool,
    tally: Tally,
    packets: Packets,
}

/// What all cores share and none changes.
struct Shared {
    idle: IdleModel,
    network: Network,
    service: ServiceTimes,
    hold_responses: bool,
}

struct Core<M, I> {
    vector: Vector<M>,
    sleeper: Sleeper<I>,
    service_rng: Rng,
    step: usize,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
    /// What it goes on serving then.
    interrupted: Option<Batch>,
}

/// Requests of one poll, to be served now.
struct Requests<'a> {
    packets: &'a [Packet],
    /// How many the poll found.
    found: usize,
    /// Time left of what was being served when the core was interrupted: the first request, or all when responses are
    /// held.
    left_us: Option<f64>,
}

/// Requests of one poll of which not all are served.
struct Batch {
    packets: Vec<Packet>,
    /// How many requests the poll found.
    found: usize,
    /// Time left of what is being served: the first request, or all when responses are held.
    left_us: f64,
}

impl<M: Moderation, I: Chooser> RunToCompletion<M, I> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, chooser))| Core {
                vector,
                sleeper: Sleeper::new(chooser),
                service_rng: Rng::new(run.seed, 2 * core as u64 + 1),
                step: 0,
                free_us: 0.0,
                interrupted: None,
            })
            .collect();
        Self {
            tally: Tally::default(),
            cores,
            costs: Costs::table(profile, 0.0),
            shared: Shared {
                idle: IdleModel::new(profile, run),
                network: Network::new(profile, run),
                service: ServiceTimes::new(&profile.app),
                hold_responses: profile.app.hold_responses,
            },
            polls: profile.os.polls(),
            packets: [Packet::default(); MAX_POLL_BUDGET],
        }
    }

    fn advance_core(&mut self, index: usize, until_us: f64) {
        let core = &mut self.cores[index];
        let costs = &self.costs[core.step];
        let (shared, tally) = (&self.shared, &mut self.tally);
        if let Some(batch) = core.interrupted.take_if(|_| core.free_us < until_us) {
            let requests = Requests { packets: &batch.packets, found: batch.found, left_us: Some(batch.left_us) };
            core.serve(requests, until_us, costs, shared, tally);
        }
        loop {
            let fired_us = core.vector.due_us();
            if fired_us >= until_us || core.free_us >= until_us {
                if self.polls {
                    core.spin(until_us);
                }
                return;
            }
            let mut wake = WakeUp::default();
            let mut start_us = core.free_us;
            if self.polls {
                core.spin(fired_us);
                start_us = core.free_us;
            } else if fired_us > core.free_us {
                let period = IdlePeriod { start_us: core.free_us, length_us: fired_us - core.free_us };
                wake = core.sleeper.sleep(&shared.idle, period, costs);
                start_us = fired_us + wake.exit_us;
            }
            let work = core.vector.poll(fired_us, start_us, &mut self.packets, 0);
            if work.received > 0 {
                core.sleeper.arrival(start_us);
            }
            tally.interrupts += u64::from(work.interrupted && !self.polls);
            tally.interval_us += if work.interrupted { work.interval_us } else { 0.0 };
            tally.packets += work.received as u64;
            let interrupt_us = if work.interrupted || self.polls { costs.interrupt_us } else { 0.0 };
            let took_us = interrupt_us
                + wake.cold_us
                + costs.packets_us[work.received]
                + f64::from(work.completions) * costs.tx_clean_us;
            core.sleeper.busy(took_us);
            core.free_us = start_us + took_us;
            if work.requests > 0 {
                let requests =
                    Requests { packets: &self.packets[..work.requests], found: work.requests, left_us: None };
                core.serve(requests, until_us, costs, shared, tally);
            }
        }
    }
}

impl<M: Moderation, I: Chooser> Core<M, I> {
    /// Looks at the queue in vain until `until_us`.
    fn spin(&mut self, until_us: f64) {
        let spun_us = max(until_us - self.free_us, 0.0);
        self.sleeper.busy(spun_us);
        self.free_us += spun_us;
    }

    /// Serves until `until_us` at most; what is left then waits in [`Core::interrupted`].
    #[inline(always)]
    fn serve(&mut self, requests: Requests, until_us: f64, costs: &Costs, shared: &Shared, tally: &mut Tally) {
        let begin_us = self.free_us;
        let (packets, found) = (requests.packets, requests.found);
        let (served, left_us) = if shared.hold_responses {
            self.serve_then_send(requests, until_us, costs, shared, tally)
        } else {
            self.serve_and_send(requests, until_us, costs, shared, tally)
        };
        self.sleeper.busy(self.free_us - begin_us);
        tally.completed += served as u64;
        if served < packets.len() {
            self.interrupted = Some(Batch { packets: packets[served..].to_vec(), found, left_us });
        }
    }

    /// Serves a batch, then sends all responses. Returns how many were sent, and the time left of serving.
    #[inline(always)]
    fn serve_then_send(
        &mut self,
        Requests { packets, found, left_us }: Requests,
        until_us: f64,
        costs: &Costs,
        shared: &Shared,
        tally: &mut Tally,
    ) -> (usize, f64) {
        let network = &shared.network;
        let took_us = left_us.unwrap_or_else(|| {
            let factors = packets.iter().map(|_| shared.service.factor(self.service_rng.next_u64()));
            costs.service_us[found] * factors.sum::<f64>()
        });
        let sent_us = self.free_us + took_us;
        if sent_us > until_us {
            self.free_us = max(self.free_us, until_us);
            return (0, sent_us - self.free_us);
        }
        let mut bits = 0;
        tally.latency.record_all(packets.iter().enumerate().map(|(i, packet)| {
            bits = if i % 4 == 0 { self.service_rng.next_u64() } else { bits >> 12 };
            (sent_us - packet.arrived_us) as f32 + network.latency_us(bits)
        }));
        self.vector.transmit(sent_us + network.completion_us, packets.len() as u32);
        if (bits >> 12) & 0xffff < network.extra_threshold {
            self.vector.transmit(sent_us + network.completion_us + network.extra_us, 1);
        }
        self.free_us = sent_us + packets.len() as f64 * costs.after_response_us;
        (packets.len(), 0.0)
    }

    /// Serves a batch and sends each response at once. Returns how many were sent, and the time left of serving the
    /// next.
    #[inline(always)]
    fn serve_and_send(
        &mut self,
        Requests { packets, found, mut left_us }: Requests,
        until_us: f64,
        costs: &Costs,
        shared: &Shared,
        tally: &mut Tally,
    ) -> (usize, f64) {
        let network = &shared.network;
        let mean_us = costs.service_us[found];
        let mut now_us = self.free_us;
        for (served, packet) in packets.iter().enumerate() {
            let bits = self.service_rng.next_u64();
            let sent_us = now_us + left_us.take().unwrap_or(mean_us * shared.service.factor(bits));
            if sent_us > until_us {
                self.free_us = max(now_us, until_us);
                return (served, sent_us - self.free_us);
            }
            tally.latency.record((sent_us - packet.arrived_us) as f32 + network.latency_us(bits));
            self.vector.transmit(sent_us + network.completion_us, 1);
            if (bits >> 12) & 0xffff < network.extra_threshold {
                self.vector.transmit(sent_us + network.completion_us + network.extra_us, 1);
            }
            now_us = sent_us + costs.after_response_us;
        }
        self.free_us = now_us;
        (packets.len(), 0.0)
    }
}

impl<M: Moderation, I: Chooser> Server for RunToCompletion<M, I> {
    #[inline(never)] // or its caller's variables would take registers from it where all crates are optimized together
    fn advance(&mut self, until_us: f64) {
        for core in 0..self.cores.len() {
            self.advance_core(core, until_us);
        }
    }

    fn set_step(&mut self, core: usize, step: usize, _: f64) {
        let core = &mut self.cores[core];
        let [old, new] = [core.step, step].map(|step| &self.costs[step].service_us);
        if let Some(batch) = core.interrupted.as_mut().filter(|batch| old[batch.found] > 0.0) {
            batch.left_us *= new[batch.found] / old[batch.found];
        }
        core.step = step;
    }

    fn set_costs(&mut self, costs: Vec<Costs>) {
        self.costs = costs;
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn take_time(&mut self, core: usize, until_us: f64, mut count: impl FnMut(usize, &CoreTime)) {
        let core = &mut self.cores[core];
        let wanted_us = core.vector.due_us();
        let costs = &self.costs[core.step];
        count(core.step, &core.sleeper.take_time(&self.shared.idle, costs, core.free_us, wanted_us, until_us));
    }
}
