//! Registers of devices, mapped into memory.

/// The registers of one device: an aperture that reads and writes go to directly, in the order of the program.
#[derive(Clone, Copy, Debug)]
pub struct Mmio {
    base: usize,
    len: usize,
}

macro_rules! registers {
    ($read:ident, $write:ident, $type:ty) => {
        #[doc = concat!("Reads a register of ", stringify!($type), ". Panics when it is outside of the aperture.")]
        #[inline]
        pub fn $read(&self, offset: usize) -> $type {
            let address = self.address::<$type>(offset);
            // SAFETY: inside of the aperture, which is a device's and nothing that Rust knows as memory; aligned.
            unsafe { core::ptr::read_volatile(address as *const $type) }
        }

        #[doc = concat!("Writes a register of ", stringify!($type), ". Panics when it is outside of the aperture.")]
        #[inline]
        pub fn $write(&self, offset: usize, value: $type) {
            let address = self.address::<$type>(offset);
            // SAFETY: as for reading. What the device then does to memory is bounded by the addresses that it was told,
            // and `dma` says whose those are.
            unsafe { core::ptr::write_volatile(address as *mut $type, value) }
        }
    };
}

impl Mmio {
    /// # Safety
    ///
    /// `base..base + len` must be registers of a device, mapped, and used by nothing else.
    pub(crate) const unsafe fn new(base: usize, len: usize) -> Mmio {
        Mmio { base, len }
    }

    /// The registers from `offset` on, `len` bytes of them. Panics when they are outside of the aperture.
    pub fn part(&self, offset: usize, len: usize) -> Mmio {
        assert!(offset <= self.len && len <= self.len - offset, "registers must be inside of the aperture");
        Mmio { base: self.base + offset, len }
    }

    registers!(read_u8, write_u8, u8);
    registers!(read_u16, write_u16, u16);
    registers!(read_u32, write_u32, u32);
    registers!(read_u64, write_u64, u64);

    #[inline]
    fn address<T>(&self, offset: usize) -> usize {
        let address = self.base + offset;
        assert!(offset + size_of::<T>() <= self.len && address % align_of::<T>() == 0, "no such register");
        address
    }
}
