//! Drivers of NICs. Each finds its device on PCI, and is two halves of it.

mod virtio;

pub use virtio::{Receiver as VirtioReceiver, Transmitter as VirtioTransmitter, open as open_virtio};
