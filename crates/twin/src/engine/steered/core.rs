//! One core of a steered server: interrupts, its application thread, idling.

use super::outbox::Outbox;
use crate::costs::Costs;
use crate::engine::queue::{RequestQueue, Waiting};
use crate::engine::sleeper::{IdleModel, Sleeper, WakeUp};
use crate::engine::tally::Tally;
use crate::engine::vector::{NEVER_US, Vector, max, min};
use crate::idle::{Chooser, IdlePeriod};
use crate::moderation::Moderation;
use crate::network::Network;
use crate::rng::Rng;
use crate::service::ServiceTimes;
use crate::time::CoreTime;

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

/// What is known of a request in service.
#[derive(Clone, Copy)]
pub struct InService {
    /// When its packet arrived.
    pub arrived_us: f64,
    /// How much of it is done, in mean service times.
    pub done: f64,
    /// How much is left.
    pub left: f64,
}

/// One core: its interrupt vector, its application thread, and its idle periods.
pub struct Core<M, I> {
    vector: Vector<M>,
    sleeper: Sleeper<I>,
    service_rng: Rng,
    /// P-state.
    step: usize,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
    /// From when on the thread can be woken; [`NEVER_US`] while it serves a request.
    available_us: f64,
    /// Requests waiting for the thread.
    queue: RequestQueue,
    /// When the request in service completes; [`NEVER_US`] when there is none.
    service_end_us: f64,
    /// How many requests waited when it began, it included.
    service_waiting: usize,
    /// When the packet of the request in service arrived.
    service_arrived_us: f64,
    /// Random bits of the request in service.
    service_bits: u64,
    /// Those of the next request, and its service time relative to the mean.
    next_bits: u64,
    next_factor: f64,
}

impl<M: Moderation, I: Chooser> Core<M, I> {
    /// A core at rest at time zero.
    pub fn new(vector: Vector<M>, chooser: I, service_rng: Rng, queue_limit: usize) -> Self {
        Self {
            vector,
            sleeper: Sleeper::new(chooser),
            service_rng,
            step: 0,
            free_us: 0.0,
            available_us: 0.0,
            queue: RequestQueue::new(queue_limit),
            service_end_us: NEVER_US,
            service_waiting: 0,
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

    /// Whether the thread ends a service before `us`, and nothing waits for it then.
    #[inline(always)]
    pub fn ends_before(&self, us: f64) -> bool {
        self.service_end_us < us && self.queue.len() == 0
    }

    /// The request in service, if any.
    pub fn in_service(&self, now_us: f64, costs: &Costs, service: &ServiceTimes) -> Option<InService> {
        (self.service_end_us < NEVER_US).then(|| {
            let left_us = self.service_end_us - max(now_us, self.free_us);
            let left = left_us / costs.service_us[self.service_waiting];
            let done = max(service.factor(self.service_bits) - left, 0.0);
            InService { arrived_us: self.service_arrived_us, done, left }
        })
    }

    /// When the packet of every waiting request arrived, in the order of service.
    pub fn waiting(&self) -> impl Iterator<Item = f64> {
        self.queue.iter().map(|request| request.arrived_us)
    }

    /// The demands of the requests that will be served next, in mean service times: what no kernel knows.
    pub fn demands(&self, service: &ServiceTimes) -> impl Iterator<Item = f64> {
        let mut rng = self.service_rng.clone();
        let later = std::iter::repeat_with(move || service.factor(rng.next_u64()));
        std::iter::once(self.next_factor).chain(later)
    }

    /// Its receive queue.
    pub fn vector(&self) -> &Vector<M> {
        &self.vector
    }

    /// P-state.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Goes on at P-state `step` from `now_us` on: a request in service has as much work left as before. Returns when
    /// the next event is due.
    pub fn set_step(&mut self, step: usize, now_us: f64, costs: &[Costs]) -> f64 {
        let [old_us, new_us] = [self.step, step].map(|step| costs[step].service_us[self.service_waiting]);
        self.step = step;
        if self.service_end_us < NEVER_US && old_us > 0.0 {
            let left_us = self.service_end_us - max(now_us, self.free_us);
            let longer_us = left_us * (new_us / old_us - 1.0);
            self.service_end_us += longer_us;
            self.sleeper.busy(longer_us);
        }
        self.due_us()
    }

    /// Where the time went from when it was last taken until `until_us`.
    pub fn take_time(&mut self, until_us: f64, costs: &Costs, idle: &IdleModel) -> CoreTime {
        let free_us = if self.service_end_us < NEVER_US { self.service_end_us } else { self.free_us };
        self.sleeper.take_time(idle, costs, free_us, self.due_us(), until_us)
    }

    /// When the next event is due as things stand.
    #[inline(always)]
    fn due_us(&self) -> f64 {
        let work_us = min(self.service_end_us, max(self.queue.ready_us(), self.available_us));
        max(min(self.vector.due_us(), work_us), self.free_us)
    }

    /// Handles one event at `now_us` and returns when the next is due.
    #[inline(always)]
    pub fn handle(
        &mut self,
        now_us: f64,
        costs: &Costs,
        shared: &Shared,
        outbox: &mut Outbox,
        tally: &mut Tally,
    ) -> f64 {
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
            let mut wake = WakeUp::default();
            if wanted_us > self.free_us {
                let period = IdlePeriod { start_us: self.free_us, length_us: wanted_us - self.free_us };
                wake = self.sleeper.sleep(&shared.idle, period, costs);
                start_us = wanted_us + wake.exit_us;
            }
            if fired_us <= start_us {
                let took_us = self.interrupt(fired_us, start_us, wake.cold_us, costs, shared, outbox, tally);
                self.free_us = start_us + took_us;
                self.available_us = self.free_us;
                if self.queue.ready_us() <= self.free_us {
                    tally.thread_wakes += 1;
                    self.serve(costs.thread_wake_us, costs, shared);
                }
            } else {
                self.free_us = start_us;
                tally.thread_wakes += 1;
                self.serve(wake.cold_us + costs.thread_wake_us, costs, shared);
            }
        }
        self.due_us()
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
            self.sleeper.arrival(start_us);
        }
        let interrupt_us = if work.continued { 0.0 } else { costs.interrupt_us };
        let took_us =
            interrupt_us + cold_us + costs.packets_us[work.received] + f64::from(work.completions) * costs.tx_clean_us;
        outbox.send(work.requests, start_us + took_us + shared.steer_us);
        tally.interrupts += u64::from(work.interrupted);
        tally.interval_us += if work.interrupted { work.interval_us } else { 0.0 };
        tally.packets += work.received as u64;
        self.sleeper.busy(took_us);
        took_us
    }

    /// Starts serving the front of the queue, which must not be empty, after `extra_us` of
    /// overhead.
    #[inline(always)]
    fn serve(&mut self, extra_us: f64, costs: &Costs, shared: &Shared) {
        self.service_waiting = self.queue.len();
        let request = self.queue.pop();
        let took_us = extra_us + costs.service_us[self.service_waiting] * self.next_factor;
        self.service_bits = self.next_bits;
        self.draw_ahead(shared);
        self.service_arrived_us = request.arrived_us;
        self.service_end_us = self.free_us + took_us;
        self.available_us = NEVER_US;
        self.sleeper.busy(took_us);
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
        self.sleeper.busy(costs.after_response_us);
    }
}
