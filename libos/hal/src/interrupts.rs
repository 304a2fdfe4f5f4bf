//! Interrupts and exceptions: an interrupt wakes the core, an exception ends the machine.

/// The vector of the APIC's timer.
pub const TIMER_VECTOR: u8 = 0x40;
/// The vector that devices send.
pub const DEVICE_VECTOR: u8 = 0x41;
/// The vector that cores send each other.
pub(crate) const CORE_VECTOR: u8 = 0x42;
/// What the APIC sends when there was nothing.
pub(crate) const SPURIOUS_VECTOR: u8 = 0xFF;

#[cfg(feature = "boot")]
mod table {
    use alloc::boxed::Box;
    use core::arch::asm;
    use core::sync::atomic::{AtomicU64, Ordering};

    extern crate alloc;

    const EXCEPTIONS: usize = 32;
    const DEVICE: usize = super::DEVICE_VECTOR as usize;
    const CODE: u64 = 8;
    const PRESENT_GATE: u64 = 0x8E00;

    // SAFETY: boot.s has them; the entries are the CPU's to call.
    unsafe extern "C" {
        fn interrupt_entry();
        fn device_entry();
        fn exception_entry();
    }

    /// Where the table is.
    static TABLE: AtomicU64 = AtomicU64::new(0);

    /// Makes the table; once.
    pub fn init() {
        let gates: Box<[[u64; 2]; 256]> = Box::new(core::array::from_fn(|vector| {
            let entry = if vector < EXCEPTIONS {
                exception_entry
            } else if vector == DEVICE {
                device_entry
            } else {
                interrupt_entry
            } as usize as u64;
            [entry & 0xFFFF | CODE << 16 | PRESENT_GATE << 32 | (entry >> 16 & 0xFFFF) << 48, entry >> 32]
        }));
        TABLE.store(Box::leak(gates).as_ptr() as u64, Ordering::Release);
    }

    /// Gives this core the table.
    pub fn load() {
        let base = TABLE.load(Ordering::Acquire);
        let pointer = [4095, base as u16, (base >> 16) as u16, (base >> 32) as u16, (base >> 48) as u16];
        // SAFETY: the table is whole and stays for ever.
        unsafe { asm!("lidt [{}]", in(reg) pointer.as_ptr(), options(nostack, preserves_flags)) }
    }

    /// How often a device has interrupted this core.
    pub fn device_count() -> u64 {
        let count: u64;
        // SAFETY: reads the first word of the core's own memory (cores.rs), which only this core's handler writes; while
        // this runs, interrupts are closed.
        unsafe { asm!("mov {}, gs:[0]", out(reg) count, options(nostack, preserves_flags, readonly)) }
        count
    }

    /// An exception is a fault of the library OS, and there is nobody to go on.
    #[unsafe(no_mangle)]
    extern "C" fn exception(frame: &[u64; 3]) -> ! {
        let address: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack, preserves_flags)) }
        // With or without an error code in front, one of these is where it happened.
        crate::say!("error: exception, frame {frame:x?}, address {address:x}");
        crate::cpu::reset()
    }
}

#[cfg(feature = "boot")]
pub use table::{device_count, init, load};
