//! What a simulation counts, times apart.

use crate::histogram::Histogram;

/// Counters of one window.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Latencies as the clients see them.
    pub latency: Histogram,
    /// Requests answered.
    pub completed: u64,
    /// Requests that found the queue full.
    pub dropped: u64,
    /// Interrupts of all vectors.
    pub interrupts: u64,
    /// Sum of the intervals that moderation imposed after each interrupt.
    pub interval_us: f64,
    /// Packets received, acknowledgements included.
    pub packets: u64,
    /// Application-thread wake-ups.
    pub thread_wakes: u64,
}
