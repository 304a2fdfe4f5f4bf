//! CPUs that serve nothing.

use super::IdleModel;
use crate::profile::Profile;
use crate::run::Applied;
use crate::time::CoreTime;

/// A CPU that serves nothing: but for a load of its own it sleeps in the deepest state that it may enter.
#[derive(Clone, Debug)]
pub struct Unused {
    model: IdleModel,
    load_share: f64,
    /// To when its time was taken.
    taken_us: f64,
}

impl Unused {
    /// One that nothing ever wakes.
    pub fn parked(profile: &Profile, run: &Applied) -> Self {
        Self { model: IdleModel::new(profile, run), load_share: 0.0, taken_us: 0.0 }
    }

    /// One for other work than the service, which keeps others from settling, but not itself.
    pub fn spare(profile: &Profile, run: &Applied) -> Self {
        let model = IdleModel { awake_share: 0.0, ..IdleModel::new(profile, run) };
        Self { model, load_share: profile.app.spare_core_load_share, taken_us: 0.0 }
    }

    /// Where the time went from when it was last taken until `until_us`.
    pub fn take_time(&mut self, until_us: f64) -> CoreTime {
        let state = self.model.table.len() - 1;
        let halted_us = self.model.halted_us(state, until_us) - self.model.halted_us(state, self.taken_us);
        let slice_us = until_us - std::mem::replace(&mut self.taken_us, until_us);
        let asleep_share = 1.0 - self.load_share;
        let mut time = CoreTime { busy_us: self.load_share * slice_us, ..CoreTime::default() };
        time.idle[state].halted_us = asleep_share * halted_us;
        time.idle[state].settled_us = asleep_share * (slice_us - halted_us);
        time.unloaded_us = asleep_share * slice_us;
        time
    }
}
