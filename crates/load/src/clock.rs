//! The crate's only clock.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds since some moment in the past that stays the same: `CLOCK_MONOTONIC`.
#[inline(always)]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64
}

/// Seconds as nanoseconds.
pub fn to_ns(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64) as u64
}
