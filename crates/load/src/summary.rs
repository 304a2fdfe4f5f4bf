//! What people and programs want to know of a report.

use serde::Serialize;

use crate::histogram::quantile_ns;
use crate::interval::{self, Quantile};
use crate::report::Report;

const US: f64 = 1e3;
/// A generator's lateness is significant when, without it, a quantile of the latency would be smaller by more than this
/// share, ...
const LATE_SHARE: f64 = 0.2;
/// ... for one of these quantiles.
const LATE_QUANTILES: [f64; 2] = [0.5, 0.99];

/// A latency quantile in us with its 95 % confidence interval; nothing where it can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QuantileUs {
    /// Which, in (0, 1).
    pub quantile: f64,
    /// The latency; none when it falls on requests that failed.
    pub value_us: Option<f64>,
    /// Lower end.
    pub low_us: Option<f64>,
    /// Upper end.
    pub high_us: Option<f64>,
}

impl From<Quantile> for QuantileUs {
    fn from(estimate: Quantile) -> Self {
        let us = |time_ns: Option<u64>| time_ns.map(|time_ns| time_ns as f64 / US);
        let Quantile { quantile, value_ns, low_ns, high_ns } = estimate;
        Self { quantile, value_us: us(value_ns), low_us: us(low_ns), high_us: us(high_ns) }
    }
}

/// A quantile of how late the generator was, in us.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lateness {
    /// The median; none when nothing was sent.
    pub p50_us: Option<f64>,
    /// The 99th percentile.
    pub p99_us: Option<f64>,
    /// The greatest.
    pub max_us: Option<f64>,
    /// Whether it is too small to matter: without it, p50 and p99 would be smaller by at most a fifth.
    pub is_on_time: bool,
}

/// Latency quantiles of a report.
pub fn quantiles(report: &Report, shares: &[f64]) -> Vec<QuantileUs> {
    interval::quantiles(report, shares).into_iter().map(QuantileUs::from).collect()
}

/// How late the generator was, and whether that matters.
pub fn lateness(report: &Report) -> Lateness {
    let late = &report.lateness;
    let latency = report.latency();
    let is_small = |which: f64| match (quantile_ns(&report.punctual, which), quantile_ns(&latency, which)) {
        (Some(punctual), Some(latency)) => punctual as f64 >= (1.0 - LATE_SHARE) * latency as f64,
        // Nothing was answered: there is no latency that lateness could spoil.
        _ => true,
    };
    let us = |time_ns: Option<u64>| time_ns.map(|time_ns| time_ns as f64 / US);
    Lateness {
        p50_us: us(quantile_ns(late, 0.5)),
        p99_us: us(quantile_ns(late, 0.99)),
        max_us: us(late.max()),
        is_on_time: LATE_QUANTILES.into_iter().all(is_small),
    }
}
