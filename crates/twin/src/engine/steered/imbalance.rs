//! How evenly requests fall on application threads.

use crate::balance::{self, CHOICES};
use crate::profile::Profile;
use crate::run::Applied;

/// How unevenly the application threads are loaded.
pub struct Imbalance {
    requests_per_us: f64,
    relative_sd: f64,
    hot_share: f64,
    exponent: f64,
}

impl Imbalance {
    /// The imbalance of `profile` at the load of `run`.
    pub fn new(profile: &Profile, run: &Applied) -> Self {
        Self {
            requests_per_us: run.qps * 1e-6 / profile.serving_cores() as f64,
            relative_sd: profile.app.thread_imbalance_share,
            hot_share: profile.app.hot_thread_share,
            exponent: profile.app.thread_imbalance_exponent,
        }
    }

    /// Equally likely targets of a request when serving one takes `service_us` on average.
    pub fn targets(&self, cores: usize, service_us: f64) -> [u8; CHOICES] {
        let scale = (self.requests_per_us * service_us).min(1.0).powf(self.exponent);
        balance::choice_table(&balance::weights(cores, scale * self.relative_sd, scale * self.hot_share))
    }
}
