//! What is asked of a simulation: a setting, a load, a length of time.

use crate::error::ProfileError;
use crate::frequency::pinned_step;
use crate::profile::Profile;

/// The two knobs of the papers; `None` leaves a knob to the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    /// Interrupt delay (ITR-delay, `ethtool -C rx-usecs`).
    pub rx_usecs: Option<f64>,
    /// Pinned core frequency.
    pub freq_mhz: Option<f64>,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// So many simulated seconds.
    Seconds(f64),
    /// As long as so many requests take to arrive on average.
    Requests(u64),
}

/// One simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The setting under test.
    pub setting: Setting,
    /// Offered load in requests per second.
    pub qps: f64,
    /// Length of the measured window.
    pub length: Length,
    /// Simulated time before it; `None` is a tenth of the window, and at least ten sampling
    /// periods when a frequency governor has to settle.
    pub warmup_s: Option<f64>,
    /// Seed of all randomness.
    pub seed: u64,
}

/// A run with everything resolved: what the hardware really does.
#[derive(Clone, Copy, Debug)]
pub struct Applied {
    /// rx-usecs after the driver's rounding; `None` is adaptive or the system's default.
    pub rx_usecs: Option<f64>,
    /// Index of the P-state; `None` leaves it to the governor.
    pub freq_step: Option<usize>,
    /// Offered load.
    pub qps: f64,
    /// Length of the window.
    pub duration_us: f64,
    /// Length of the warm-up.
    pub warmup_us: f64,
    /// Seed.
    pub seed: u64,
}

impl Run {
    /// How many requests arrive on average, warm-up apart: about how long it takes to simulate.
    pub(crate) fn expected_requests(&self) -> f64 {
        match self.length {
            Length::Seconds(seconds) => seconds * self.qps,
            Length::Requests(requests) => requests as f64,
        }
    }

    /// Resolves the run on a server: validates, rounds, fills in defaults.
    pub fn apply(&self, profile: &Profile) -> Result<Applied, ProfileError> {
        let qps = check(self.qps, 1e-3, 1e9, "qps")?;
        let duration_s = match self.length {
            Length::Seconds(seconds) => check(seconds, 1e-6, 1e6, "duration_s")?,
            Length::Requests(requests) => check(requests as f64, 1.0, 1e12, "requests")? / qps,
        };
        let rx_usecs = self.setting.rx_usecs.map(|us| applied_rx_usecs(profile, us)).transpose()?;
        let freq_step = match self.setting.freq_mhz {
            Some(freq_mhz) => Some(pinned_step(&profile.machine, check(freq_mhz, 1.0, 1e5, "freq_mhz")?)),
            None => None,
        };
        let settling_s = if freq_step.is_none() { 10e-6 * profile.os.frequency_sampling_us } else { 0.0 };
        let warmup_s = match self.warmup_s {
            Some(seconds) => check(seconds, 0.0, 1e6, "warmup_s")?,
            None => f64::max(0.1 * duration_s, settling_s),
        };
        Ok(Applied {
            rx_usecs,
            freq_step,
            qps,
            duration_us: 1e6 * duration_s,
            warmup_us: 1e6 * warmup_s,
            seed: self.seed,
        })
    }
}

/// rx-usecs as the driver applies it: rounded down to its step, refused out of range.
fn applied_rx_usecs(profile: &Profile, rx_usecs: f64) -> Result<f64, ProfileError> {
    let nic = &profile.machine.nic;
    let rx_usecs = check(rx_usecs, nic.rx_usecs_min, nic.rx_usecs_max, "rx_usecs")?;
    Ok(f64::max((rx_usecs / nic.rx_usecs_step + 1e-9).floor() * nic.rx_usecs_step, nic.rx_usecs_min))
}

fn check(value: f64, least: f64, greatest: f64, name: &str) -> Result<f64, ProfileError> {
    if (least..=greatest).contains(&value) {
        return Ok(value);
    }
    let rule = format!("{name} must be between {least} and {greatest}");
    Err(ProfileError::new(rule, value.to_string(), format!("run, {name}")))
}
