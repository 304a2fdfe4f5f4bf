//! How service times vary from request to request.

use crate::profile::App;

/// Service times tabulated; a power of two.
const TABLE: usize = 1024;

/// Service times relative to their mean, at equally likely quantiles.
///
/// Most requests take a constant time plus an exponential one; a share of long requests (the
/// delivery and stock-level transactions of TPC-C) take a multiple of that.
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
            let unit = -(1.0 - (i as f64 + 0.5) / n as f64).ln();
            1.0 - exponential + exponential * unit
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
        let text = include_str!("../../../python/bayop/target/profiles/linux_silo.toml");
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
}
