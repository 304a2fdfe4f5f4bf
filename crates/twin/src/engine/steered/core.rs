//! One core of a steered server: interrupts, its application thread, idling.

use crate::balance::CHOICES;
use crate::costs::Costs;
use crate::engine::queue::{RequestQueue, Waiting};
use crate::engine::sleeper::{IdleModel, WakeUp};
use crate::engine::tally::Tally;
use crate::engine::vector::{Batch, NEVER_US, Vector, max, min};
use crate::idle::{IdleGovernor, IdlePeriod};
use crate::moderation::Moderation;
use crate::network::Network;
use crate::rng::Rng;
use crate::service::ServiceTimes;

/// What all cores share and none changes.
pub struct Shared {
    /// Idle states.
    pub idle: IdleModel,
    /// What happens outside the server.
    pub network: Network,
    /// Variation of service times.
    pub service: ServiceTimes,
    /// From the interrupt to the application's core.
    pub steer_us: f64,
    /// Equally likely cores for a request.
    pub targets: [u8; CHOICES],
}

/// One core: its interrupt vector, its application thread, its idle governor.
pub struct Core<M, I> {
    vector: Vector<M>,
    governor: I,
    service_rng: Rng,
    /// P-state.
    pub step: usize,
    /// When the core finishes what it does, or went idle.
    pub free_us: f64,
    /// Requests waiting for the thread.
    pub queue: RequestQueue,
    /// When the request in service completes; [`NEVER_US`] when there is none.
    pub service_end_us: f64,
    /// When the packet of the request in service arrived.
    service_arrived_us: f64,
    /// Random bits of the request in service.
    service_bits: u64,
    /// Those of the next request, and its service time relative to the mean.
    next_bits: u64,
    next_factor: f64,
}

/// Where a core's step leaves its effects on others.
pub struct Outbox<'a> {
    /// Requests for other cores.
    pub requests: &'a mut Vec<(u8, Waiting)>,
    /// Scratch space of a poll.
    pub batch: &'a mut Batch,
    /// What is counted.
    pub tally: &'a mut Tally,
}

impl<M: Moderation, I: IdleGovernor> Core<M, I> {
    /// A core at rest at time zero.
    pub fn new(vector: Vector<M>, governor: I, service_rng: Rng, queue_limit: usize) -> Self {
        Self {
            vector,
            governor,
            service_rng,
            step: 0,
            free_us: 0.0,
            queue: RequestQueue::new(queue_limit),
            service_end_us: NEVER_US,
            service_arrived_us: 0.0,
            service_bits: 0,
            next_bits: 0,
            next_factor: 1.0,
        }
    }

    /// When the first event is due.
    pub fn first_us(&self) -> f64 {
        self.vector.due_us()
    }

    /// Handles one event at `now_us` and returns when the next is due.
    #[inline(always)]
    pub fn step(&mut self, index: usize, now_us: f64, costs: &Costs, shared: &Shared, outbox: &mut Outbox) -> f64 {
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
