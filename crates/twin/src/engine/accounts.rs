//! Where the time of all cores goes, and what it costs.

use crate::power::{Energy, PowerModel};
use crate::profile::Profile;
use crate::time::{CoreTime, IdleTime};

/// The books of one simulation, kept slice by slice.
///
/// To the operating system hyperthreads are CPUs; a CPU serves, is parked, or is spare. To power they are one core,
/// which is busy while any of them is.
pub struct Accounts {
    power: PowerModel,
    freq_mhz: Vec<f64>,
    threads_per_core: usize,
    /// CPUs that serve, or could if they had a queue.
    counted_cpus: usize,
    /// What each CPU did in the slice.
    pub cpus: Vec<CoreTime>,
    /// What each core did in it.
    pub cores: Vec<CoreTime>,
    /// All that counted CPUs did in the window.
    pub window: CoreTime,
    /// What each of them did in it.
    pub cpu_windows: Vec<CoreTime>,
    /// Energy of the window.
    pub energy: Energy,
    /// Busy time of counted CPUs in the window, each part of it times the frequency at which it was spent.
    pub busy_mhz_us: f64,
    /// What the kernel counts as idle time, of each counted CPU, since it was last taken.
    pub unloaded_us: Vec<f64>,
    /// How long each counted CPU executed nothing, likewise.
    pub halted_us: Vec<f64>,
    /// Idle states that only poll come before this one.
    halting: usize,
}

impl Accounts {
    /// Empty books of a server.
    pub fn new(profile: &Profile) -> Self {
        let counted_cpus = profile.serving_cores() + profile.parked_cores;
        Self {
            power: PowerModel::new(profile),
            freq_mhz: profile.machine.freq_mhz.clone(),
            threads_per_core: profile.threads_per_core(),
            counted_cpus,
            cpus: vec![CoreTime::default(); profile.cpus()],
            cores: vec![CoreTime::default(); profile.machine.cores],
            window: CoreTime::default(),
            cpu_windows: vec![CoreTime::default(); counted_cpus],
            energy: Energy::default(),
            busy_mhz_us: 0.0,
            unloaded_us: vec![0.0; counted_cpus],
            halted_us: vec![0.0; counted_cpus],
            halting: profile.machine.idle_states_within(0.0),
        }
    }

    /// Begins a window.
    pub fn begin_window(&mut self) {
        self.window = CoreTime::default();
        self.cpu_windows.fill(CoreTime::default());
        self.energy = Energy::default();
        self.busy_mhz_us = 0.0;
    }

    /// Adds what `cpu` did in the slice at P-state `step`.
    pub fn add(&mut self, cpu: usize, step: usize, time: &CoreTime) {
        self.cpus[cpu] += time;
        if cpu < self.counted_cpus {
            self.window += time;
            self.cpu_windows[cpu] += time;
            self.busy_mhz_us += time.busy_us * self.freq_mhz[step];
            self.unloaded_us[cpu] += time.unloaded_us;
            self.halted_us[cpu] += time.idle[self.halting..].iter().map(IdleTime::total_us).sum::<f64>();
        }
        if self.threads_per_core == 1 {
            self.power.add_cores(&mut self.energy, step, time);
        }
    }

    /// Charges the slice, whose cores ran at P-states `steps`, by CPU.
    pub fn charge(&mut self, steps: &[usize], slice_us: f64) {
        for (core, threads) in self.cpus.chunks(self.threads_per_core).enumerate() {
            self.cores[core] = CoreTime::of_core(threads, slice_us);
            if self.threads_per_core > 1 {
                let step = steps[core * self.threads_per_core];
                self.power.add_cores(&mut self.energy, step, &self.cores[core]);
            }
        }
        self.power.add_static(&mut self.energy, slice_us);
        self.power.take_off_asleep(&mut self.energy, &self.cores, slice_us);
    }

    /// Ends the slice.
    pub fn end_slice(&mut self) {
        self.cpus.fill(CoreTime::default());
    }
}
