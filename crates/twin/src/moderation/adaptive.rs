//! The adaptive moderation of Linux's ixgbe driver, kernels 4.15 and later.
//!
//! Follows `ixgbe_update_itr` and `ixgbe_set_itr` in
//! `drivers/net/ethernet/intel/ixgbe/ixgbe_main.c`: after every poll each direction proposes an
//! interval, and the smaller proposal wins. Few packets mean that latency matters: the interval
//! then depends on the mean packet size alone. More packets mean bulk: the interval creeps up
//! until a poll handles 48 to 96 packets. The two modes are told apart by a flag in the upper
//! bit of the proposal, so a bulk proposal always undercuts a latency proposal.

use super::{Moderation, PollWork};

const MIN_STEP_US: u32 = 2;
const MIN_US: u32 = 10;
const MAX_US: u32 = 126;
/// `IXGBE_20K_ITR`, until the first poll.
const START_US: u32 = 50;
const LATENCY_FLAG: u32 = 0x80;
/// A direction that was silent for longer keeps its proposal (one jiffy in the driver).
const STALE_US: f64 = 4000.0;

/// State of one vector.
#[derive(Clone, Debug)]
pub struct AdaptiveIxgbe {
    /// Interval in nominal microseconds.
    interval: u32,
    tick_factor: f64,
    rx: Direction,
    tx: Direction,
}

/// One direction's proposal; the driver's ring container.
#[derive(Clone, Copy, Debug)]
struct Direction {
    proposal: u32,
    updated_us: f64,
}

impl AdaptiveIxgbe {
    /// A vector as the driver initialises it.
    pub fn new(tick_factor: f64) -> Self {
        let start = Direction { proposal: MAX_US | LATENCY_FLAG, updated_us: 0.0 };
        Self { interval: START_US, tick_factor, rx: start, tx: start }
    }
}

impl Moderation for AdaptiveIxgbe {
    #[inline(always)]
    fn interval_us(&self) -> f64 {
        f64::from(self.interval) * self.tick_factor
    }

    fn observe(&mut self, work: PollWork) {
        self.tx.update(self.interval, work.now_us, work.tx_packets, work.tx_bytes);
        self.rx.update(self.interval, work.now_us, work.rx_packets, work.rx_bytes);
        let proposal = self.rx.proposal.min(self.tx.proposal) & !LATENCY_FLAG;
        self.interval = proposal & !1; // the register counts ticks of two nominal microseconds
    }
}

impl Direction {
    fn update(&mut self, interval: u32, now_us: f64, packets: u32, bytes: f64) {
        let stale = now_us - self.updated_us > STALE_US;
        self.updated_us = now_us;
        if stale {
            self.proposal = MIN_US | LATENCY_FLAG;
            return;
        }
        let mean_bytes = bytes / f64::from(packets.max(1));
        let crept_up = (interval + MIN_STEP_US).min(MAX_US);
        self.proposal = match packets {
            0 => crept_up + (self.proposal & LATENCY_FLAG),
            1..=3 if bytes < 9000.0 => LATENCY_FLAG + by_size_us(mean_bytes, true),
            1..=47 => crept_up,
            48..=95 => interval,
            96..=255 => (interval / 2).max(MIN_US),
            _ => by_size_us(mean_bytes, false),
        };
    }
}

/// Interval from the mean packet size: roughly `170 (size + 24) / (size + 640)` microseconds at
/// 10 Gbit/s, half of it in latency mode, in the driver's piecewise linear form.
fn by_size_us(mean_bytes: f64, latency_mode: bool) -> u32 {
    let size = mean_bytes as u32;
    let scaled = match size {
        0..=60 => 5120,
        61..=316 => size * 40 + 2720,
        317..=1084 => size * 15 + 11452,
        1085..=1967 => size * 5 + 22420,
        _ => 32256,
    };
    let scaled = if latency_mode { scaled / 2 } else { scaled };
    scaled.div_ceil(MIN_STEP_US * 256) * MIN_STEP_US
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(vector: &mut AdaptiveIxgbe, rx_packets: u32, size: f64) {
        let rx_bytes = f64::from(rx_packets) * size;
        vector.observe(PollWork {
            rx_packets,
            rx_bytes,
            tx_packets: rx_packets,
            tx_bytes: rx_bytes,
            ..PollWork::default()
        });
    }

    #[test]
    fn few_small_packets_mean_latency_mode() {
        let mut vector = AdaptiveIxgbe::new(1.0);
        poll(&mut vector, 1, 60.0);
        assert_eq!(vector.interval_us(), 10.0);
        poll(&mut vector, 2, 150.0);
        assert_eq!(vector.interval_us(), 18.0);
    }

    #[test]
    fn bulk_creeps_up_to_the_maximum_and_halves_when_flooded() {
        let mut vector = AdaptiveIxgbe::new(1.0);
        for _ in 0..100 {
            poll(&mut vector, 40, 1500.0);
        }
        assert_eq!(vector.interval_us(), 126.0);
        poll(&mut vector, 60, 1500.0);
        assert_eq!(vector.interval_us(), 126.0);
        poll(&mut vector, 100, 1500.0);
        assert_eq!(vector.interval_us(), 62.0);
    }
}
