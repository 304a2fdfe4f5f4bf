//! Library operating systems such as EbbRT: the interrupt handler serves every request it finds
//! on the spot and sends the responses at the end; otherwise the core halts.
//!
//! Cores share nothing, so each is simulated by itself.

use super::Server;
use super::sleeper::{IdleModel, WakeUp};
use super::tally::Tally;
use super::vector::{Batch, Vector};
use crate::costs::Costs;
use crate::idle::{IdleGovernor, IdlePeriod};
use crate::moderation::Moderation;
use crate::network::Network;
use crate::profile::Profile;
use crate::rng::Rng;
use crate::run::Applied;

/// Independent cores.
pub struct RunToCompletion<M, I> {
    cores: Vec<Core<M, I>>,
    costs: Vec<Costs>,
    idle: IdleModel,
    network: Network,
    exponential_share: f64,
    tally: Tally,
    batch: Batch,
}

struct Core<M, I> {
    vector: Vector<M>,
    governor: I,
    service_rng: Rng,
    step: usize,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
}

impl<M: Moderation, I: IdleGovernor> RunToCompletion<M, I> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, governor))| Core {
                vector,
                governor,
                service_rng: Rng::new(run.seed, 2 * core as u64 + 1),
                step: 0,
                free_us: 0.0,
            })
            .collect();
        Self {
            tally: Tally::new(cores.len()),
            cores,
            costs: profile.machine.freq_mhz.iter().map(|&f| Costs::new(profile, f)).collect(),
            idle: IdleModel::new(profile),
            network: Network::new(profile, run),
            exponential_share: profile.app.service_exponential_share,
            batch: Batch::default(),
        }
    }

    fn advance_core(&mut self, index: usize, until_us: f64) {
        let core = &mut self.cores[index];
        let costs = &self.costs[core.step];
        let batch = &mut self.batch;
        let tally = &mut self.tally;
        let mean_share = 1.0 - self.exponential_share;
        loop {
            let fired_us = core.vector.due_us();
            if fired_us >= until_us || core.free_us >= until_us {
                return;
            }
            let mut wake = WakeUp { exit_us: 0.0, cold_us: 0.0 };
            let mut start_us = core.free_us;
            if fired_us > core.free_us {
                let period = IdlePeriod { start_us: core.free_us, length_us: fired_us - core.free_us };
                wake = self.idle.sleep(index, &mut core.governor, period, costs.idle_loop_us, tally);
                start_us = fired_us + wake.exit_us;
            }
            let interval_us = core.vector.poll(fired_us, start_us, batch);
            tally.interrupts += 1;
            tally.interval_us += interval_us;
            tally.packets += batch.received as u64;
            let requests = batch.requests;
            let mut now_us = start_us
                + costs.interrupt_us
                + wake.cold_us
                + costs.packets_us[batch.received]
                + f64::from(batch.completions) * costs.tx_clean_us;
            if requests > 0 {
                let service_us = costs.service_us[requests];
                for _ in 0..requests {
                    now_us += service_us * (mean_share + self.exponential_share * core.service_rng.exponential());
                }
                let mut bits = core.service_rng.next_u64();
                for (i, packet) in batch.packets[..requests].iter().enumerate() {
                    if i % 4 == 3 {
                        bits = core.service_rng.next_u64();
                    }
                    tally.latency.record((now_us - packet.arrived_us) as f32 + self.network.latency_us(bits));
                    bits >>= 12;
                }
                tally.completed += requests as u64;
                let completion_us = now_us + self.network.completion_us;
                core.vector.transmit(completion_us, requests as u32);
                if (bits >> 12) & 0xffff < self.network.extra_threshold {
                    core.vector.transmit(completion_us + self.network.extra_us, 1);
                }
                now_us += requests as f64 * costs.after_response_us;
            }
            tally.busy(index, now_us - start_us);
            core.free_us = now_us;
        }
    }
}

impl<M: Moderation, I: IdleGovernor> Server for RunToCompletion<M, I> {
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
}
