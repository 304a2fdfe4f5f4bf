//! What is asked of a simulation: a setting, a load, a length of time.

use crate::frequency::pinned_step;
use crate::profile::{Exchange, Profile};
use bayop_core::Error;

/// Largest message of a closed loop (16 MiB).
const MAX_MESSAGE_BYTES: f64 = 16_777_216.0;

/// The knobs that the twin models; `None` leaves a knob to the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    /// Interrupt delay (ITR-delay, `ethtool -C rx-usecs`).
    pub rx_usecs: Option<f64>,
    /// Pinned core frequency.
    pub freq_mhz: Option<f64>,
}

impl Setting {
    /// Ids of the knobs, as the catalogue of `bayop-knobs` has them.
    pub const KNOBS: [&str; 2] = ["nic.rx_usecs", "cpu.freq_mhz"];

    /// The setting that gives these knobs, by id, their values.
    pub fn of_knobs<'a>(values: impl IntoIterator<Item = (&'a str, f64)>) -> Result<Self, Error> {
        let mut setting = Self::default();
        for (id, value) in values {
            let knob = match id {
                "nic.rx_usecs" => &mut setting.rx_usecs,
                "cpu.freq_mhz" => &mut setting.freq_mhz,
                _ => {
                    let error = Error::input(format!("the twin does not model {id}")).value(id).at("run, setting");
                    return Err(error.hint(format!("it models {}", Self::KNOBS.join(", "))));
                }
            };
            *knob = Some(value);
        }
        Ok(setting)
    }
}

/// What the clients do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// An open loop: so many requests per second, whatever becomes of them.
    Qps(f64),
    /// A closed loop: one message of so many bytes goes back and forth.
    MessageBytes(f64),
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// So many simulated seconds.
    Seconds(f64),
    /// As long as so many requests take to arrive on average, or about as many round trips of a closed loop take.
    Requests(u64),
}

/// One simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The setting under test.
    pub setting: Setting,
    /// Open or closed loop, and how much of it.
    pub load: Load,
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
    /// Offered load; of a closed loop, roughly what it will be.
    pub qps: f64,
    /// Size of the message of a closed loop.
    pub message_bytes: f64,
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
        match (self.length, self.load) {
            (Length::Requests(requests), _) => requests as f64,
            (Length::Seconds(seconds), Load::Qps(qps)) => seconds * qps,
            (Length::Seconds(seconds), Load::MessageBytes(_)) => seconds * 1e4,
        }
    }

    /// Resolves the run on a server: validates, rounds, fills in defaults.
    pub fn apply(&self, profile: &Profile) -> Result<Applied, Error> {
        let rx_usecs = match self.setting.rx_usecs {
            Some(rx_usecs) => Some(applied_rx_usecs(profile, rx_usecs)?),
            None if profile.os.polls() => Some(0.0), // nothing is delayed or held back
            None => None,
        };
        let (qps, message_bytes) = self.applied_load(profile, rx_usecs)?;
        let duration_s = match self.length {
            Length::Seconds(seconds) => check(seconds, 1e-6, 1e6, "duration_s")?,
            Length::Requests(requests) => check(requests as f64, 1.0, 1e12, "requests")? / qps,
        };
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
            message_bytes,
            duration_us: 1e6 * duration_s,
            warmup_us: 1e6 * warmup_s,
            seed: self.seed,
        })
    }

    /// Requests per second and message size, the latter zero in an open loop.
    fn applied_load(&self, profile: &Profile, rx_usecs: Option<f64>) -> Result<(f64, f64), Error> {
        match (self.load, &profile.exchange) {
            (Load::Qps(qps), None) => Ok((check(qps, 1e-3, 1e9, "qps")?, 0.0)),
            (Load::MessageBytes(bytes), Some(exchange)) => {
                let bytes = check(bytes.round(), 1.0, MAX_MESSAGE_BYTES, "message_bytes")?;
                Ok((nominal_round_trips_per_s(exchange, bytes, rx_usecs), bytes))
            }
            (Load::Qps(qps), Some(_)) => {
                let rule = "the load of a closed loop must be a message size, not a request rate";
                Err(Error::cannot_use(format!("{qps} requests/s"), rule).at("run, qps"))
            }
            (Load::MessageBytes(bytes), None) => {
                let rule = "the load of an open loop must be a request rate, not a message size";
                Err(Error::cannot_use(format!("{bytes} bytes"), rule).at("run, message_bytes"))
            }
        }
    }
}

/// Round trips per second of a closed loop if both sides took no time but that of the wire, of `SIDE_US` and of the
/// interval that moderation leaves between interrupts.
fn nominal_round_trips_per_s(exchange: &Exchange, message_bytes: f64, rx_usecs: Option<f64>) -> f64 {
    const SIDE_US: f64 = 20.0;
    let wire_us = 8.0 * message_bytes / exchange.wire_mbit_s + exchange.wire_us;
    0.5e6 / f64::max(wire_us + SIDE_US, rx_usecs.unwrap_or(0.0))
}

/// rx-usecs as the driver applies it: rounded down to its step, refused out of range.
fn applied_rx_usecs(profile: &Profile, rx_usecs: f64) -> Result<f64, Error> {
    let nic = &profile.machine.nic;
    if profile.os.polls() {
        let rule = "rx_usecs must be left out: a polling core takes no interrupts that could be delayed";
        return Err(Error::cannot_use(format!("{rx_usecs} us"), rule).at("run, rx_usecs"));
    }
    let rx_usecs = check(rx_usecs, nic.rx_usecs_min, nic.rx_usecs_max, "rx_usecs")?;
    Ok(f64::max((rx_usecs / nic.rx_usecs_step + 1e-9).floor() * nic.rx_usecs_step, nic.rx_usecs_min))
}

fn check(value: f64, least: f64, greatest: f64, name: &str) -> Result<f64, Error> {
    if (least..=greatest).contains(&value) {
        return Ok(value);
    }
    let rule = format!("{name} must be between {least} and {greatest}");
    Err(Error::cannot_use(value, rule).at(format!("run, {name}")))
}
