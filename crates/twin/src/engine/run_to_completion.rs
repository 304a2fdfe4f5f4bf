//! Library operating systems such as EbbRT: the interrupt handler serves every request it finds
//! on the spot; otherwise the core halts. A core that polls does the same without interrupts, and
//! spins instead of halting.
//!
//! Cores share nothing, so each is simulated by itself.

use super::server::Server;
use super::sleeper::{IdleModel, WakeUp};
use super::tally::{CoreTally, Tally};
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

/// Independent cores.
pub struct RunToCompletion<M, I> {
    cores: Vec<Core<M, I>>,
    costs: Vec<Costs>,
    idle: IdleModel,
    network: Network,
    service: ServiceTimes,
    hold_responses: bool,
    polls: bool,
    tally: Tally,
    packets: Packets,
}

struct Core<M, I> {
    vector: Vector<M>,
    chooser: I,
    service_rng: Rng,
    step: usize,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
    tally: CoreTally,
}

impl<M: Moderation, I: Chooser> RunToCompletion<M, I> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, chooser))| Core {
                vector,
                chooser,
                service_rng: Rng::new(run.seed, 2 * core as u64 + 1),
                step: 0,
                free_us: 0.0,
                tally: CoreTally::default(),
            })
            .collect();
        Self {
            tally: Tally::default(),
            cores,
            costs: profile.machine.freq_mhz.iter().map(|&f| Costs::new(profile, f)).collect(),
            idle: IdleModel::new(profile),
            network: Network::new(profile, run),
            service: ServiceTimes::new(&profile.app),
            hold_responses: profile.app.hold_responses,
            polls: profile.os.polls(),
            packets: [Packet::default(); MAX_POLL_BUDGET],
        }
    }

    fn advance_core(&mut self, index: usize, until_us: f64) {
        let core = &mut self.cores[index];
        let costs = &self.costs[core.step];
        let tally = &mut self.tally;
        loop {
            let fired_us = core.vector.due_us();
            if fired_us >= until_us || core.free_us >= until_us {
                if self.polls {
                    core.spin(until_us);
                }
                return;
            }
            let mut wake = WakeUp { exit_us: 0.0, cold_us: 0.0 };
            let mut start_us = core.free_us;
            if self.polls {
                core.spin(fired_us);
                start_us = core.free_us;
            } else if fired_us > core.free_us {
                let period = IdlePeriod { start_us: core.free_us, length_us: fired_us - core.free_us };
                wake = self.idle.sleep(&mut core.chooser, period, costs, tally, &mut core.tally);
                start_us = fired_us + wake.exit_us;
            }
            let work = core.vector.poll(fired_us, start_us, &mut self.packets, 0);
            if work.received > 0 {
                core.chooser.arrival(start_us);
            }
            tally.interrupts += u64::from(!self.polls);
            tally.interval_us += work.interval_us;
            tally.packets += work.received as u64;
            let requests = work.requests;
            let mut now_us = start_us
                + costs.interrupt_us
                + wake.cold_us
                + costs.packets_us[work.received]
                + f64::from(work.completions) * costs.tx_clean_us;
            if requests > 0 {
                let packets = &self.packets[..requests];
                now_us = if self.hold_responses {
                    core.serve_then_send(now_us, packets, costs, &self.service, &self.network, tally)
                } else {
                    core.serve_and_send(now_us, packets, costs, &self.service, &self.network, tally)
                };
                tally.completed += requests as u64;
            }
            core.tally.busy(now_us - start_us);
            core.free_us = now_us;
        }
    }
}

impl<M: Moderation, I: Chooser> Core<M, I> {
    /// Looks at the queue in vain until `until_us`.
    fn spin(&mut self, until_us: f64) {
        let spun_us = max(until_us - self.free_us, 0.0);
        self.tally.busy(spun_us);
        self.free_us += spun_us;
    }

    /// Serves a batch, then sends all responses. Returns when the core is done.
    #[inline(always)]
    fn serve_then_send(
        &mut self,
        start_us: f64,
        packets: &[Packet],
        costs: &Costs,
        service: &ServiceTimes,
        network: &Network,
        tally: &mut Tally,
    ) -> f64 {
        let mean_us = costs.service_us[packets.len()];
        let factors = packets.iter().map(|_| service.factor(self.service_rng.next_u64()));
        let sent_us = start_us + mean_us * factors.sum::<f64>();
        let mut bits = 0;
        for (i, packet) in packets.iter().enumerate() {
            bits = if i % 4 == 0 { self.service_rng.next_u64() } else { bits >> 12 };
            tally.latency.record((sent_us - packet.arrived_us) as f32 + network.latency_us(bits));
        }
        self.vector.transmit(sent_us + network.completion_us, packets.len() as u32);
        if (bits >> 12) & 0xffff < network.extra_threshold {
            self.vector.transmit(sent_us + network.completion_us + network.extra_us, 1);
        }
        sent_us + packets.len() as f64 * costs.after_response_us
    }

    /// Serves a batch and sends each response at once. Returns when the core is done.
    #[inline(always)]
    fn serve_and_send(
        &mut self,
        start_us: f64,
        packets: &[Packet],
        costs: &Costs,
        service: &ServiceTimes,
        network: &Network,
        tally: &mut Tally,
    ) -> f64 {
        let mean_us = costs.service_us[packets.len()];
        let mut now_us = start_us;
        for packet in packets {
            let bits = self.service_rng.next_u64();
            now_us += mean_us * service.factor(bits);
            tally.latency.record((now_us - packet.arrived_us) as f32 + network.latency_us(bits));
            self.vector.transmit(now_us + network.completion_us, 1);
            if (bits >> 12) & 0xffff < network.extra_threshold {
                self.vector.transmit(now_us + network.completion_us + network.extra_us, 1);
            }
            now_us += costs.after_response_us;
        }
        now_us
    }
}

impl<M: Moderation, I: Chooser> Server for RunToCompletion<M, I> {
    fn advance(&mut self, until_us: f64) {
        for core in 0..self.cores.len() {
            self.advance_core(core, until_us);
        }
    }

    fn set_step(&mut self, core: usize, step: usize) {
        self.cores[core].step = step;
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn core_tally(&mut self, core: usize) -> &mut CoreTally {
        &mut self.cores[core].tally
    }
}
