//! The crate's only clock, and the one by which the kernel stamps what comes in.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds since some moment in the past that stays the same: `CLOCK_MONOTONIC`.
#[inline(always)]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    timespec_ns(now.tv_sec, now.tv_nsec)
}

/// Nanoseconds since 1970, by a clock that may be set meanwhile: `CLOCK_REALTIME`.
#[inline(always)]
pub fn real_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    timespec_ns(now.tv_sec, now.tv_nsec)
}

/// What a clock shows, as nanoseconds.
#[inline(always)]
pub fn timespec_ns(seconds: i64, nanoseconds: i64) -> u64 {
    seconds as u64 * SECOND_NS + nanoseconds as u64
}

/// Seconds as nanoseconds.
pub fn to_ns(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64) as u64
}
