//! Instructions of the CPU that Rust has no words for.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, CpuidResult};

/// Waits for an interrupt, with interrupts open meanwhile. Returns at once when one was pending.
pub fn halt() {
    // SAFETY: the handlers (boot.s) keep every register, and without `nostack` the compiler keeps nothing below the
    // stack pointer. `sti` opens interrupts only after the next instruction, so that none is lost before `hlt`.
    unsafe { asm!("sti", "hlt", "cli") }
}

/// Takes the interrupts that are pending, and goes on.
pub fn take_interrupts() {
    // SAFETY: as in `halt`.
    unsafe { asm!("sti", "nop", "cli") }
}

/// Resets the machine: with QEMU's `-no-reboot`, ends it.
pub fn reset() -> ! {
    crate::port::write_u8(0x64, 0xFE);
    loop {
        // SAFETY: stops the core for good; interrupts are closed.
        unsafe { asm!("cli", "hlt") }
    }
}

/// What the CPU says of itself (`cpuid`); a leaf beyond its last one says anything.
#[allow(unused_unsafe)] // newer compilers know that asking is safe
pub(crate) fn id(leaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { __cpuid(leaf) }
}

/// What the CPU says that it has, and which of the machine's it is.
pub(crate) fn features() -> CpuidResult {
    id(1)
}

/// The model of one of Intel's processors of family 6, by what `cpuid` says; none of another.
pub(crate) fn intel_model(id: impl Fn(u32) -> CpuidResult) -> Option<u32> {
    let (maker, signature) = (id(0), id(1).eax);
    let is_intel = [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel";
    let is_family_6 = signature >> 8 & 0xF == 6;
    (is_intel && is_family_6).then_some(signature >> 12 & 0xF0 | signature >> 4 & 0xF)
}

/// A register of the model's.
///
/// # Safety
///
/// The CPU must have it.
pub(crate) unsafe fn read_msr(register: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller's word is that it is there; reading changes no memory.
    unsafe {
        asm!("rdmsr", in("ecx") register, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Writes a register of the model's.
///
/// # Safety
///
/// The CPU must have it, and take the value; what that does to memory must be sound.
pub(crate) unsafe fn write_msr(register: u32, value: u64) {
    // SAFETY: as the caller says.
    unsafe {
        asm!("wrmsr", in("ecx") register, in("eax") value as u32, in("edx") (value >> 32) as u32, options(nostack))
    }
}

/// A number that differs from boot to boot, for keys that others must not know: of hash tables, of the first numbers of
/// connections.
///
/// It is the CPU's random number and its time stamp. A CPU that has no `rdrand`, or whose generator fails ten times
/// running, leaves the time stamp: who can guess within some microseconds when the machine was started, and how long it
/// took until here, can try all keys.
pub fn seed() -> u64 {
    let features = features();
    let mut seed = crate::clock::time_stamp().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if features.ecx & 1 << 30 != 0 {
        // Intel's manual: it fails when too much was asked for, and after ten times it is broken.
        seed ^= (0..10)
            .find_map(|_| {
                let (random, is_random): (u64, u8);
                // SAFETY: the CPU has the instruction, which changes one register and the flags.
                unsafe {
                    asm!("rdrand {}", "setc {}", out(reg) random, out(reg_byte) is_random, options(nomem, nostack));
                }
                (is_random != 0).then_some(random)
            })
            .unwrap_or(0);
    }
    seed
}
