//! How fast cores run, where they can be asked for a frequency: one for all, of which each sees to its own.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU32, Ordering};

use libos_hal::cores;
use libos_hal::frequency::{Asked, Frequencies};

/// What all cores are asked for.
pub struct Pace {
    /// What they can be asked for.
    pub frequencies: Frequencies,
    /// What the first core was found at.
    found_mhz: u32,
    mhz: AtomicU32,
}

impl Pace {
    /// As the first core is found, on which this runs; none where there is nothing to ask for.
    pub fn new() -> Option<Pace> {
        let frequencies = Frequencies::of_machine()?;
        let found_mhz = frequencies.asked().found_mhz();
        Some(Pace { frequencies, found_mhz, mhz: AtomicU32::new(found_mhz) })
    }

    /// The newest.
    pub fn get_mhz(&self) -> u32 {
        self.mhz.load(Ordering::Relaxed)
    }

    /// So fast from now on; those of `cores` that sleep are woken for it.
    pub fn set_mhz(&self, mhz: u32, cores: usize) {
        self.mhz.store(mhz, Ordering::Relaxed);
        (0..cores).for_each(cores::wake);
    }
}

/// One core's.
pub struct Paced {
    pace: Arc<Pace>,
    asked: Asked,
    mhz: u32,
}

impl Paced {
    /// That on which this runs, as it is found.
    pub fn new(pace: Arc<Pace>) -> Paced {
        let (asked, mhz) = (pace.frequencies.asked(), pace.get_mhz());
        Paced { pace, asked, mhz }
    }

    /// What all are asked for.
    pub fn of_all(&self) -> Arc<Pace> {
        self.pace.clone()
    }

    /// Asks for what is newest, if it is new.
    #[inline]
    pub fn obey(&mut self) {
        let mhz = self.pace.get_mhz();
        if mhz != self.mhz {
            self.mhz = mhz;
            // What was found may be turbo, which is none of the frequencies.
            if mhz == self.pace.found_mhz { self.asked.restore() } else { self.asked.ask(mhz) }
        }
    }
}
