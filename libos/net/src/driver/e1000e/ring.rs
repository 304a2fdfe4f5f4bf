//! A ring of descriptors and their buffers (3.2.6, 3.4).

use libos_hal::dma::{Dma, order};
use libos_hal::mmio::Mmio;

use super::registers::{RING_ADDRESS, RING_BYTES, RING_HEAD, RING_TAIL};

/// How many descriptors a ring has.
pub(super) const LEN: usize = 256;
/// What one buffer holds.
pub(super) const BUFFER_LEN: usize = 2048;

const DESCRIPTOR_LEN: usize = 16;

/// Descriptors of 16 bytes: where the buffer is, and what is said of it.
#[derive(Debug)]
pub(super) struct Ring {
    registers: Mmio,
    descriptors: Dma,
    buffers: Dma,
}

impl Ring {
    /// An empty ring of the device, whose registers begin at `at`.
    pub fn new(registers: Mmio, at: usize) -> Ring {
        let registers = registers.part(at, RING_TAIL + 4);
        let descriptors = Dma::new(LEN * DESCRIPTOR_LEN);
        let address = descriptors.address(0);
        registers.write_u32(RING_ADDRESS, address as u32);
        registers.write_u32(RING_ADDRESS + 4, (address >> 32) as u32);
        registers.write_u32(RING_BYTES, (LEN * DESCRIPTOR_LEN) as u32);
        registers.write_u32(RING_HEAD, 0);
        registers.write_u32(RING_TAIL, 0);
        Ring { registers, descriptors, buffers: Dma::new(LEN * BUFFER_LEN) }
    }

    /// What is said of a buffer, by us or by the device.
    #[inline]
    pub fn said(&self, index: usize) -> u64 {
        let said = self.descriptors.read_u64(index * DESCRIPTOR_LEN + 8);
        order();
        said
    }

    /// Has a descriptor offer its buffer.
    #[inline]
    pub fn offer(&mut self, index: usize, says: u64) {
        self.write(index, self.buffers.address(index * BUFFER_LEN), says);
    }

    /// Writes a descriptor, both halves.
    #[inline]
    pub fn write(&mut self, index: usize, first: u64, says: u64) {
        self.descriptors.write_u64(index * DESCRIPTOR_LEN, first);
        self.descriptors.write_u64(index * DESCRIPTOR_LEN + 8, says);
    }

    /// Tells the device that it may use what comes before this descriptor.
    #[inline]
    pub fn tell(&self, index: usize) {
        order();
        self.registers.write_u32(RING_TAIL, index as u32);
    }

    /// What the device has written into a buffer.
    #[inline]
    pub fn buffer(&self, index: usize, len: usize) -> &[u8] {
        self.buffers.bytes(index * BUFFER_LEN, len)
    }

    /// A buffer that the device does not have.
    #[inline]
    pub fn buffer_mut(&mut self, index: usize, len: usize) -> &mut [u8] {
        self.buffers.bytes_mut(index * BUFFER_LEN, len)
    }
}
