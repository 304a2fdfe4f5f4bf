//! How service times vary from request to request.

use crate::balance::normal_quantile;
use crate::profile::App;

/// Service times tabulated; a power of two.
const TABLE: usize = 1024;

/// Service times relative to their mean, at equally likely quantiles.
///
/// Most requests take a log-normal time (a constant one when [`App::service_log_sd`] is 0) plus an
/// exponential one that grows with it; a share of long requests (the delivery and stock-level
/// transactions of TPC-C) take a multiple of that.
#[derive(Clone, Debug)]
pub struct ServiceTimes {
    factors: Box<[f32; TABLE]>,
}

impl ServiceTimes {
    /// The distribution of `app`.
    pub fn new(app: &App) -> Self {
        let long = (app.long_request_share * TABLE as f64).round() as usize;
        let exponential = app.service_exponential_share;
        let quantile = |i: usize, n: usize| {
            let share = (i as f64 + 0.5) / n as f64;
            let log_normal = (app.service_log_sd * (normal_quantile(share) - app.service_log_sd / 2.0)).exp();
            (1.0 - exponential) * log_normal - exponential * (1.0 - share).ln()
        };
        let factor = |i: usize| {
            if i < long { app.long_request_factor * quantile(i, long) } else { quantile(i - long, TABLE - long) }
        };
        let mean = (0..TABLE).map(factor).sum::<f64>() / TABLE as f64;
        Self { factors: Box::new(std::array::from_fn(|i| (factor(i) / mean) as f32)) }
    }

    /// One service time relative to the mean, from the upper bits of 64 random ones.
    #[inline(always)]
    pub fn factor(&self, bits: u64) -> f64 {
        f64::from(self.factors[(bits >> 32) as usize % TABLE])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn the_mean_is_one_and_long_requests_stretch_the_tail() {
        let text = include_str!("../../../python/bayop/twin/profiles/linux_silo.toml");
        let mut app = Profile::parse(text, "linux_silo.toml").unwrap().app;
        let spread = |app: &App| {
            let factors = ServiceTimes::new(app).factors;
            let mean = factors.iter().sum::<f32>() / TABLE as f32;
            assert!((mean - 1.0).abs() < 1e-4, "{mean}");
            factors.iter().copied().fold(0.0, f32::max)
        };
        app.service_exponential_share = 0.3;
        app.long_request_share = 0.0;
        let without = spread(&app);
        app.long_request_share = 0.05;
        app.long_request_factor = 5.0;
        assert!(spread(&app) > 2.0 * without);
    }

    #[test]
    fn log_normal_times_have_the_quantiles_of_a_log_normal() {
        let text = include_str!("../../../python/bayop/twin/profiles/linux_memcached.toml");
        let mut app = Profile::parse(text, "linux_memcached.toml").unwrap().app;
        app.service_exponential_share = 0.0;
        for sd in [0.0, 0.05, 0.4, 0.8] {
            app.service_log_sd = sd;
            let factors = ServiceTimes::new(&app).factors;
            for (share, normal) in [(0.5, 0.0), (0.95, 1.645), (0.99, 2.326)] {
                let expected = (sd * (normal - sd / 2.0)).exp();
                let factor = f64::from(factors[(share * TABLE as f64) as usize]);
                assert!((factor / expected - 1.0).abs() < 0.03, "sd {sd}, quantile {share}: {factor}, not {expected}");
            }
        }
    }
}
