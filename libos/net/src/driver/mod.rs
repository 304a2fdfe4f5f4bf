//! Drivers of NICs. Each finds its device on PCI, and is two halves of it.

mod e1000e;
mod virtio;

pub use e1000e::{Throttle, open as open_e1000e};
pub use virtio::open as open_virtio;

/// Why there is no NIC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OpenError {
    /// None of this kind on the first bus.
    Absent,
    /// It lacks MSI-X, its address, its registers, or speaks another version.
    Unfit,
    /// It has not a pair of queues for each core.
    TooFewQueues,
}
