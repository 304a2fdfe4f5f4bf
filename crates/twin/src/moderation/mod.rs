//! Interrupt moderation: how long a vector must stay silent after an interrupt.
//!
//! An interrupt fires when work waits (a received packet or a transmit completion) and at least
//! [`Moderation::interval_us`] has passed since the last one.

mod adaptive;
mod fixed;

pub use adaptive::AdaptiveIxgbe;
pub use fixed::Fixed;

/// The throttle of one interrupt vector.
pub trait Moderation: Clone + 'static {
    /// Least time between two interrupts as things stand, in real microseconds.
    fn interval_us(&self) -> f64;

    /// Tells what one interrupt handled.
    fn observe(&mut self, work: PollWork);
}

/// What one poll of a vector handled.
#[derive(Clone, Copy, Debug, Default)]
pub struct PollWork {
    /// When the poll happened.
    pub now_us: f64,
    /// Packets received.
    pub rx_packets: u32,
    /// Bytes received.
    pub rx_bytes: f64,
    /// Transmissions completed.
    pub tx_packets: u32,
    /// Bytes of those.
    pub tx_bytes: f64,
}
