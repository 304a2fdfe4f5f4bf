//! Package power from what the cores did.

pub mod cap;

use crate::profile::{IdleState, Profile};
use crate::time::CoreTime;

/// Parts of the energy of a window; their sum is the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Packages while nothing runs, awake or asleep, and the application's constant share.
    pub static_j: f64,
    /// Busy cores, and those that poll while they are idle.
    pub busy_j: f64,
    /// Halted, not yet settled cores.
    pub halted_j: f64,
    /// Settled idle states.
    pub settled_j: f64,
}

impl Energy {
    /// The sum of the parts.
    pub fn total_j(&self) -> f64 {
        self.static_j + self.busy_j + self.halted_j + self.settled_j
    }
}

/// Turns times into energy.
#[derive(Clone, Debug)]
pub struct PowerModel {
    static_w: f64,
    /// What all packages save asleep.
    asleep_saves_w: f64,
    cores: usize,
    package_cores: usize,
    busy_w: Vec<f64>,
    halted_w: Vec<f64>,
    /// Power of a core that polls while it is idle.
    polling_w: Vec<f64>,
    idle_states: Vec<IdlePower>,
}

/// What a core draws in one idle state.
#[derive(Clone, Copy, Debug)]
enum IdlePower {
    /// It executes a loop.
    Polling,
    /// It is halted, and draws so much once the state has settled.
    Settled(f64),
}

impl PowerModel {
    /// Coefficients of `profile`, evaluated at every P-state.
    pub fn new(profile: &Profile) -> Self {
        let power = &profile.machine.power;
        let freq_mhz = &profile.machine.freq_mhz;
        let max_mhz = freq_mhz[freq_mhz.len() - 1];
        let g: Vec<f64> = freq_mhz.iter().map(|f| (f / max_mhz).powf(power.frequency_exponent)).collect();
        let busy_w = |activity: f64| {
            g.iter().map(|g| activity * (power.busy_core_w + power.busy_core_at_max_freq_w * g)).collect::<Vec<_>>()
        };
        let in_state = |state: &IdleState| {
            if state.exit_latency_us == 0.0 { IdlePower::Polling } else { IdlePower::Settled(state.settled_w) }
        };
        Self {
            static_w: power.static_w + profile.app.static_w,
            asleep_saves_w: power.asleep_w.map_or(0.0, |asleep_w| power.static_w - asleep_w),
            cores: profile.machine.cores,
            package_cores: profile.machine.package_cores(),
            busy_w: busy_w(profile.app.activity_factor),
            halted_w: g.iter().map(|g| power.halted_core_at_max_freq_w * g).collect(),
            polling_w: busy_w(1.0),
            idle_states: profile.machine.idle_states.iter().map(in_state).collect(),
        }
    }

    /// Adds the energy of core time spent at P-state `step`.
    pub fn add_cores(&self, energy: &mut Energy, step: usize, time: &CoreTime) {
        energy.busy_j += time.busy_us * 1e-6 * self.busy_w[step];
        for (idle, power) in time.idle.iter().zip(&self.idle_states) {
            match power {
                IdlePower::Polling => energy.busy_j += idle.total_us() * 1e-6 * self.polling_w[step],
                IdlePower::Settled(settled_w) => {
                    energy.halted_j += idle.halted_us * 1e-6 * self.halted_w[step];
                    energy.settled_j += idle.settled_us * 1e-6 * settled_w;
                }
            }
        }
    }

    /// Takes off what packages save asleep when all cores spent `window_us` like this: cores settle independently.
    pub fn take_off_asleep(&self, energy: &mut Energy, cores: &[CoreTime], window_us: f64) {
        let deepest = self.idle_states.len() - 1;
        for package in cores.chunks(self.package_cores).filter(|_| self.asleep_saves_w > 0.0) {
            let share: f64 = package.iter().map(|time| time.idle[deepest].settled_us / window_us).product();
            let saved_w = self.asleep_saves_w * package.len() as f64 / cores.len() as f64;
            energy.static_j -= share * window_us * 1e-6 * saved_w;
        }
    }

    /// Adds what is drawn whatever the cores do.
    pub fn add_static(&self, energy: &mut Energy, window_us: f64) {
        energy.static_j += window_us * 1e-6 * self.static_w;
    }

    /// What a package of so many cores draws whatever they do.
    pub fn package_static_w(&self, cores: usize) -> f64 {
        self.static_w * cores as f64 / self.cores as f64
    }

    /// Power of one package whose cores are all busy at P-state `step`: the most that it draws there.
    pub fn busy_package_w(&self, step: usize) -> f64 {
        let cores = self.package_cores.min(self.cores);
        self.package_static_w(cores) + cores as f64 * self.busy_w[step]
    }
}
