//! The core's own interrupt controller (local APIC): its timer, and where devices send their interrupts.

use crate::clock::Clock;
use crate::cpu;
use crate::interrupts::{CORE_VECTOR, SPURIOUS_VECTOR, TIMER_VECTOR};
use crate::mmio::Mmio;
use crate::port;

const SPURIOUS: usize = 0xF0;
const COMMAND: usize = 0x300;
/// Whom it is for, but for the commands to all.
const COMMAND_DESTINATION: usize = 0x310;
const COMMAND_PENDING: u32 = 1 << 12;
/// To one core: a vector.
const COMMAND_INTERRUPT: u32 = 1 << 14;
/// To all cores but this one: begin anew, and wait; begin at a page.
const COMMAND_INIT: u32 = 0b11 << 18 | 1 << 14 | 0b101 << 8;
const COMMAND_START: u32 = 0b11 << 18 | 1 << 14 | 0b110 << 8;
const TIMER: usize = 0x320;
const TIMER_INITIAL_COUNT: usize = 0x380;
const TIMER_CURRENT_COUNT: usize = 0x390;
const TIMER_DIVIDE: usize = 0x3E0;
const DIVIDE_BY_16: u32 = 0b0011;
const MASKED: u32 = 1 << 16;
const CALIBRATION_US: u64 = 2_000;

/// A core, by the number of its APIC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CoreId(pub(crate) u8);

impl CoreId {
    /// The core that this runs on.
    pub fn own() -> CoreId {
        CoreId((cpu::features().ebx >> 24) as u8)
    }
}

/// Those of the core that this runs on.
fn registers() -> Mmio {
    // SAFETY: the architecture's address of the local APIC; nothing outside of this module uses it.
    unsafe { Mmio::new(0xFEE0_0000, 0x1000) }
}

/// Wakes a core that halts, or that is about to.
pub fn interrupt(core: CoreId) {
    let registers = registers();
    registers.write_u32(COMMAND_DESTINATION, u32::from(core.0) << 24);
    registers.write_u32(COMMAND, COMMAND_INTERRUPT | u32::from(CORE_VECTOR));
    while registers.read_u32(COMMAND) & COMMAND_PENDING != 0 {}
}

/// The local APIC of the core that this runs on.
#[derive(Debug)]
pub struct Apic {
    registers: Mmio,
    ticks_per_ms: u64,
}

impl Apic {
    /// Switches the APIC on, and measures how fast its timer ticks. The PC's old interrupt controllers are switched
    /// off.
    pub fn new(clock: &Clock) -> Apic {
        let registers = registers();
        port::write_u8(0x21, 0xFF);
        port::write_u8(0xA1, 0xFF);
        registers.write_u32(SPURIOUS, 1 << 8 | u32::from(SPURIOUS_VECTOR));
        registers.write_u32(TIMER_DIVIDE, DIVIDE_BY_16);
        registers.write_u32(TIMER, MASKED);
        registers.write_u32(TIMER_INITIAL_COUNT, u32::MAX);
        let start_us = clock.now_us();
        clock.wait_us(CALIBRATION_US);
        let ticks = u64::from(u32::MAX - registers.read_u32(TIMER_CURRENT_COUNT));
        let passed_us = clock.now_us() - start_us;
        registers.write_u32(TIMER_INITIAL_COUNT, 0);
        registers.write_u32(TIMER, u32::from(TIMER_VECTOR));
        Apic { registers, ticks_per_ms: (ticks * 1000 / passed_us).max(1) }
    }

    /// Has all other cores begin in real mode at the beginning of a page below 1 MiB, given by its number (Intel's manual
    /// 3A, "Typical BSP Initialization Sequence").
    pub fn start_others(&self, clock: &Clock, page: u8) {
        let start = COMMAND_START | u32::from(page);
        for (command, wait_us) in [(COMMAND_INIT, 10_000), (start, 200), (start, 200)] {
            self.registers.write_u32(COMMAND, command);
            while self.registers.read_u32(COMMAND) & COMMAND_PENDING != 0 {}
            clock.wait_us(wait_us);
        }
    }

    /// Has the timer interrupt once, in `delay_us` or as late as it can.
    pub fn interrupt_in(&mut self, delay_us: u64) {
        let ticks = delay_us.saturating_mul(self.ticks_per_ms) / 1000;
        self.registers.write_u32(TIMER_INITIAL_COUNT, ticks.clamp(1, u64::from(u32::MAX)) as u32);
    }
}
