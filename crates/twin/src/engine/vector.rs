//! One receive queue with its interrupt vector: packets, transmit completions, throttle.

use crate::arrivals::{ArrivalProcess, Upcoming};
use crate::moderation::{Moderation, PollWork};
use crate::profile::Profile;
use crate::profile::limits::MAX_POLL_BUDGET;
use crate::rng::Rng;
use crate::run::{Applied, Deferral};

/// Time of something that will not happen.
pub const NEVER_US: f64 = 1e30;
/// Bytes of a bare TCP acknowledgement as the driver counts it.
const ACK_BYTES: f64 = 66.0;

/// A request as found by a poll.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// When the packet reached the card.
    pub arrived_us: f64,
    /// Random bits for whoever steers it.
    pub choice: u32,
    /// Which poll found it, as told to [`Vector::poll`].
    pub poll: u32,
}

/// Where a poll leaves the requests that it finds.
pub type Packets = [Packet; MAX_POLL_BUDGET];

/// What one poll found.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Whether an interrupt began it, not a timer or a poll before it that used up its budget.
    pub interrupted: bool,
    /// Whether it goes on from a poll that used up its budget.
    pub continued: bool,
    /// Number of requests: the first ones of [`Packets`].
    pub requests: usize,
    /// Packets received, acknowledgements included.
    pub received: usize,
    /// Transmissions completed.
    pub completions: u32,
    /// Interval until the next interrupt.
    pub interval_us: f64,
}

/// Where NAPI's deferral of interrupts stands.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    rule: Deferral,
    /// Empty polls left before the interrupt is switched on.
    polls_left: u32,
    /// Until when the card's own throttle holds back the next interrupt.
    throttled_until_us: f64,
}

/// A receive queue, the transmit completions that share its interrupt, and the throttle.
///
/// Completions are kept as first, last and count: that is all the interrupt timing needs.
#[derive(Clone, Debug)]
pub struct Vector<M> {
    upcoming: Upcoming,
    /// Packets whose low 16 random bits are below this are bare acknowledgements.
    ack_threshold: u64,
    first_completion_us: f64,
    last_completion_us: f64,
    completions: u32,
    /// No interrupt fires before this.
    throttled_until_us: f64,
    /// When the interrupt fired whose polls are not over, because the last one used up its budget.
    polling_since_us: Option<f64>,
    /// Whether a timer is armed to poll next, while the interrupt is off.
    timer_armed: bool,
    /// NAPI's deferral, if it is on.
    deferred: Option<Deferred>,
    /// Waiting packets that fire the interrupt whatever the throttle.
    rx_frames: Option<usize>,
    budget: usize,
    request_bytes: [f64; 2],
    large_threshold: u64,
    response_bytes: f64,
    moderation: M,
}

impl<M: Moderation> Vector<M> {
    /// The vector of `core`, which gets `share` of all packets and first fires at `phase` (0 to
    /// 1) of the spread.
    pub fn new(profile: &Profile, run: &Applied, moderation: M, core: usize, share: f64, phase: f64) -> Self {
        let app = &profile.app;
        let acks = acks_per_request(profile, run);
        let mean_gap_us = 1e6 / (run.qps * share * (1.0 + acks));
        let rng = Rng::new(run.seed, 2 * core as u64);
        let interval_us = moderation.interval_us();
        let start_us = profile.machine.nic.phase_spread_share * interval_us * phase;
        let throttled_until_us = (start_us - interval_us) + interval_us;
        let mut vector = Self {
            upcoming: Upcoming::new(ArrivalProcess::new(app, mean_gap_us), rng),
            ack_threshold: (acks / (1.0 + acks) * 65_536.0) as u64,
            first_completion_us: NEVER_US,
            last_completion_us: 0.0,
            completions: 0,
            throttled_until_us,
            polling_since_us: None,
            timer_armed: false,
            deferred: run.deferral.map(|rule| Deferred { rule, polls_left: 0, throttled_until_us }),
            rx_frames: run.rx_frames,
            budget: profile.os.poll_budget.clamp(1, MAX_POLL_BUDGET),
            request_bytes: [app.request_bytes, app.large_request_bytes],
            large_threshold: (app.large_request_share * 64.0) as u64,
            response_bytes: app.response_bytes,
            moderation,
        };
        if let Some(frames) = vector.rx_frames {
            vector.fire_at_frame(frames);
        }
        vector
    }

    /// When the next interrupt fires, or the next poll is due, as things stand.
    #[inline(always)]
    pub fn due_us(&self) -> f64 {
        max(min(self.upcoming.arrived_us(), self.first_completion_us), self.throttled_until_us)
    }

