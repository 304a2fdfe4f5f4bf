//! Memory that a device reads and writes: rings of descriptors, and the packets that they point to.
//!
//! All memory is mapped to itself, so its address is the device's too. The rule that keeps this sound is the drivers':
//! a piece of memory is looked at as [`bytes`](Dma::bytes) only while no ring offers it to the device. What both sides
//! look at, the rings, is read and written a number at a time.

use alloc::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use core::sync::atomic::{Ordering, fence};

extern crate alloc;

/// A piece of memory shared with a device, for as long as the machine runs.
#[derive(Debug)]
pub struct Dma {
    base: *mut u8,
    len: usize,
}

// SAFETY: the memory has one owner, on whatever core that is.
unsafe impl Send for Dma {}

macro_rules! numbers {
    ($read:ident, $write:ident, $type:ty) => {
        #[doc = concat!("Reads a ", stringify!($type), " that the device may be writing. Panics outside.")]
        #[inline]
        pub fn $read(&self, offset: usize) -> $type {
            let number = self.pointer::<$type>(offset);
            // SAFETY: inside of memory that is ours for ever; aligned.
            unsafe { number.read_volatile() }
        }

        #[doc = concat!("Writes a ", stringify!($type), " that the device may be reading. Panics outside.")]
        #[inline]
        pub fn $write(&mut self, offset: usize, value: $type) {
            let number = self.pointer::<$type>(offset);
            // SAFETY: as for reading.
            unsafe { number.write_volatile(value) }
        }
    };
}

impl Dma {
    /// Memory of zeros, on a page's border.
    pub fn new(len: usize) -> Dma {
        let layout = Layout::from_size_align(len.max(1), 4096).expect("a length below the size of memory");
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc_zeroed(layout) };
        if base.is_null() {
            handle_alloc_error(layout)
        }
        Dma { base, len }
    }

    /// Where the device finds a byte of it.
    pub fn address(&self, offset: usize) -> u64 {
        self.base as u64 + offset as u64
    }

    numbers!(read_u16, write_u16, u16);
    numbers!(read_u32, write_u32, u32);
    numbers!(read_u64, write_u64, u64);

    /// What the device has written. Panics outside of the memory.
    #[inline]
    pub fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset <= self.len && len <= self.len - offset);
        // SAFETY: inside of memory that is ours for ever, filled with zeros at first; the module's rule keeps the
        // device from writing meanwhile.
        unsafe { core::slice::from_raw_parts(self.base.add(offset), len) }
    }

    /// What the device will read. Panics outside of the memory.
    #[inline]
    pub fn bytes_mut(&mut self, offset: usize, len: usize) -> &mut [u8] {
        assert!(offset <= self.len && len <= self.len - offset);
        // SAFETY: as in `bytes`, and nobody else has it: `self` is borrowed.
        unsafe { core::slice::from_raw_parts_mut(self.base.add(offset), len) }
    }

    #[inline]
    fn pointer<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.len && offset % align_of::<T>() == 0);
        // SAFETY: inside of the memory, as just checked.
        unsafe { self.base.add(offset).cast() }
    }
}

/// What was written before is seen by a device that sees what is written after; the same for reading.
#[inline]
pub fn order() {
    fence(Ordering::SeqCst);
}
