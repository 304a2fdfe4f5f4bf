//! The core that the machine has, for the runtime.

use alloc::sync::Arc;

use libos_hal::apic::{Apic, CoreId};
use libos_hal::clock::Clock;
use libos_hal::cores::TooFew;
use libos_hal::idle::{self, IdleState};
use libos_hal::{cores, cpu, interrupts};
use libos_runtime::Core;

use crate::pace::{Pace, Paced};

/// The core that this runs on.
pub struct MachineCore {
    clock: Clock,
    apic: Apic,
    /// From the shallowest, which is `hlt`; none where that is all.
    states: &'static [IdleState],
    pace: Option<Paced>,
    /// When the timer interrupts next.
    alarm_us: u64,
}

impl MachineCore {
    /// Switches its interrupts and its timer on.
    pub fn new(clock: Clock, states: &'static [IdleState], pace: Option<Arc<Pace>>) -> MachineCore {
        MachineCore { clock, apic: Apic::new(&clock), states, pace: pace.map(Paced::new), alarm_us: u64::MAX }
    }

    /// Its idle states from the shallowest, which is `hlt`; none where that is all.
    pub fn states(&self) -> &'static [IdleState] {
        self.states
    }

    /// How fast all cores are asked to run.
    pub fn pace(&self) -> Option<Arc<Pace>> {
        self.pace.as_ref().map(Paced::of_all)
    }

    /// Starts the cores beside it.
    ///
    /// # Errors
    /// There are fewer.
    pub fn start_others(&self, count: usize) -> Result<impl Iterator<Item = CoreId> + use<>, TooFew> {
        cores::start(count, &self.apic, &self.clock)
    }
}

impl Core for MachineCore {
    #[inline]
    fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    fn sleep(&mut self, state: usize, until_us: u64) {
        let now_us = self.now_us();
        if until_us <= now_us {
            return;
        }
        // An alarm that is set for sooner wakes for nothing, once; setting one costs an exit to a hypervisor.
        let is_past = self.alarm_us <= now_us;
        if until_us < self.alarm_us || is_past && until_us != u64::MAX {
            self.apic.interrupt_in(until_us - now_us);
            self.alarm_us = until_us;
        }
        match self.states.get(state) {
            Some(state) => idle::enter(state),
            None => cpu::halt(),
        }
    }

    #[inline]
    fn relax(&mut self) {
        cpu::take_interrupts();
    }

    #[inline]
    fn obey(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.obey();
        }
    }

    #[inline]
    fn device_interrupts(&self) -> u64 {
        interrupts::device_count()
    }
}
