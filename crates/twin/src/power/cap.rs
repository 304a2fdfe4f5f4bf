//! A cap on the power of each package, as RAPL keeps it.

use super::{Energy, PowerModel};
use crate::profile::Profile;
use crate::time::CoreTime;

/// How long power is averaged. RAPL's window is programmable from about a millisecond to seconds (Intel Software
/// Developer's Manual 3B, "Package RAPL Domain"); under a steady load its length only decides how soon the cap holds.
pub const CAP_WINDOW_US: f64 = 10_000.0;

/// Holds packages under a cap: after every window each may run at the highest P-state at which what its cores did in
/// that window would have drawn no more.
#[derive(Clone, Debug)]
pub struct PowerCap {
    cap_w: f64,
    package_cores: usize,
    freq_mhz: Vec<f64>,
    power: PowerModel,
    /// Time of each core in the window under way.
    times: Vec<CoreTime>,
    /// Highest P-state of every package.
    ceilings: Vec<usize>,
}

impl PowerCap {
    /// A cap on every package of `profile` that nothing was held to yet.
    pub fn new(profile: &Profile, cap_w: f64) -> Self {
        let machine = &profile.machine;
        Self {
            cap_w,
            package_cores: machine.package_cores(),
            freq_mhz: machine.freq_mhz.clone(),
            power: PowerModel::new(profile),
            times: vec![CoreTime::default(); machine.cores],
            ceilings: vec![machine.freq_mhz.len() - 1; machine.packages()],
        }
    }

    /// The P-state that `core` may have when it asks for `step`.
    pub fn allowed(&self, core: usize, step: usize) -> usize {
        step.min(self.ceilings[core / self.package_cores])
    }

    /// Adds what every core did.
    pub fn add(&mut self, cores: &[CoreTime]) {
        self.times.iter_mut().zip(cores).for_each(|(sum, time)| *sum += time);
    }

    /// Ends a window of cores that asked for the P-states `asked`.
    pub fn end_window(&mut self, asked: &[usize]) {
        for (package, first) in (0..self.times.len()).step_by(self.package_cores).enumerate() {
            let cores = first..(first + self.package_cores).min(self.times.len());
            let highest = cores.clone().map(|core| asked[core]).max().unwrap_or(0);
            let fits = |&ceiling: &usize| {
                let cores_w = cores.clone().map(|core| self.core_w(core, asked[core], ceiling));
                self.power.package_static_w(cores.len()) + cores_w.sum::<f64>() <= self.cap_w
            };
            self.ceilings[package] = (0..=highest).rev().find(fits).unwrap_or(0);
        }
        self.times.fill(CoreTime::default());
    }

    /// What `core` would have drawn under another ceiling. At a lower clock it would have been busy for longer; at a
    /// higher one for no less, which is cautious and keeps the package from going back and forth.
    fn core_w(&self, core: usize, asked: usize, ceiling: usize) -> f64 {
        let time = &self.times[core];
        let (now, then) = (self.allowed(core, asked), asked.min(ceiling));
        let idle_us = CAP_WINDOW_US - time.busy_us;
        let slowdown = f64::max(self.freq_mhz[now] / self.freq_mhz[then], 1.0);
        let busy_us = f64::min(time.busy_us * slowdown, CAP_WINDOW_US);
        let idle_share = if idle_us > 0.0 { (CAP_WINDOW_US - busy_us) / idle_us } else { 0.0 };
        let mut energy = Energy::default();
        self.power.add_cores(&mut energy, then, &time.with_busy(busy_us, idle_share));
        energy.total_j() / (CAP_WINDOW_US * 1e-6)
    }
}
