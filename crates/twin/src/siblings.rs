//! Hyperthreads slow each other while both are busy.

use crate::costs::Costs;
use crate::profile::Profile;
use crate::time::CoreTime;

/// How long what was seen before counts.
const MEMORY_US: f64 = 10_000.0;
/// Costs change in steps of the busy share, so many to the whole.
const STEPS: f64 = 100.0;

/// How much the threads of all cores slow each other, from how busy they are on average.
pub struct Siblings<'a> {
    profile: &'a Profile,
    busy_share: f64,
    applied: usize,
    /// Costs at each step of the busy share at which they were wanted: making them takes longer than what is simulated
    /// in between.
    tables: Vec<Option<Vec<Costs>>>,
}

impl<'a> Siblings<'a> {
    /// All threads idle; `None` when the server has no threads that slow each other.
    pub fn new(profile: &'a Profile) -> Option<Self> {
        let some = profile.threads_per_core() > 1 && profile.machine.busy_sibling_factor > 1.0;
        some.then_some(Self { profile, busy_share: 0.0, applied: 0, tables: vec![None; STEPS as usize + 1] })
    }

    /// Looks at what every thread did for `window_us`. Returns what everything costs from now on, if that changes.
    pub fn look(&mut self, threads: &[CoreTime], window_us: f64) -> Option<Vec<Costs>> {
        let busy_us: f64 = threads.iter().map(|time| time.busy_us).sum();
        let now = busy_us / (window_us * threads.len() as f64);
        let memory = (-window_us / MEMORY_US).exp();
        self.busy_share = (memory * self.busy_share + (1.0 - memory) * now).clamp(0.0, 1.0);
        let step = (self.busy_share * STEPS).round() as usize;
        if std::mem::replace(&mut self.applied, step) == step {
            return None;
        }
        let costs = self.tables[step].get_or_insert_with(|| Costs::table(self.profile, step as f64 / STEPS));
        Some(costs.clone())
    }
}
