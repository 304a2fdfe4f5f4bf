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
mod paced;
mod shared_queue;
mod wake_balancer;

use self::core::{Core, Shared};
use self::imbalance::Imbalance;
use self::outbox::Outbox;
use self::paced::{MAX_STRETCH_US, Paced};
use self::shared_queue::SharedQueue;
use self::wake_balancer::WakeBalancer;
use super::queue::Waiting;
use super::server::Server;
use super::sleeper::IdleModel;
use super::tally::Tally;
use super::vector::{NEVER_US, Vector, max, min};
use crate::costs::Costs;
use crate::idle::Chooser;
use crate::moderation::Moderation;
use crate::network::Network;
use crate::profile::{self, Profile};
use crate::rng::Rng;
use crate::run::Applied;
use crate::service::ServiceTimes;
use crate::time::CoreTime;

/// Least stretch, for profiles whose interrupts cost nothing; hand-overs are delayed to its end.
const LEAST_LOOKAHEAD_US: f64 = 0.25;

/// The low bits of [`Packet::choice`](super::vector::Packet::choice) have no other meaning, so they choose the thread
/// first. Those above say how large the request is, and above those are the last bits of the gap to the next.
const FREE_BITS: u32 = 10;

/// Cores that are looked at together: one for each bit of a number.
const GROUP: usize = u64::BITS as usize;

/// How long the cores' load is averaged before the imbalance reckons with it.
const LOOK_US: f64 = 20_000.0;

/// Cores that steer requests to each other; `PACED` by a frequency policy that acts at events.
pub struct Steered<M, I, const PACED: bool> {
    cores: Vec<Core<M, I>>,
    /// When the next event of each core is due.
    next_us: Vec<f64>,
    costs: Vec<Costs>,
    /// Length of a stretch; zero when it has to be computed anew.
    lookahead_us: f64,
    imbalance: Imbalance,
    /// Part of the cores' time that was busy when it was last taken.
    utilization: f64,
    /// What was taken of it since, and when that was.
    taken_busy_us: f64,
    taken_us: f64,
    shared: Shared,
    outbox: Outbox,
    /// Where requests wait when threads do not have queues of their own.
    shared_queue: Option<SharedQueue>,
    wake_balancer: Option<WakeBalancer>,
    tally: Tally,
    paced: Option<Paced>,
}

