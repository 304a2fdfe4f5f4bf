//! One receive queue with its interrupt vector: packets, transmit completions, throttle.

use crate::arrivals::ArrivalProcess;
use crate::moderation::{Moderation, PollWork};
use crate::profile::Profile;
use crate::profile::limits::MAX_POLL_BUDGET;
use crate::rng::Rng;
use crate::run::Applied;

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
    /// Number of requests: the first ones of [`Packets`].
    pub requests: usize,
    /// Packets received, acknowledgements included.
    pub received: usize,
    /// Transmissions completed.
    pub completions: u32,
    /// Interval until the next interrupt.
    pub interval_us: f64,
}

/// A receive queue, the transmit completions that share its interrupt, and the throttle.
///
/// Completions are kept as first, last and count: that is all the interrupt timing needs.
#[derive(Clone, Debug)]
pub struct Vector<M> {
    arrivals: ArrivalProcess,
    rng: Rng,
    next_packet_us: f64,
    /// Gap after the next packet and its random bits, drawn ahead so that nothing waits for the
    /// logarithm.
    gap_us: f64,
    bits: u64,
    /// Packets whose low 16 random bits are below this are bare acknowledgements.
    ack_threshold: u64,
    first_completion_us: f64,
    last_completion_us: f64,
    completions: u32,
    /// No interrupt fires before this.
    throttled_until_us: f64,
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
        let arrivals = ArrivalProcess::new(app, mean_gap_us);
        let mut rng = Rng::new(run.seed, 2 * core as u64);
        let next_packet_us = arrivals.gap_from_bits(rng.next_u64());
        let bits = rng.next_u64();
        let gap_us = arrivals.gap_from_bits(bits);
        let interval_us = moderation.interval_us();
        let start_us = profile.machine.nic.phase_spread_share * interval_us * phase;
        let throttled_until_us = (start_us - interval_us) + interval_us;
        Self {
            arrivals,
            rng,
            next_packet_us,
            gap_us,
            bits,
            ack_threshold: (acks / (1.0 + acks) * 65_536.0) as u64,
            first_completion_us: NEVER_US,
            last_completion_us: 0.0,
            completions: 0,
            throttled_until_us,
            budget: profile.os.poll_budget.clamp(1, MAX_POLL_BUDGET),
            request_bytes: [app.request_bytes, app.large_request_bytes],
            large_threshold: (app.large_request_share * 64.0) as u64,
            response_bytes: app.response_bytes,
            moderation,
        }
    }

    /// When the next interrupt fires as things stand.
    #[inline(always)]
    pub fn due_us(&self) -> f64 {
        max(min(self.next_packet_us, self.first_completion_us), self.throttled_until_us)
    }

    /// Handles an interrupt that fired at `fired_us` and is polled at `now_us`: takes all work
    /// that is there by then, up to the budget. Requests go to `packets`, marked with `poll`.
    #[inline(always)]
    pub fn poll(&mut self, fired_us: f64, now_us: f64, packets: &mut Packets, poll: u32) -> Work {
        let (mut requests, mut received, mut large) = (0, 0, 0);
        while self.next_packet_us <= now_us && received < self.budget {
            received += 1;
            // Acknowledgements are written too and then overwritten: cheaper than a branch.
            packets[requests % MAX_POLL_BUDGET] =
                Packet { arrived_us: self.next_packet_us, choice: (self.bits >> 16) as u32, poll };
            let is_request = self.bits & 0xffff >= self.ack_threshold;
            requests += usize::from(is_request);
            large += usize::from(is_request && self.bits >> 26 & 63 < self.large_threshold);
            self.next_packet_us += self.gap_us;
            self.bits = self.rng.next_u64();
            self.gap_us = self.arrivals.gap_from_bits(self.bits);
        }
        let completions = self.take_completions(now_us);
        let acks = (received - requests) as f64;
        self.moderation.observe(PollWork {
            now_us,
            rx_packets: received as u32,
            rx_bytes: (requests - large) as f64 * self.request_bytes[0]
                + large as f64 * self.request_bytes[1]
                + acks * ACK_BYTES,
            tx_packets: completions,
            tx_bytes: f64::from(completions) * self.response_bytes,
        });
        let interval_us = self.moderation.interval_us();
        self.throttled_until_us = fired_us + interval_us;
        Work { requests, received, completions, interval_us }
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
