//! Headers: bytes that were checked become values, and values become bytes.

pub mod arp;
mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ipv4;
pub mod tcp;
pub mod udp;

pub use checksum::Checksum;

/// Two bytes at an offset, in the network's order. Panics when they are not there.
#[inline]
fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_be_bytes([bytes[offset], bytes[offset + 1]])
}

/// Four bytes at an offset, in the network's order. Panics when they are not there.
#[inline]
fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_be_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]])
}
