//! The knobs that the twin models, and which values of them a server takes.

use crate::power::PowerModel;
use crate::profile::{Dispatch, Profile};

/// A knob, by the name of its kernel interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// Interrupt delay in us (ITR-delay, `ethtool -C rx-usecs`).
    RxUsecs,
    /// Received packets that fire the interrupt whatever the delay (`ethtool -C rx-frames`).
    RxFrames,
    /// Receive queues in use (`ethtool -X equal`), each with a core that takes its interrupts and serves.
    CombinedQueues,
    /// Pinned core frequency in MHz.
    FreqMhz,
    /// Average power in W that each package may draw (RAPL through powercap).
    CapW,
    /// Longest time in us that a core may take to wake up (PM QoS).
    MaxLatencyUs,
    /// Empty polls of a receive queue before its interrupt is switched on again (NAPI).
    DeferHardIrqs,
    /// Time in us to the next poll of a receive queue while its interrupt is deferred (NAPI).
    GroFlushTimeoutUs,
}

/// Values of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Evenly spaced numbers.
    Steps {
        /// The least.
        least: f64,
        /// The greatest.
        greatest: f64,
        /// Their distance.
        step: f64,
    },
    /// These numbers, one or more, ascending.
    Choices(Vec<f64>),
}

/// Most empty polls, and longest time between them: more than anybody uses, less than the kernel takes.
const MOST_EMPTY_POLLS: f64 = 1000.0;
const LONGEST_TIMEOUT_US: f64 = 1000.0;

impl Knob {
    /// Every knob.
    pub const ALL: [Self; 8] = [
        Self::RxUsecs,
        Self::RxFrames,
        Self::CombinedQueues,
        Self::FreqMhz,
        Self::CapW,
        Self::MaxLatencyUs,
        Self::DeferHardIrqs,
        Self::GroFlushTimeoutUs,
    ];

    /// Its id, as the catalogue of `bayop-knobs` has it.
    pub fn id(self) -> &'static str {
        match self {
            Self::RxUsecs => "nic.rx_usecs",
            Self::RxFrames => "nic.rx_frames",
            Self::CombinedQueues => "nic.combined_queues",
            Self::FreqMhz => "cpu.freq_mhz",
            Self::CapW => "power.cap_w",
            Self::MaxLatencyUs => "idle.max_latency_us",
            Self::DeferHardIrqs => "napi.defer_hard_irqs",
            Self::GroFlushTimeoutUs => "napi.gro_flush_timeout_us",
        }
    }

    /// The knob of that id.
    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|knob| knob.id() == id)
    }

    /// The values that a server takes; `None` when it has no such knob.
    pub fn domain(self, profile: &Profile) -> Option<Domain> {
        let (machine, nic) = (&profile.machine, &profile.machine.nic);
        let steps = |least: f64, greatest: f64, step: f64| Some(Domain::Steps { least, greatest, step });
        let (polls, closed) = (profile.os.polls(), profile.exchange.is_some());
        let is_linux = profile.os.dispatch == Dispatch::Steered && !closed;
        match self {
            Self::RxUsecs => steps(nic.rx_usecs_min, nic.rx_usecs_max, nic.rx_usecs_step).filter(|_| !polls),
            Self::RxFrames => {
                steps(1.0, nic.rx_frames_max as f64, 1.0).filter(|_| nic.rx_frames_max > 0 && !polls && !closed)
            }
            Self::CombinedQueues => steps(1.0, profile.serving_cores() as f64, 1.0).filter(|_| !closed),
            Self::FreqMhz => Some(Domain::Choices(machine.freq_mhz.clone())),
            Self::CapW => {
                let power = PowerModel::new(profile);
                let [least_w, greatest_w] =
                    [0, machine.freq_mhz.len() - 1].map(|step| power.busy_package_w(step).ceil());
                // Policies that act at events know no cap.
                steps(least_w, greatest_w, 1.0).filter(|_| !profile.os.frequency_governor.acts_at_events())
            }
            Self::MaxLatencyUs => {
                let mut latencies_us: Vec<f64> = machine.idle_states.iter().map(|s| s.exit_latency_us).collect();
                latencies_us.sort_by(f64::total_cmp);
                latencies_us.dedup();
                Some(Domain::Choices(latencies_us)).filter(|_| !polls)
            }
            Self::DeferHardIrqs => steps(0.0, MOST_EMPTY_POLLS, 1.0).filter(|_| is_linux),
            Self::GroFlushTimeoutUs => steps(0.0, LONGEST_TIMEOUT_US, 1.0).filter(|_| is_linux),
        }
    }
}

impl Domain {
    /// The least and the greatest value.
    pub fn ends(&self) -> (f64, f64) {
        match self {
            Self::Steps { least, greatest, .. } => (*least, *greatest),
            Self::Choices(numbers) => (numbers[0], numbers[numbers.len() - 1]),
        }
    }
}
