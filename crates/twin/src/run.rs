//! What is asked of a simulation: a setting, a load, a length of time.

use std::borrow::Cow;

use crate::frequency::pinned_step;
use crate::knob::Knob;
use crate::power::cap::CAP_WINDOW_US;
use crate::profile::{Exchange, Profile};
use crate::setting::{Setting, check};
use bayop_core::Error;

/// Largest message of a closed loop (16 MiB).
const MAX_MESSAGE_BYTES: f64 = 16_777_216.0;

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
    /// Simulated time before it; `None` is a tenth of the window, and at least ten periods of who has to settle: the
    /// frequency policy's sampling, unless the frequency is pinned, and the power cap's window.
    pub warmup_s: Option<f64>,
    /// Seed of all randomness.
    pub seed: u64,
}

/// A run with everything resolved: what the hardware really does.
#[derive(Clone, Copy, Debug)]
pub struct Applied {
    /// rx-usecs after the driver's rounding; `None` is adaptive or the system's default.
    pub rx_usecs: Option<f64>,
    /// Received packets that fire the interrupt at once; `None` is no such bound.
    pub rx_frames: Option<usize>,
    /// Polls by a timer instead of interrupts; `None` is none.
    pub deferral: Option<Deferral>,
    /// Index of the P-state; `None` leaves it to the governor.
    pub freq_step: Option<usize>,
    /// What every package may draw; `None` is no cap.
    pub cap_w: Option<f64>,
    /// How many idle states may be entered, from the shallowest on.
    pub idle_states: usize,
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

/// NAPI's deferral of hardware interrupts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deferral {
    /// Empty polls before the interrupt is switched on again; at least one.
    pub empty_polls: u32,
    /// Time from a poll to the next.
    pub timeout_us: f64,
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
        let setting = &self.setting;
        let rx_usecs = match setting.get(Knob::RxUsecs) {
            Some(rx_usecs) => Some(applied_rx_usecs(profile, rx_usecs)?),
            None if profile.os.polls() => Some(0.0), // nothing is delayed or held back
            None => None,
        };
        let (qps, message_bytes) = self.applied_load(profile, rx_usecs)?;
        let duration_s = match self.length {
            Length::Seconds(seconds) => check(seconds, 1e-6, 1e6, "duration_s")?,
            Length::Requests(requests) => check(requests as f64, 1.0, 1e12, "requests")? / qps,
        };
        let freq_step = match setting.get(Knob::FreqMhz) {
            Some(freq_mhz) => {
                let steps_mhz = &profile.machine.freq_mhz;
                let freq_mhz = check(freq_mhz, steps_mhz[0], steps_mhz[steps_mhz.len() - 1], "freq_mhz")?;
                Some(pinned_step(&profile.machine, freq_mhz))
            }
            None => None,
        };
        let cap_w = setting.checked(profile, Knob::CapW)?;
        let governor_us = if freq_step.is_none() { profile.os.frequency_sampling_us } else { 0.0 };
        let cap_us = if cap_w.is_some() { CAP_WINDOW_US } else { 0.0 };
        let settling_s = 10e-6 * f64::max(governor_us, cap_us);
        let warmup_s = match self.warmup_s {
            Some(seconds) => check(seconds, 0.0, 1e6, "warmup_s")?,
            None => f64::max(0.1 * duration_s, settling_s),
        };
        let max_latency_us = setting.checked(profile, Knob::MaxLatencyUs)?.unwrap_or(f64::INFINITY);
        let empty_polls = setting.checked(profile, Knob::DeferHardIrqs)?.unwrap_or(0.0) as u32;
        let timeout_us = setting.checked(profile, Knob::GroFlushTimeoutUs)?.unwrap_or(0.0);
        Ok(Applied {
            rx_usecs,
            rx_frames: setting.checked(profile, Knob::RxFrames)?.map(|frames| frames as usize),
            deferral: (empty_polls > 0 && timeout_us > 0.0).then_some(Deferral { empty_polls, timeout_us }),
            freq_step,
            cap_w,
            idle_states: profile.machine.idle_states_within(max_latency_us).max(1),
            qps,
            message_bytes,
            duration_us: 1e6 * duration_s,
            warmup_us: 1e6 * warmup_s,
            seed: self.seed,
        })
    }

    /// The server that the setting leaves: fewer queues serve on fewer cores.
    pub fn server<'a>(&self, profile: &'a Profile) -> Result<Cow<'a, Profile>, Error> {
        Ok(match self.setting.checked(profile, Knob::CombinedQueues)? {
            Some(queues) => Cow::Owned(profile.with_queues(queues as usize)),
            None => Cow::Borrowed(profile),
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

/// rx-usecs as the driver applies it: rounded down to a whole number of steps from the least, refused out of range.
fn applied_rx_usecs(profile: &Profile, rx_usecs: f64) -> Result<f64, Error> {
    let nic = &profile.machine.nic;
    if profile.os.polls() {
        let rule = "rx_usecs must be left out: a polling core takes no interrupts that could be delayed";
        return Err(Error::cannot_use(format!("{rx_usecs} us"), rule).at("run, rx_usecs"));
    }
    let rx_usecs = check(rx_usecs, nic.rx_usecs_min, nic.rx_usecs_max, "rx_usecs")?;
    let steps = ((rx_usecs - nic.rx_usecs_min) / nic.rx_usecs_step + 1e-9).floor();
    Ok(nic.rx_usecs_min + steps * nic.rx_usecs_step)
}
