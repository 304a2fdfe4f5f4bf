//! The wait before the interrupt, as the device's moderation makes it, for machines that can't measure it.
//!
//! An interrupt that comes at most once in a delay d makes packets wait until d is over, except for one that comes when
//! d is over already. The same happens to a NAPI whose interrupt is deferred: its timer looks for packets every d
//! (`gro_flush_timeout`), and after r looks in vain (`napi_defer_hard_irqs`) the interrupt is enabled again. See the
//! Linux kernel's Documentation/networking/napi.rst, "Software IRQ coalescing"; rx-usecs is the case r = 1.
//!
//! With Poisson arrivals of rate l, let a cycle end with the packets that one look or one interrupt finds. After k quiet
//! periods of length d the next one finds a packet, for a k < r, with probability 1 - exp(-l d): it finds
//! l d / (1 - exp(-l d)) packets then, each of which has waited a time uniform in (0, d). With probability exp(-r l d)
//! there is none in r periods, and the next packet has its interrupt at once.

use crate::histogram::{Distribution, Histogram, mean_share};

/// How interrupts are held back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moderation {
    /// The longest wait, in us: rx_usecs or gro_flush_timeout.
    pub delay_us: f64,
    /// Quiet delays after which a packet has its interrupt at once: napi_defer_hard_irqs; 1 for rx_usecs.
    pub quiet_delays: u32,
}

impl Moderation {
    /// The share of packets that have their interrupt at once, at a rate of packets of one receive queue.
    pub fn share_at_once(&self, packets_per_s: f64) -> f64 {
        let per_delay = packets_per_s * self.delay_us / 1e6;
        if per_delay == 0.0 {
            return 1.0;
        }
        let quiet = (-per_delay * f64::from(self.quiet_delays)).exp();
        let per_interrupt = -per_delay / (-per_delay).exp_m1();
        quiet / (quiet + (1.0 - quiet) * per_interrupt)
    }
}

/// Latencies of the server with a modelled wait added, which does not depend on them.
#[derive(Debug, Clone)]
pub struct WithWait<'a> {
    server: &'a Histogram,
    delay_us: f64,
    at_once: f64,
}

impl<'a> WithWait<'a> {
    /// Adds the wait that `moderation` causes at a rate of packets of one receive queue.
    pub fn new(server: &'a Histogram, moderation: Moderation, packets_per_s: f64) -> Self {
        Self { server, delay_us: moderation.delay_us, at_once: moderation.share_at_once(packets_per_s) }
    }

    /// The mean of the wait, in us.
    pub fn mean_wait_us(&self) -> f64 {
        (1.0 - self.at_once) * self.delay_us / 2.0
    }
}

impl Distribution for WithWait<'_> {
    fn share_below(&self, x_us: f64) -> f64 {
        if self.delay_us == 0.0 {
            return self.server.share_below(x_us);
        }
        // A bucket is narrow against the delay, so that its middle stands for it.
        let middle = |start: f64, width: f64| ((x_us - start - width / 2.0) / self.delay_us).clamp(0.0, 1.0);
        let waited = mean_share(self.server, middle);
        self.at_once * self.server.share_below(x_us) + (1.0 - self.at_once) * waited
    }

    fn upper_us(&self) -> f64 {
        self.server.upper_us() + self.delay_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{BUCKETS, of_counts};

    /// Waits of packets that arrive as the module's documentation says, by playing it.
    fn played_waits_us(moderation: Moderation, packets_per_s: f64, packets: usize) -> Vec<f64> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut gap_us = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            -(1.0 - (state >> 11) as f64 / (1u64 << 53) as f64).ln() * 1e6 / packets_per_s
        };
        let (mut waits_us, mut time_us, mut looked_us) = (Vec::new(), gap_us(), 0.0);
        while waits_us.len() < packets {
            let quiet_us = time_us - looked_us;
            let delays = (quiet_us / moderation.delay_us).ceil();
            if delays > f64::from(moderation.quiet_delays) {
                waits_us.push(0.0);
                looked_us = time_us;
                time_us += gap_us();
            } else {
                looked_us += delays * moderation.delay_us;
                while time_us <= looked_us {
                    waits_us.push(looked_us - time_us);
                    time_us += gap_us();
                }
            }
        }
        waits_us
    }

    #[test]
    fn the_share_at_once_is_that_of_arrivals_played_one_by_one() {
        for (delay_us, quiet_delays, packets_per_s) in
            [(50.0, 1, 8_000.0), (200.0, 1, 8_000.0), (100.0, 2, 500.0), (20.0, 10, 20_000.0), (500.0, 1, 200.0)]
        {
            let moderation = Moderation { delay_us, quiet_delays };
            let waits_us = played_waits_us(moderation, packets_per_s, 200_000);
            let at_once = waits_us.iter().filter(|&&wait| wait == 0.0).count() as f64 / waits_us.len() as f64;
            let expected = moderation.share_at_once(packets_per_s);
            assert!((at_once - expected).abs() < 0.01, "{moderation:?}: {at_once} {expected}");
        }
    }

    #[test]
    fn the_wait_is_added_to_what_the_server_takes() {
        let mut counts = [0; BUCKETS];
        counts[11 * 32 + 40 - 32] = 1000; // 40.96 us to 41.984 us
        let server = of_counts(&counts);
        let (start, width) = (server.quantile_us(1e-9), server.upper_us() - server.quantile_us(1e-9));
        let busy = WithWait::new(&server, Moderation { delay_us: 100.0, quiet_delays: 1 }, 1e9);
        assert!((busy.quantile_us(0.5) - (start + width / 2.0 + 50.0)).abs() < 1.0);
        assert!((busy.quantile_us(0.99) - (start + width / 2.0 + 99.0)).abs() < 1.0);
        let idle = WithWait::new(&server, Moderation { delay_us: 100.0, quiet_delays: 1 }, 1e-3);
        assert!((idle.quantile_us(0.99) - server.quantile_us(0.99)).abs() < 1.0);
        assert!(idle.mean_wait_us() < 0.01);
    }

    #[test]
    fn no_delay_changes_nothing() {
        let mut counts = [0; BUCKETS];
        counts[300] = 7;
        counts[400] = 3;
        let server = of_counts(&counts);
        let same = WithWait::new(&server, Moderation { delay_us: 0.0, quiet_delays: 1 }, 5_000.0);
        for q in [0.1, 0.5, 0.9] {
            assert_eq!(same.quantile_us(q), server.quantile_us(q));
        }
    }
}
