//! Quantiles of latency with their confidence intervals.
//!
//! Latencies of neighbouring requests are alike, because they meet the same queue, so the textbook interval from order
//! statistics is too narrow. The measurement is therefore cut into batches: the share of requests at or below the
//! estimate varies from batch to batch, and that variance (a ratio estimator, because batches differ in size) gives the
//! standard error of the estimate's rank. The ends of the interval are the pooled latencies at the ranks that lie
//! Student's t standard errors away. It is never narrower than that of independent requests. This is the method of
//! batch means applied to the indicator of a quantile (Asmussen and Glynn, "Stochastic Simulation", chapter IV).

use crate::histogram::{Histogram, quantile_of};
use crate::report::{Batch, Report};

/// Fewer batches with requests give no interval.
const LEAST_BATCHES: usize = 5;

/// A quantile of latency. A request without an answer counts as slower than all that have one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Which, in (0, 1).
    pub quantile: f64,
    /// The latency; `None` when it falls on requests that failed.
    pub value_ns: Option<u64>,
    /// Lower end of the 95 % confidence interval; `None` when there is too little to tell.
    pub low_ns: Option<u64>,
    /// Upper end.
    pub high_ns: Option<u64>,
}

impl Quantile {
    /// Half of the interval's width relative to the value; `None` where an end is missing.
    pub fn half_width(&self) -> Option<f64> {
        let (value, low, high) = (self.value_ns?, self.low_ns?, self.high_ns?);
        Some((high - low) as f64 / 2.0 / value as f64)
    }
}

/// A quantile and its interval from the batches of a report.
pub fn quantile(report: &Report, quantile: f64) -> Quantile {
    Pool::of(report).quantile(quantile)
}

/// Quantiles and their intervals from the batches of a report.
pub fn quantiles(report: &Report, shares: &[f64]) -> Vec<Quantile> {
    let pool = Pool::of(report);
    shares.iter().map(|&which| pool.quantile(which)).collect()
}

/// All latencies of a report, and the batches that have any request.
struct Pool<'a> {
    latency: Histogram,
    batches: Vec<&'a Batch>,
    count: u64,
}

impl<'a> Pool<'a> {
    fn of(report: &'a Report) -> Self {
        let batches: Vec<&Batch> = report.batches.iter().filter(|batch| batch.count() > 0).collect();
        let count = batches.iter().map(|batch| batch.count()).sum();
        Self { latency: report.latency(), batches, count }
    }

    fn quantile(&self, quantile: f64) -> Quantile {
        let &Self { ref latency, ref batches, count } = self;
        let at_share = |share: f64| quantile_of(latency, share, count);
        let mut interval = Quantile { quantile, value_ns: None, low_ns: None, high_ns: None };
        if count == 0 {
            return interval;
        }
        interval.value_ns = at_share(quantile);
        let (Some(value_ns), true) = (interval.value_ns, batches.len() >= LEAST_BATCHES) else { return interval };
        let margin = t_975(batches.len() - 1) * rank_error(batches, count, value_ns, quantile);
        if quantile - margin > 0.0 {
            interval.low_ns = at_share(quantile - margin);
        }
        if (quantile + margin) * (count as f64) < count as f64 - 0.5 {
            interval.high_ns = at_share(quantile + margin);
        }
        interval
    }
}

/// Standard error of the share of requests at or below the value.
fn rank_error(batches: &[&Batch], count: u64, value_ns: u64, quantile: f64) -> f64 {
    let below: Vec<f64> = batches.iter().map(|batch| batch.latency.count_up_to(value_ns) as f64).collect();
    let share = below.iter().sum::<f64>() / count as f64;
    let squares: f64 =
        batches.iter().zip(&below).map(|(batch, below)| (below - share * batch.count() as f64).powi(2)).sum();
    let k = batches.len() as f64;
    let between = (squares * k / (k - 1.0)).sqrt() / count as f64;
    let independent = (quantile * (1.0 - quantile) / count as f64).sqrt();
    between.max(independent)
}

/// The 97.5 % quantile of Student's t: expansion around the normal quantile (Abramowitz and Stegun, 26.7.5), good to
/// 0.3 % from 4 degrees of freedom on.
fn t_975(degrees: usize) -> f64 {
    const Z: f64 = 1.959_964;
    let n = degrees as f64;
    let g1 = (Z.powi(3) + Z) / 4.0;
    let g2 = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    let g3 = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
    Z + g1 / n + g2 / n.powi(2) + g3 / n.powi(3)
}
