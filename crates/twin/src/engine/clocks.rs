//! The P-states of all CPUs: what a setting or a policy asks for, and what turbo and a power cap leave of it.

use super::accounts::Accounts;
use super::vector::{NEVER_US, min};
use crate::frequency::FrequencyGovernor;
use crate::power::cap::{CAP_WINDOW_US, PowerCap};
use crate::profile::Profile;
use crate::run::Applied;
use crate::turbo::Turbo;

/// Clocks of a server whose frequency is pinned or sampled. Policies that act at events set theirs in the server.
pub struct Clocks {
    threads_per_core: usize,
    /// P-state that each CPU asks for.
    asked: Vec<usize>,
    /// P-state that each CPU has.
    steps: Vec<usize>,
    governor: FrequencyGovernor,
    acts_at_events: bool,
    sampling_us: f64,
    /// When the governor looks next.
    sample_us: f64,
    /// Whether the governor has just decided for a policy that changes P-states in between.
    has_decided: bool,
    /// Load of CPUs that are spare.
    spare_load: f64,
    turbo: Option<Turbo>,
    turbo_window_us: f64,
    /// When packages look next at how many cores are active.
    turbo_us: f64,
    cap: Option<PowerCap>,
    /// When the cap's window ends.
    cap_us: f64,
}

impl Clocks {
    /// Clocks at time zero.
    pub fn new(profile: &Profile, run: &Applied) -> Self {
        let governor = FrequencyGovernor::new(profile);
        let is_sampled = run.freq_step.is_none() && governor.is_dynamic();
        let sampling_us = if is_sampled { profile.os.frequency_sampling_us } else { NEVER_US };
        let asked = vec![run.freq_step.unwrap_or(governor.initial_step()); profile.cpus()];
        let turbo = Turbo::new(&profile.machine, run.freq_step);
        let cap = run.cap_w.map(|cap_w| PowerCap::new(profile, cap_w));
        let mut clocks = Self {
            threads_per_core: profile.threads_per_core(),
            steps: asked.clone(),
            asked,
            governor,
            acts_at_events: profile.os.frequency_governor.acts_at_events(),
            sampling_us,
            sample_us: sampling_us,
            has_decided: false,
            spare_load: profile.app.spare_core_load_share,
            turbo_window_us: Turbo::window_us(profile),
            turbo_us: if turbo.is_some() { Turbo::window_us(profile) } else { NEVER_US },
            turbo,
            cap_us: if cap.is_some() { CAP_WINDOW_US } else { NEVER_US },
            cap,
        };
        clocks.steps = (0..clocks.asked.len()).map(|cpu| clocks.left(cpu)).collect();
        clocks
    }

    /// P-state of every CPU.
    pub fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// When anybody looks next at what cores did.
    pub fn next_us(&self) -> f64 {
        min(min(self.sample_us, self.turbo_us), self.cap_us)
    }

    /// Looks at the slice that ended at `now_us`; those whose time has come act.
    pub fn look(&mut self, now_us: f64, accounts: &mut Accounts) {
        if let Some(turbo) = &mut self.turbo {
            turbo.look(&accounts.cores);
            if now_us == self.turbo_us {
                self.turbo_us += self.turbo_window_us;
            }
        }
        if let Some(cap) = &mut self.cap {
            cap.add(&accounts.cores);
        }
        if now_us == self.sample_us {
            let loads = self.shares_without(&mut accounts.unloaded_us);
            let active = self.shares_without(&mut accounts.halted_us);
            self.asked = self.governor.decide(&loads, &active);
            self.has_decided = self.acts_at_events;
            self.sample_us += self.sampling_us;
        }
        if now_us == self.cap_us {
            let wanted: Vec<usize> = (0..accounts.cores.len()).map(|core| self.wanted(core)).collect();
            self.cap.iter_mut().for_each(|cap| cap.end_window(&wanted));
            self.cap_us += CAP_WINDOW_US;
        }
    }

    /// Gives every CPU the P-state that it is left, and tells `set` which are new; all of them when the governor has
    /// decided for a policy that may have set others since.
    pub fn set(&mut self, mut set: impl FnMut(usize, usize)) {
        let tells_all = std::mem::take(&mut self.has_decided);
        for cpu in 0..self.steps.len() {
            let step = self.left(cpu);
            if std::mem::replace(&mut self.steps[cpu], step) != step || tells_all {
                set(cpu, step);
            }
        }
    }

    /// The part of a sampling period that is left of each CPU without `times_us`, which is taken.
    fn shares_without(&self, times_us: &mut [f64]) -> Vec<f64> {
        let mut shares = vec![self.spare_load; self.asked.len()];
        for (share, us) in shares.iter_mut().zip(times_us) {
            *share = (1.0 - std::mem::take(us) / self.sampling_us).clamp(0.0, 1.0);
        }
        shares
    }

    /// P-state that a core would have without a cap.
    fn wanted(&self, core: usize) -> usize {
        let asked = self.asked[core * self.threads_per_core];
        self.turbo.as_ref().map_or(asked, |turbo| turbo.allowed(core, asked))
    }

    fn left(&self, cpu: usize) -> usize {
        let core = cpu / self.threads_per_core;
        let wanted = self.wanted(core);
        self.cap.as_ref().map_or(wanted, |cap| cap.allowed(core, wanted))
    }
}
