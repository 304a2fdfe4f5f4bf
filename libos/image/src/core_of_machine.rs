//! The core that the machine has, for the runtime.

use libos_hal::apic::Apic;
use libos_hal::clock::Clock;
use libos_hal::{cpu, interrupts};
use libos_runtime::{Core, Slept};

/// The first core.
pub struct MachineCore {
    clock: Clock,
    apic: Apic,
    /// When the timer interrupts next.
    alarm_us: u64,
}

impl MachineCore {
    /// Measures its clocks.
    pub fn new() -> MachineCore {
        let clock = Clock::calibrate();
        MachineCore { clock, apic: Apic::new(&clock), alarm_us: u64::MAX }
    }

    /// The rate of its time stamp counter.
    pub fn mhz(&self) -> u64 {
        self.clock.mhz()
    }
}

impl Core for MachineCore {
    #[inline]
    fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    fn sleep(&mut self, until_us: u64) -> Slept {
        let now_us = self.now_us();
        if until_us <= now_us {
            return Slept::default();
        }
        // An alarm that is set for sooner wakes for nothing, once; setting one costs an exit to a hypervisor.
        let is_past = self.alarm_us <= now_us;
        if until_us < self.alarm_us || is_past && until_us != u64::MAX {
            self.apic.interrupt_in(until_us - now_us);
            self.alarm_us = until_us;
        }
        let before = interrupts::device_count();
        cpu::halt();
        Slept { duration_us: self.now_us() - now_us, by_device: interrupts::device_count() != before }
    }

    #[inline]
    fn relax(&mut self) {
        cpu::take_interrupts();
    }
}