impl<M: Moderation, I: Chooser, const PACED: bool> Steered<M, I, PACED> {
    /// Cores at rest at time zero.
    pub fn new(profile: &Profile, run: &Applied, parts: Vec<(Vector<M>, I)>) -> Self {
        let app = &profile.app;
        let queue_limit = if app.shared_queue { 1 } else { app.queue_limit };
        let cores: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(core, (vector, chooser))| {
                let service_rng = Rng::new(run.seed, 2 * core as u64 + 1);
                Core::new(vector, chooser, service_rng, queue_limit)
            })
            .collect();
        let shared = Shared {
            idle: IdleModel::new(profile, run),
            network: Network::new(profile, run),
            service: ServiceTimes::new(app),
            steer_us: profile.os.steer_us,
        };
        Self {
            paced: PACED.then(|| Paced::new(profile, &shared)),
            shared_queue: app.shared_queue.then(|| SharedQueue::new(app.queue_limit * cores.len())),
            wake_balancer: match profile.os.wake_balancer {
                profile::WakeBalancer::None => None,
                profile::WakeBalancer::Yawn => Some(WakeBalancer::new(cores.len())),
            },
            next_us: cores.iter().map(Core::first_us).collect(),
            tally: Tally::default(),
            cores,
            costs: Costs::table(profile, 0.0),
            lookahead_us: 0.0,
            imbalance: Imbalance::new(profile, run),
            utilization: 0.0,
            taken_busy_us: 0.0,
            taken_us: 0.0,
            shared,
            outbox: Outbox::new(),
        }
    }

    /// Recomputes what depends on the frequencies of all cores: the lookahead and how evenly the
    /// scheduler spreads the application threads.
    fn adapt(&mut self) {
        if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
            let fastest = &self.costs[self.costs.len() - 1];
            let service_us = paced.learn(self.tally.completed).unwrap_or(fastest.service_us[1]);
            self.lookahead_us = MAX_STRETCH_US.min(fastest.interrupt_us + fastest.packets_us[1] + self.shared.steer_us);
            self.lookahead_us = max(self.lookahead_us, LEAST_LOOKAHEAD_US);
            self.imbalance.adapt(self.utilization, service_us);
            if self.shared_queue.is_none() {
                paced.renew(&self.cores);
            }
            return;
        }
        let costs = |core: &Core<M, I>| &self.costs[core.step()];
        let handover_us = |c: &Costs| c.interrupt_us + c.packets_us[1] + self.shared.steer_us;
        let least_us = self.cores.iter().map(|core| handover_us(costs(core))).fold(NEVER_US, min);
        self.lookahead_us = max(least_us, LEAST_LOOKAHEAD_US);
        let service_us: f64 = self.cores.iter().map(|core| costs(core).service_us[1]).sum();
        self.imbalance.adapt(self.utilization, service_us / self.cores.len() as f64);
    }

    /// Simulates the events of a core before `end_us`.
    #[inline(always)]
    fn advance_core(&mut self, index: usize, end_us: f64) {
        let core = &mut self.cores[index];
        let costs = &self.costs[core.step()];
        let mut now_us = self.next_us[index];
        let packets = self.tally.packets;
        while now_us < end_us {
            now_us = core.handle(now_us, costs, &self.shared, &mut self.outbox, &mut self.tally);
        }
        self.next_us[index] = now_us;
        if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
            paced.look(index, core, self.tally.packets - packets, end_us, &self.costs, &self.shared);
        }
    }

    /// Hands over what the cores sent during the stretch that ends at `end_us`.
    #[inline(always)]
    fn deliver(&mut self, end_us: f64) {
        let is_renewed = self.imbalance.look(end_us) && PACED && self.shared_queue.is_none();
        if let Some(paced) = self.paced.as_mut().filter(|_| is_renewed) {
            paced.renew(&self.cores);
        }
        for (packet, ready_us) in self.outbox.requests() {
            let mut target = self.imbalance.thread(packet.choice.rotate_right(FREE_BITS));
            if let Some(balancer) = &mut self.wake_balancer {
                let service_us = self.costs[self.cores[target].step()].service_us[1];
                target = balancer.place(end_us, target, service_us, |core| self.cores[core].backlog());
            }
            let request = Waiting { ready_us: max(ready_us, end_us), arrived_us: packet.arrived_us };
            if let Some(queue) = &mut self.shared_queue {
                self.tally.dropped += u64::from(!queue.push(request, target));
                continue;
            }
            match self.cores[target].accept(request) {
                Some(next_us) => self.next_us[target] = min(self.next_us[target], next_us),
                None => self.tally.dropped += 1,
            }
            if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
                paced.handed_over(target, &packet);
                paced.look(target, &self.cores[target], 0, end_us, &self.costs, &self.shared);
            }
        }
        self.outbox.clear();
        if let Some(queue) = &mut self.shared_queue {
            queue.wake_idle(&mut self.cores, |target, core, next_us| {
                self.next_us[target] = min(self.next_us[target], next_us);
                if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
                    paced.look(target, core, 0, end_us, &self.costs, &self.shared);
                }
            });
        }
    }

    /// Changes the clocks that are due at `now_us`, to which all cores were simulated.
    fn change_clocks(&mut self, now_us: f64) {
        let Some(paced) = &mut self.paced else { return };
        while let Some((cores, step)) = paced.change(now_us) {
            for index in cores {
                let core = &mut self.cores[index];
                let costs = &self.costs[core.step()];
                paced.spend(index, core.step(), &core.take_time(now_us, costs, &self.shared.idle), costs);
                self.next_us[index] = core.set_step(step, now_us, &self.costs);
            }
        }
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

/// Which of at most [`GROUP`] times are before `end_us`: a bit for each, the first one the lowest.
///
/// Whether one is, is hard to predict, so there are no branches.
#[inline(always)]
fn due(times_us: &[f64], end_us: f64) -> u64 {
    times_us.iter().rev().fold(0, |bits, &us| bits << 1 | u64::from(us < end_us))
}

impl<M: Moderation, I: Chooser, const PACED: bool> Server for Steered<M, I, PACED> {
    #[inline(never)] // or its caller's variables would take registers from it where all crates are optimized together
    fn advance(&mut self, until_us: f64) {
        if PACED || self.lookahead_us == 0.0 {
            self.adapt();
        }
        loop {
            let first_us = least(&self.next_us);
            let mut end_us = min(first_us + self.lookahead_us, until_us);
            if let Some(paced) = self.paced.as_ref().filter(|_| PACED) {
                let clock_us = paced.due_us();
                if clock_us <= min(first_us, until_us) {
                    self.change_clocks(clock_us);
                    continue;
                }
                end_us = min(end_us, clock_us);
            }
            if first_us >= until_us {
                break;
            }
            if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
                paced.look_ahead(end_us, |packet| self.imbalance.thread(packet.choice.rotate_right(FREE_BITS)));
            }
            if let Some(queue) = &mut self.shared_queue {
                queue.go_on(&mut self.cores, end_us);
            }
            for first in (0..self.cores.len()).step_by(GROUP) {
                let group = first..self.cores.len().min(first + GROUP);
                let mut active = due(&self.next_us[group], end_us);
                while active != 0 {
                    self.advance_core(first + active.trailing_zeros() as usize, end_us);
                    active &= active - 1;
                }
            }
            self.deliver(end_us);
        }
        if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
            paced.adjust(until_us, &mut self.tally.latency);
        }
    }

    fn set_step(&mut self, core: usize, step: usize, now_us: f64) {
        if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
            return paced.govern(core, step, now_us);
        }
        self.next_us[core] = self.cores[core].set_step(step, now_us, &self.costs);
        self.lookahead_us = 0.0; // adapt before the next event
    }

    fn set_costs(&mut self, costs: Vec<Costs>) {
        self.costs = costs;
        self.lookahead_us = 0.0;
    }

    fn tally(&mut self) -> &mut Tally {
        if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
            paced.merge_latencies(&mut self.tally.latency);
        }
        &mut self.tally
    }

    fn take_time(&mut self, index: usize, until_us: f64, mut count: impl FnMut(usize, &CoreTime)) {
        let cores = self.cores.len();
        let core = &mut self.cores[index];
        let costs = &self.costs[core.step()];
        let time = core.take_time(until_us, costs, &self.shared.idle);
        self.taken_busy_us += time.busy_us;
        if index + 1 == cores && until_us >= self.taken_us + LOOK_US {
            self.utilization = std::mem::take(&mut self.taken_busy_us) / ((until_us - self.taken_us) * cores as f64);
            self.taken_us = until_us;
            self.lookahead_us = 0.0; // adapt before the next event
        }
        if let Some(paced) = self.paced.as_mut().filter(|_| PACED) {
            paced.spend(index, core.step(), &time, costs);
            return paced.take_time(index, count);
        }
        count(core.step(), &time);
    }
}

