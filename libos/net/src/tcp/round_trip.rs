//! For how long to wait for an acknowledgment (RFC 6298).

use super::Sequence;

/// Before anything was measured.
const INITIAL_US: u64 = 1_000_000;
/// As Linux has it; the RFC's is a second.
const MIN_US: u64 = 200_000;
const MAX_US: u64 = 60_000_000;

/// The smoothed round trip of one connection.
#[derive(Debug)]
pub struct RoundTrip {
    smoothed_us: u64,
    variation_us: u64,
    timeout_us: u64,
    /// The number whose acknowledgment ends a measurement, and when that began.
    timed: Option<(Sequence, u64)>,
}

impl RoundTrip {
    /// Nothing is known.
    pub fn new() -> RoundTrip {
        RoundTrip { smoothed_us: 0, variation_us: 0, timeout_us: INITIAL_US, timed: None }
    }

    /// The time after which what was sent is sent again.
    #[inline]
    pub fn timeout_us(&self) -> u64 {
        self.timeout_us
    }

    /// New data up to `end` was sent.
    #[inline]
    pub fn sent(&mut self, end: Sequence, now_us: u64) {
        if self.timed.is_none() {
            self.timed = Some((end, now_us));
        }
    }

    /// Something is sent again: of what is under way, nobody knows which copy is acknowledged (Karn).
    pub fn forget(&mut self) {
        self.timed = None;
    }

    /// Nothing came for a whole timeout.
    pub fn back_off(&mut self) {
        self.forget();
        self.timeout_us = (2 * self.timeout_us).min(MAX_US);
    }

    /// Everything up to `una` was acknowledged.
    #[inline]
    pub fn acknowledged(&mut self, una: Sequence, now_us: u64) {
        let Some((end, sent_us)) = self.timed else { return };
        if una.since(end) < 0 {
            return;
        }
        self.timed = None;
        let sample_us = now_us.saturating_sub(sent_us);
        if self.smoothed_us == 0 {
            self.smoothed_us = sample_us.max(1);
            self.variation_us = sample_us / 2;
        } else {
            self.variation_us = (3 * self.variation_us + self.smoothed_us.abs_diff(sample_us)) / 4;
            self.smoothed_us = ((7 * self.smoothed_us + sample_us) / 8).max(1);
        }
        self.timeout_us = (self.smoothed_us + 4 * self.variation_us).clamp(MIN_US, MAX_US);
    }
}

impl Default for RoundTrip {
    fn default() -> Self {
        RoundTrip::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_round_trip_is_waited_for_and_a_timeout_doubles() {
        let mut round_trip = RoundTrip::new();
        for at in 0..60u32 {
            let now_us = u64::from(at) * 1_000_000;
            round_trip.sent(Sequence(at), now_us);
            round_trip.acknowledged(Sequence(at), now_us + 300_000);
        }
        assert!((300_000..310_000).contains(&round_trip.timeout_us()), "{}", round_trip.timeout_us());
        let before_us = round_trip.timeout_us();
        round_trip.back_off();
        assert_eq!(round_trip.timeout_us(), 2 * before_us);
    }

    #[test]
    fn what_was_sent_twice_is_not_measured() {
        let mut round_trip = RoundTrip::new();
        round_trip.sent(Sequence(9), 0);
        round_trip.forget();
        round_trip.acknowledged(Sequence(9), 5_000_000);
        assert_eq!(round_trip.timeout_us(), INITIAL_US);
    }
}
