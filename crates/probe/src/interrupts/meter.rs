//! The energy of the machine, read beside the records.

use bayop_core::Result;
use bayop_knobs::Host;
use bayop_knobs::sensor::{Method, Options, Sensors};
use bayop_probe::recording::monotonic;
use serde::Serialize;

/// What had been drawn by a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Energy {
    /// As records have it.
    pub time_ns: u64,
    /// Since the recording began.
    pub energy_uj: u64,
}

/// The machine's meter.
pub struct Meter {
    sensors: Sensors,
    /// How it reads.
    pub method: Method,
    last_j: f64,
    total_j: f64,
}

impl Meter {
    /// None on a machine that has no meter, or shows it to others only.
    ///
    /// # Errors
    /// The kernel does not tell the time.
    pub fn open() -> Result<Option<Self>> {
        let time_s = monotonic()?.as_secs_f64();
        let Ok(mut sensors) = Sensors::open(Host::live(), &Options::default(), time_s) else { return Ok(None) };
        let known = sensors.method().and_then(|method| Ok((method, sensors.energy_j(time_s)?)));
        Ok(known.ok().map(|(method, last_j)| Self { sensors, method, last_j, total_j: 0.0 }))
    }

    /// What has been drawn until now; None when the meter does not tell.
    ///
    /// # Errors
    /// The kernel does not tell the time.
    pub fn read(&mut self) -> Result<Option<Energy>> {
        let time = monotonic()?;
        let Ok(energy_j) = self.sensors.energy_j(time.as_secs_f64()) else { return Ok(None) };
        // A counter that started anew tells nothing of the time before.
        self.total_j += (energy_j - self.last_j).max(0.0);
        self.last_j = energy_j;
        let time_ns = u64::try_from(time.as_nanos()).expect("machines run for less than 584 years");
        Ok(Some(Energy { time_ns, energy_uj: (self.total_j * 1e6).round() as u64 }))
    }
}