    /// Handles an interrupt that fired at `fired_us` and is polled at `now_us`: takes all work
    /// that is there by then, up to the budget. Requests go to `packets`, marked with `poll`.
    ///
    /// Who has used up its budget is polled again as soon as the core is free, without another interrupt (NAPI,
    /// Documentation/networking/napi.rst). The interval was set when the interrupt fired. What moderation chooses now
    /// holds from the next one on: at the end of a poll the driver writes the interval and leaves the counter under way
    /// alone (`ixgbe_write_eitr`, EITR.CNT_WDIS).
    #[inline(always)]
    pub fn poll(&mut self, fired_us: f64, now_us: f64, packets: &mut Packets, poll: u32) -> Work {
        let (mut requests, mut received, mut large) = (0, 0, 0);
        while self.upcoming.arrived_us() <= now_us && received < self.budget {
            received += 1;
            let bits = self.upcoming.bits();
            // Acknowledgements are written too and then overwritten: cheaper than a branch.
            packets[requests % MAX_POLL_BUDGET] =
                Packet { arrived_us: self.upcoming.arrived_us(), choice: (bits >> 16) as u32, poll };
            let is_request = bits & 0xffff >= self.ack_threshold;
            requests += usize::from(is_request);
            large += usize::from(is_request && bits >> 26 & 63 < self.large_threshold);
            self.upcoming.advance();
        }
        let completions = self.take_completions(now_us);
        let acks = (received - requests) as f64;
        let interval_us = self.moderation.interval_us();
        self.moderation.observe(PollWork {
            now_us,
            rx_packets: received as u32,
            rx_bytes: (requests - large) as f64 * self.request_bytes[0]
                + large as f64 * self.request_bytes[1]
                + acks * ACK_BYTES,
            tx_packets: completions,
            tx_bytes: f64::from(completions) * self.response_bytes,
        });
        let continued = self.polling_since_us.is_some();
        let interrupted = !continued && !self.timer_armed;
        let fired_us = self.polling_since_us.take().unwrap_or(fired_us);
        self.throttled_until_us = fired_us + interval_us;
        if received == self.budget && self.upcoming.arrived_us() <= now_us {
            self.polling_since_us = Some(fired_us);
            self.throttled_until_us = now_us;
        } else if self.deferred.is_some() || self.rx_frames.is_some() {
            self.end_polls(now_us, received);
        }
        Work { interrupted, continued, requests, received, completions, interval_us }
    }

    /// After the last poll that an interrupt or a timer began: arms what `napi.*` and `nic.rx_frames` ask for.
    ///
    /// A poll that found packets starts the count of empty polls anew; while any are left a timer polls next and the
    /// interrupt stays off (Documentation/networking/napi.rst, "Software IRQ coalescing").
    #[cold]
    fn end_polls(&mut self, now_us: f64, received: usize) {
        if let Some(deferred) = &mut self.deferred {
            if !self.timer_armed {
                deferred.throttled_until_us = self.throttled_until_us;
            }
            if received > 0 {
                deferred.polls_left = deferred.rule.empty_polls;
            }
            self.timer_armed = deferred.polls_left > 0;
            if self.timer_armed {
                deferred.polls_left -= 1;
                let timer_us = now_us + deferred.rule.timeout_us;
                // It polls whether or not anything has come: as if a completion were due then, of nothing.
                self.first_completion_us = min(self.first_completion_us, timer_us);
                self.throttled_until_us = timer_us;
                return;
            }
            self.throttled_until_us = deferred.throttled_until_us;
        }
        if let Some(frames) = self.rx_frames {
            self.fire_at_frame(frames);
        }
    }

    /// Ends the throttle when as many packets wait, if that is before its time.
    fn fire_at_frame(&mut self, frames: usize) {
        let mut upcoming = self.upcoming.clone();
        for _ in 1..frames {
            if upcoming.arrived_us() >= self.throttled_until_us {
                return;
            }
            upcoming.advance();
        }
        self.throttled_until_us = min(self.throttled_until_us, upcoming.arrived_us());
    }

    /// The requests that no poll has found yet, whenever they arrive.
    pub fn future(&self) -> impl Iterator<Item = Packet> + use<M> {
        let (mut upcoming, ack_threshold) = (self.upcoming.clone(), self.ack_threshold);
        let packets = std::iter::repeat_with(move || {
            let (arrived_us, bits) = (upcoming.arrived_us(), upcoming.bits());
            upcoming.advance();
            (bits & 0xffff >= ack_threshold).then_some(Packet { arrived_us, choice: (bits >> 16) as u32, poll: 0 })
        });
        packets.flatten()
    }

    #[inline(always)]
    fn take_completions(&mut self, now_us: f64) -> u32 {
        if self.first_completion_us > now_us {
            return 0;
        }
        if self.last_completion_us > now_us && self.completions > 0 {
            let count = self.completions - 1;
            self.first_completion_us = self.last_completion_us;
            self.completions = 1;
            return count;
        }
        self.first_completion_us = NEVER_US;
        std::mem::take(&mut self.completions)
    }

    /// Announces `count` transmissions that complete at `at_us`.
    #[inline(always)]
    pub fn transmit(&mut self, at_us: f64, count: u32) {
        // A comparison of floats, because that needs no branch.
        self.first_completion_us = if self.first_completion_us < NEVER_US { self.first_completion_us } else { at_us };
        self.completions += count;
        self.last_completion_us = at_us;
    }
}

/// Bare acknowledgements that clients send per request.
///
/// A client acknowledges by itself when its connection has nothing to send for a while, which
/// at Poisson arrivals has probability `exp(-timeout * rate per connection)`.
fn acks_per_request(profile: &Profile, run: &Applied) -> f64 {
    let app = &profile.app;
    let per_connection_us = run.qps * 1e-6 / app.connections as f64;
    let rx_usecs = run.rx_usecs.unwrap_or(profile.os.default_rx_usecs);
    app.ack_share + (-app.ack_timeout_us * per_connection_us).exp() / (1.0 + rx_usecs / app.ack_rx_usecs)
}

#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
