//! Frequency policies: which P-state each core asks for, and what the hardware then runs.

use crate::profile::{FrequencyPolicy, Machine, Os};

/// Decides frequencies from load; looks at every core once per sampling period.
#[derive(Clone, Debug)]
pub struct FrequencyGovernor {
    policy: FrequencyPolicy,
    up_threshold: f64,
    domain_cores: usize,
    freq_mhz: Vec<f64>,
}

impl FrequencyGovernor {
    /// The default policy of `os` on `machine`.
    pub fn new(os: &Os, machine: &Machine) -> Self {
        Self {
            policy: os.frequency_governor,
            up_threshold: os.frequency_up_threshold_share,
            domain_cores: machine.frequency_domain_cores,
            freq_mhz: machine.freq_mhz.clone(),
        }
    }

    /// P-state (index) of every core before anything was measured.
    pub fn initial_step(&self) -> usize {
        match self.policy {
            FrequencyPolicy::Powersave => 0,
            FrequencyPolicy::Performance | FrequencyPolicy::Ondemand => self.freq_mhz.len() - 1,
        }
    }

    /// Whether the policy depends on load at all.
    pub fn is_dynamic(&self) -> bool {
        self.policy == FrequencyPolicy::Ondemand
    }

    /// New P-state of every core from its load (0 to 1) in the last period.
    ///
    /// ondemand (`drivers/cpufreq/cpufreq_ondemand.c`): above the threshold the greatest
    /// frequency; below it `f_min + load (f_max - f_min)`, at the closest step. Cores of one
    /// clock domain then run at the greatest request among them.
    pub fn decide(&self, loads: &[f64]) -> Vec<usize> {
        let mut steps: Vec<usize> = loads.iter().map(|&load| self.step_for(load)).collect();
        for domain in steps.chunks_mut(self.domain_cores.max(1)) {
            let greatest = domain.iter().copied().max().unwrap_or(0);
            domain.fill(greatest);
        }
        steps
    }

    fn step_for(&self, load: f64) -> usize {
        let last = self.freq_mhz.len() - 1;
        if self.policy != FrequencyPolicy::Ondemand {
            return self.initial_step();
        }
        if load > self.up_threshold {
            return last;
        }
        let wanted_mhz = self.freq_mhz[0] + load * (self.freq_mhz[last] - self.freq_mhz[0]);
        // The step closest to it (CPUFREQ_RELATION_C).
        let above = self.freq_mhz.partition_point(|&f| f < wanted_mhz).min(last);
        let closer_below = above > 0 && wanted_mhz - self.freq_mhz[above - 1] < self.freq_mhz[above] - wanted_mhz;
        if closer_below { above - 1 } else { above }
    }
}

/// The P-state that a pinned frequency gets: the lowest step at or above it, else the greatest
/// (Linux's userspace governor, `CPUFREQ_RELATION_L`).
pub fn pinned_step(machine: &Machine, freq_mhz: f64) -> usize {
    machine.freq_mhz.partition_point(|&f| f < freq_mhz - 1e-6).min(machine.freq_mhz.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn governor(domain_cores: usize) -> FrequencyGovernor {
        FrequencyGovernor {
            policy: FrequencyPolicy::Ondemand,
            up_threshold: 0.95,
            domain_cores,
            freq_mhz: vec![1000.0, 1500.0, 2000.0],
        }
    }

    #[test]
    fn proportional_below_the_threshold_and_maximum_above() {
        assert_eq!(governor(1).decide(&[0.0, 0.2, 0.4, 0.7, 0.8, 0.96]), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_domain_runs_at_its_greatest_request() {
        assert_eq!(governor(2).decide(&[0.0, 0.5, 0.1, 0.2]), [1, 1, 0, 0]);
    }
}
