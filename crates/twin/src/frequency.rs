//! Frequency policies: which P-state each core asks for, and what the hardware then runs.

use crate::profile::{FrequencyPolicy, Machine, Profile};

/// Decides frequencies from load; looks at every core once per sampling period.
#[derive(Clone, Debug)]
pub struct FrequencyGovernor {
    policy: FrequencyPolicy,
    up_threshold: f64,
    domain_cores: usize,
    freq_mhz: Vec<f64>,
}

impl FrequencyGovernor {
    /// The default policy of `profile`.
    pub fn new(profile: &Profile) -> Self {
        let (os, machine) = (&profile.os, &profile.machine);
        Self {
            policy: os.frequency_governor,
            up_threshold: os.frequency_up_threshold_share,
            domain_cores: machine.frequency_domain_cores * profile.threads_per_core(),
            freq_mhz: machine.freq_mhz.clone(),
        }
    }

    /// P-state (index) of every core before anything was measured.
    pub fn initial_step(&self) -> usize {
        match self.policy {
            FrequencyPolicy::Powersave | FrequencyPolicy::Rubik | FrequencyPolicy::Oracle => 0,
            FrequencyPolicy::Performance | FrequencyPolicy::Ondemand | FrequencyPolicy::Nmap => self.freq_mhz.len() - 1,
        }
    }

    /// Whether the policy looks at load from time to time.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.policy, FrequencyPolicy::Ondemand | FrequencyPolicy::Nmap)
    }

    /// Of a policy that looks at load: new P-state of every core from its load (0 to 1) in the last period, and the part
    /// of it in which the core was active.
    ///
    /// ondemand (`drivers/cpufreq/cpufreq_ondemand.c`): above the threshold the greatest
    /// frequency; below it `f_min + load (f_max - f_min)`, at the closest step. Cores of one
    /// clock domain then share [one](Self::shared_step).
    pub fn decide(&self, loads: &[f64], active: &[f64]) -> Vec<usize> {
        let mut steps: Vec<usize> = loads.iter().map(|&load| self.step_for(load)).collect();
        let cores = self.domain_cores.max(1);
        for (domain, active) in steps.chunks_mut(cores).zip(active.chunks(cores)) {
            domain.fill(self.shared_step(domain, active));
        }
        steps
    }

    /// P-state of a clock domain whose cores ask for P-states `asked`.
    ///
    /// "The highest frequency P-state requested amongst all active cores is selected" (Intel Xeon E5-2600, Datasheet -
    /// Volume One, section 4.2.1), at every moment. Here a period has one clock, so it is the one that its active cores
    /// had on average, if they were active for the parts `active` of the period independently of each other.
    fn shared_step(&self, asked: &[usize], active: &[f64]) -> usize {
        let mut cores: Vec<usize> = (0..asked.len()).collect();
        cores.sort_by_key(|&core| std::cmp::Reverse(asked[core]));
        let mut sum_mhz = 0.0;
        for &one in &cores {
            let mut faster_idle = 1.0; // probability that no core with a greater request is active while `one` is
            for &core in &cores {
                let share = if core == one { 1.0 } else { active[core] };
                sum_mhz += active[one] * faster_idle * share * self.freq_mhz[asked[core]];
                faster_idle *= 1.0 - share;
            }
        }
        let sum_active: f64 = active.iter().sum();
        if sum_active > 0.0 { self.closest_step(sum_mhz / sum_active) } else { asked[cores[0]] }
    }

    fn step_for(&self, load: f64) -> usize {
        let last = self.freq_mhz.len() - 1;
        if load > self.up_threshold {
            return last;
        }
        self.closest_step(self.freq_mhz[0] + load * (self.freq_mhz[last] - self.freq_mhz[0]))
    }

    /// The step closest to a frequency (CPUFREQ_RELATION_C).
    fn closest_step(&self, wanted_mhz: f64) -> usize {
        let last = self.freq_mhz.len() - 1;
        let above = self.freq_mhz.partition_point(|&f| f < wanted_mhz).min(last);
        let closer_below = above > 0 && wanted_mhz - self.freq_mhz[above - 1] < self.freq_mhz[above] - wanted_mhz;
        if closer_below { above - 1 } else { above }
    }
}

/// The P-state that a pinned frequency within the machine's range gets: the lowest step at or above it
/// (Linux's userspace governor, `CPUFREQ_RELATION_L`).
pub fn pinned_step(machine: &Machine, freq_mhz: f64) -> usize {
    machine.freq_mhz.partition_point(|&f| f < freq_mhz - 1e-6)
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
        assert_eq!(governor(1).decide(&[0.0, 0.2, 0.4, 0.7, 0.8, 0.96], &[0.5; 6]), [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn a_domain_runs_at_its_greatest_request() {
        assert_eq!(governor(2).decide(&[0.0, 0.5, 0.1, 0.2], &[1.0; 4]), [1, 1, 0, 0]);
    }

    #[test]
    fn a_core_asks_while_it_is_active() {
        // The second core sees 1000 + 0.1 x 500 MHz, or 1000 + 0.9 x 500; the first one 1500.
        assert_eq!(governor(2).decide(&[0.5, 0.1, 0.5, 0.1], &[0.1, 1.0, 0.9, 1.0]), [0, 0, 1, 1]);
        assert_eq!(governor(2).decide(&[0.5, 0.1], &[0.0, 0.0]), [1, 1], "nobody is active");
    }
}
