//! One core of a steered server: interrupts, its application thread, idling.

use super::outbox::Outbox;
use crate::costs::Costs;
use crate::engine::queue::{RequestQueue, Waiting};
use crate::engine::sleeper::{IdleModel, WakeUp};
use crate::engine::tally::{CoreTally, Tally};
use crate::engine::vector::{NEVER_US, Vector, max, min};
use crate::idle::{Chooser, IdlePeriod};
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
}

/// One core: its interrupt vector, its application thread, and who chooses its idle states.
pub struct Core<M, I> {
    vector: Vector<M>,
    chooser: I,
    service_rng: Rng,
    /// P-state.
    pub step: usize,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
    /// From when on the thread can be woken; [`NEVER_US`] while it serves a request.
    available_us: f64,
    /// Requests waiting for the thread.
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
    /// Where the core's time went.
    pub tally: CoreTally,
}

impl<M: Moderation, I: Chooser> Core<M, I> {
    /// A core at rest at time zero.
    pub fn new(vector: Vector<M>, chooser: I, service_rng: Rng, queue_limit: usize) -> Self {
        Self {
            vector,
            chooser,
            service_rng,
            step: 0,
            free_us: 0.0,
            available_us: 0.0,
            queue: RequestQueue::new(queue_limit),
            service_end_us: NEVER_US,
            service_arrived_us: 0.0,
            service_bits: 0,
            next_bits: 0,
            next_factor: 1.0,
            tally: CoreTally::default(),
        }
    }

    /// When the first event is due.
    pub fn first_us(&self) -> f64 {
        self.vector.due_us()
    }

    /// Takes a request from another core. Returns from when on it can be served as things stand;
    /// `None` when the queue is full.
    #[inline(always)]
    pub fn accept(&mut self, request: Waiting) -> Option<f64> {
        self.queue.insert(request).then(|| max(request.ready_us, self.available_us))
    }

    /// Requests of this thread: waiting and in service.
    #[inline(always)]
    pub fn backlog(&self) -> usize {
        self.queue.len() + usize::from(self.service_end_us < NEVER_US)
    }

    /// Handles one event at `now_us` and returns when the next is due.
    #[inline(always)]
    pub fn step(&mut self, now_us: f64, costs: &Costs, shared: &Shared, outbox: &mut Outbox, tally: &mut Tally) -> f64 {
        let fired_us = self.vector.due_us();
        if self.service_end_us < NEVER_US {
            if now_us < self.service_end_us {
                // An interrupt preempts the thread.
                let took_us = self.interrupt(fired_us, now_us, 0.0, costs, shared, outbox, tally);
                self.free_us = now_us + took_us;
                self.service_end_us += took_us;
            } else {
                self.respond(costs, shared, tally);
                if self.queue.ready_us() <= self.free_us {
                    self.serve(0.0, costs, shared);
                }
            }
        } else {
            let ready_us = self.queue.ready_us();
            let wanted_us = min(fired_us, ready_us);
            let mut start_us = now_us;
            let mut wake = WakeUp { exit_us: 0.0, cold_us: 0.0 };
            if wanted_us > self.free_us {
                let period = IdlePeriod { start_us: self.free_us, length_us: wanted_us - self.free_us };
                wake = shared.idle.sleep(&mut self.chooser, period, costs, tally, &mut self.tally);
                start_us = wanted_us + wake.exit_us;
            }
            if fired_us <= start_us {
                let took_us = self.interrupt(fired_us, start_us, wake.cold_us, costs, shared, outbox, tally);
                self.free_us = start_us + took_us;
                self.available_us = self.free_us;
                let soon_us = self.free_us + shared.steer_us;
                if self.queue.ready_us() <= soon_us {
                    tally.thread_wakes += 1;
                    self.serve(costs.thread_wake_us, costs, shared);
                }
            } else {
                self.free_us = start_us;
                tally.thread_wakes += 1;
                self.serve(wake.cold_us + costs.thread_wake_us, costs, shared);
            }
        }
        let work_us = min(self.service_end_us, max(self.queue.ready_us(), self.available_us));
        max(min(self.vector.due_us(), work_us), self.free_us)
    }

    /// Takes an interrupt: polls the vector, steers the requests. Returns how long it took.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn interrupt(
        &mut self,
        fired_us: f64,
        start_us: f64,
        cold_us: f64,
        costs: &Costs,
        shared: &Shared,
        outbox: &mut Outbox,
        tally: &mut Tally,
    ) -> f64 {
        let (packets, poll) = outbox.room();
        let work = self.vector.poll(fired_us, start_us, packets, poll);
        if work.received > 0 {
            self.chooser.arrival(start_us);
        }
        let took_us = costs.interrupt_us
            + cold_us
            + costs.packets_us[work.received]
            + f64::from(work.completions) * costs.tx_clean_us;
        outbox.send(work.requests, start_us + took_us + shared.steer_us);
        tally.interrupts += 1;
        tally.interval_us += work.interval_us;
        tally.packets += work.received as u64;
        self.tally.busy(took_us);
        took_us
    }

    /// Starts serving the front of the queue, which must not be empty, after `extra_us` of
    /// overhead.
    #[inline(always)]
    fn serve(&mut self, extra_us: f64, costs: &Costs, shared: &Shared) {
        let waiting = self.queue.len();
        let request = self.queue.pop();
        let took_us = extra_us + costs.service_us[waiting] * self.next_factor;
        self.service_bits = self.next_bits;
        self.draw_ahead(shared);
        self.service_arrived_us = request.arrived_us;
        self.service_end_us = self.free_us + took_us;
        self.available_us = NEVER_US;
        self.tally.busy(took_us);
    }

    /// Draws the randomness of the next request ahead, so that nothing waits for the table.
    #[inline(always)]
    fn draw_ahead(&mut self, shared: &Shared) {
        self.next_bits = self.service_rng.next_u64();
        self.next_factor = shared.service.factor(self.next_bits);
    }

    /// Ends the service: the response leaves, the client sees its latency.
    #[inline(always)]
    fn respond(&mut self, costs: &Costs, shared: &Shared, tally: &mut Tally) {
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
        self.available_us = self.free_us;
        self.tally.busy(costs.after_response_us);
    }
}
