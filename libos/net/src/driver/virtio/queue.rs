//! A split virtqueue (section 2.7): descriptors, what we offer, what the device has used.

use libos_hal::dma::{Dma, order};
use libos_hal::mmio::Mmio;

const DESCRIPTOR_LEN: usize = 16;
const AVAILABLE_NO_INTERRUPT: u16 = 1;
const USED_NO_NOTIFY: u16 = 1;

/// What a buffer is: the device writes it, and does not read it.
pub(super) const DEVICE_WRITES: u32 = 2;

/// What a buffer is that the next one belongs to.
pub(super) const fn followed_by(buffer: u16) -> u32 {
    1 | (buffer as u32) << 16
}

/// A queue of buffers, whose descriptors have their numbers.
#[derive(Debug)]
pub(super) struct Queue {
    len: u16,
    number: u16,
    memory: Dma,
    /// Where the ring of what we offer begins, and that of what was used.
    available: usize,
    used: usize,
    next_available: u16,
    notified: u16,
    next_used: u16,
    doorbell: Mmio,
}

impl Queue {
    /// An empty queue; `len` is a power of two.
    pub fn new(number: u16, len: u16, doorbell: Mmio) -> Queue {
        let available = usize::from(len) * DESCRIPTOR_LEN;
        let used = (available + 6 + 2 * usize::from(len)).next_multiple_of(4);
        let memory = Dma::new(used + 6 + 8 * usize::from(len));
        Queue { len, number, memory, available, used, next_available: 0, notified: 0, next_used: 0, doorbell }
    }

    /// How many buffers it has.
    pub fn len(&self) -> u16 {
        self.len
    }

    /// Where the device finds the descriptors and the two rings.
    pub fn addresses(&self) -> [u64; 3] {
        [0, self.available, self.used].map(|offset| self.memory.address(offset))
    }

    /// Says where a buffer is, and what.
    #[inline]
    pub fn describe(&mut self, buffer: u16, address: u64, len: u32, what: u32) {
        let at = usize::from(buffer) * DESCRIPTOR_LEN;
        self.memory.write_u64(at, address);
        self.memory.write_u32(at + 8, len);
        self.memory.write_u32(at + 12, what);
    }

    /// Gives a buffer to the device.
    #[inline]
    pub fn offer(&mut self, buffer: u16) {
        let slot = usize::from(self.next_available & (self.len - 1));
        self.memory.write_u16(self.available + 4 + 2 * slot, buffer);
        self.next_available = self.next_available.wrapping_add(1);
        order();
        self.memory.write_u16(self.available + 2, self.next_available);
    }

    /// Tells the device that there are buffers, if there are new ones and it wants to know.
    #[inline]
    pub fn notify(&mut self) {
        if self.notified == self.next_available {
            return;
        }
        self.notified = self.next_available;
        order();
        if self.memory.read_u16(self.used) & USED_NO_NOTIFY == 0 {
            self.doorbell.write_u16(0, self.number);
        }
    }

    /// Whether the device has used a buffer.
    #[inline]
    pub fn has_used(&self) -> bool {
        self.memory.read_u16(self.used + 2) != self.next_used
    }

    /// A buffer that the device has used, and how many bytes it wrote.
    ///
    /// # Panics
    ///
    /// The device gives back a number that no buffer has.
    #[inline(always)]
    pub fn take_used(&mut self) -> Option<(u16, u32)> {
        if !self.has_used() {
            return None;
        }
        order();
        let slot = self.used + 4 + 8 * usize::from(self.next_used & (self.len - 1));
        self.next_used = self.next_used.wrapping_add(1);
        let buffer = self.memory.read_u32(slot);
        assert!(buffer < u32::from(self.len), "the device must give back what it was given");
        Some((buffer as u16, self.memory.read_u32(slot + 4)))
    }

    /// Whether the device may interrupt when it has used a buffer.
    pub fn set_interrupts(&mut self, on: bool) {
        self.memory.write_u16(self.available, if on { 0 } else { AVAILABLE_NO_INTERRUPT });
        order();
    }
}