#[cfg(test)]
mod tests {
    use super::super::vector::Packet;
    use super::*;
    use crate::balance::Draw;
    use crate::knob::Knob;
    use crate::moderation::Fixed;
    use crate::profile::limits::MAX_POLL_BUDGET;
    use crate::run::{Length, Load, Run};
    use crate::setting::Setting;

    #[test]
    fn where_a_request_goes_has_nothing_to_do_with_when_the_next_one_comes() {
        const CORES: usize = 7;
        let text = include_str!("../../../../../python/bayop/twin/profiles/linux_memcached.toml");
        let mut profile = Profile::parse(text, "linux_memcached.toml").unwrap();
        (profile.app.ack_share, profile.app.ack_timeout_us) = (0.0, 1e7);
        let setting = Setting::default().with(Knob::RxUsecs, 2.0).with(Knob::FreqMhz, 2900.0);
        let load = Load::Qps(1e6);
        let run = Run { setting, load, length: Length::Requests(1), warmup_s: None, seed: 5 }.apply(&profile).unwrap();
        let mut vector = Vector::new(&profile, &run, Fixed(0.0), 0, 1.0, 0.0);
        let (draw, mut packets) = (Draw::new(&[1.0; CORES]), [Packet::default(); MAX_POLL_BUDGET]);
        let mut counts = [[0_u32; 8]; CORES];
        let mut last: Option<Packet> = None;
        for _ in 0..200_000 {
            let now_us = vector.due_us();
            vector.poll(now_us, now_us, &mut packets, 0);
            if let Some(last) = last.replace(packets[0]) {
                let gap_us = packets[0].arrived_us - last.arrived_us;
                let eighth = (8.0 * (-gap_us).exp()) as usize % 8; // gaps have a mean of 1 us
                counts[draw.core(last.choice.rotate_right(FREE_BITS))][eighth] += 1;
            }
        }
        let expected = 200_000.0 / (8.0 * CORES as f64);
        let chi_squared: f64 = counts.iter().flatten().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 55 degrees of freedom: the mean and five standard deviations.
        assert!(chi_squared < 55.0 + 5.0 * 110_f64.sqrt(), "{chi_squared}: {counts:?}");
    }
}
