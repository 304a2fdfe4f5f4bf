//! The registers that we use (datasheet, chapter 10), by their offsets.

pub const CONTROL: usize = 0x0000;
pub const CONTROL_LINK_UP: u32 = 1 << 6;
pub const CONTROL_RESET: u32 = 1 << 26;

pub const INTERRUPT_CAUSE: usize = 0x00C0;
pub const INTERRUPT_MASK_SET: usize = 0x00D0;
pub const INTERRUPT_MASK_CLEAR: usize = 0x00D8;
pub const INTERRUPT_AUTO_CLEAR: usize = 0x00DC;
pub const CAUSE_RECEIVE_QUEUE: u32 = 1 << 20;

/// Which message each cause has; the receive queue's stands first.
pub const INTERRUPT_VECTORS: usize = 0x00E4;
pub const VECTOR_VALID: u32 = 1 << 3;
/// Of the first message: the least time between two, in 256 ns.
pub const INTERRUPT_THROTTLE: usize = 0x00E8;

pub const RECEIVE_CONTROL: usize = 0x0100;
/// On, broadcasts too, without the check at a frame's end, into buffers of 2 KiB.
pub const RECEIVE_ENABLE: u32 = 1 << 1 | 1 << 15 | 1 << 26;
pub const TRANSMIT_CONTROL: usize = 0x0400;
/// On, short frames are filled up; the times of a shared wire are the datasheet's.
pub const TRANSMIT_ENABLE: u32 = 1 << 1 | 1 << 3 | 0x0F << 4 | 0x3F << 12;

pub const RECEIVE_RING: usize = 0x2800;
pub const TRANSMIT_RING: usize = 0x3800;
// From there on.
pub const RING_ADDRESS: usize = 0x00;
pub const RING_BYTES: usize = 0x08;
pub const RING_HEAD: usize = 0x10;
pub const RING_TAIL: usize = 0x18;

pub const RECEIVE_CHECKSUMS: usize = 0x5000;
/// IP's, and TCP's or UDP's.
pub const RECEIVE_CHECKSUMS_ALL: u32 = 1 << 8 | 1 << 9;
pub const RECEIVE_ADDRESS: usize = 0x5400;
pub const RECEIVE_ADDRESS_VALID: u32 = 1 << 31;
