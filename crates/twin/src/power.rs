//! Package power from what the cores did.

use crate::profile::{IdleState, Profile};

/// Energy-relevant times summed over cores, all at one frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoreTime {
    /// Not halted.
    pub busy_us: f64,
    /// Halted, but the idle state has not settled.
    pub halted_us: f64,
}

/// Parts of the energy of a window; their sum is the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Packages while nothing runs, and the application's constant share.
    pub static_j: f64,
    /// Busy cores.
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
    busy_w: Vec<f64>,
    halted_w: Vec<f64>,
}

impl PowerModel {
    /// Coefficients of `profile`, evaluated at every P-state.
    pub fn new(profile: &Profile) -> Self {
        let power = &profile.machine.power;
        let freq_mhz = &profile.machine.freq_mhz;
        let max_mhz = freq_mhz[freq_mhz.len() - 1];
        let g: Vec<f64> = freq_mhz.iter().map(|f| (f / max_mhz).powf(power.frequency_exponent)).collect();
        let activity = profile.app.activity_factor;
        Self {
            static_w: power.static_w + profile.app.static_w,
            busy_w: g.iter().map(|g| activity * (power.busy_core_w + power.busy_core_at_max_freq_w * g)).collect(),
            halted_w: g.iter().map(|g| power.halted_core_at_max_freq_w * g).collect(),
        }
    }

    /// Adds the energy of core time spent at P-state `step`.
    pub fn add_cores(&self, energy: &mut Energy, step: usize, time: CoreTime) {
        energy.busy_j += time.busy_us * 1e-6 * self.busy_w[step];
        energy.halted_j += time.halted_us * 1e-6 * self.halted_w[step];
    }

    /// Adds what does not depend on frequency: the static part over the window and each settled
    /// idle state (core-microseconds by state).
    pub fn add_static(&self, energy: &mut Energy, window_us: f64, states: &[IdleState], settled_us: &[f64]) {
        energy.static_j += window_us * 1e-6 * self.static_w;
        energy.settled_j += states.iter().zip(settled_us).map(|(s, us)| s.settled_w * us * 1e-6).sum::<f64>();
    }
}
