//! The sensors of a machine.
//!
//! [`Sensors::sample`] reads everything: energy, utilization, interrupts and softirqs, idle states, NIC counters,
//! frequency. [`Sensors::tick`] reads only what must be looked at often: raw energy counters wrap around and power has
//! to be integrated. Call it once a second.
//!
//! A sensor that fails gives a [`Reading`] with an error; one that the machine does not have gives none. The energy of
//! the whole machine, `energy_j@machine`, is always among the readings: everything else is judged by it, so its absence
//! is an error too.

mod attribute;
mod counter;
mod cpu;
mod frequency;
mod idle;
mod interrupts;
mod nic;
mod power;
mod reading;
mod softirq;
mod text;

use crate::host::Host;
use bayop_core::Result;
use power::Power;
use reading::Sample;

pub use interrupts::interrupts_of;
pub(crate) use interrupts::nic_interrupts;
pub use nic::received_packets;
pub use power::{Method, Model, Options, Order, Scaling};
pub use reading::{Kind, Reading};

/// The sensors of one machine.
#[derive(Debug)]
pub struct Sensors {
    host: Host,
    power: Power,
}

impl Sensors {
    /// Looks for the machine's power meters and takes the first look at the one that `options` choose.
    ///
    /// Time is an argument here and below: seconds on any clock that never goes back, the same for every call.
    ///
    /// # Errors
    /// The options are wrong, or name a hwmon input that the machine does not have. A machine without a meter is no error here: its readings say so.
    pub fn open(host: Host, options: &Options, time_s: f64) -> Result<Self> {
        options.check()?;
        let power = Power::open(&host, options, time_s)?;
        Ok(Self { host, power })
    }

    /// Looks at what must be looked at often. Costs one system call for each counter of the chosen meter.
    pub fn tick(&mut self, time_s: f64) {
        self.power.tick(&self.host, time_s);
    }

    /// The energy of the machine so far, looked at as by [`Sensors::tick`].
    ///
    /// # Errors
    /// There is no meter among those allowed, or it can't be read.
    pub fn energy_j(&mut self, time_s: f64) -> Result<f64> {
        self.tick(time_s);
        self.power.energy_j()
    }

    /// Reads every sensor. Energy comes first, so that it belongs to `time_s` most nearly.
    pub fn sample(&mut self, time_s: f64) -> Vec<Reading> {
        let mut sample = Sample { readings: Vec::new(), time_s };
        self.power.sample(&self.host, &mut sample);
        for read in [cpu::sample, interrupts::sample, softirq::sample, idle::sample, nic::sample, frequency::sample] {
            read(&self.host, &mut sample);
        }
        sample.readings
    }

    /// How the energy of the machine is found.
    ///
    /// # Errors
    /// There is no meter among those allowed, with the reason.
    pub fn method(&self) -> Result<Method> {
        self.power.method()
    }

    /// The places whose energies make up that of the machine: `package-0`, `package-0/dram`.
    pub fn counted(&self) -> Vec<&str> {
        self.power.counted_places()
    }

    /// The hwmon inputs that are read but not taken for the machine.
    pub fn uncounted_inputs(&self) -> Vec<&str> {
        self.power.uncounted_inputs()
    }

    /// The longest time between two ticks in which no counter of the chosen meter can wrap unseen; none when nothing
    /// wraps.
    pub fn tick_within_s(&self) -> Option<f64> {
        self.power.tick_within_s()
    }
}
