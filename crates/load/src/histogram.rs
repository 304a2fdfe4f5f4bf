//! Latency histograms with three significant digits, from 1 ns to an hour.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MOST_NS: u64 = 3_600 * 1_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Counts of times in ns. The bins of all histograms are alike, so merging them loses nothing.
///
/// Serialized as pairs of a value and its count.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(Hdr<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self(Hdr::new_with_bounds(1, MOST_NS, SIGNIFICANT_DIGITS).expect("the bounds are sound"))
    }
}

impl Histogram {
    /// Counts one time; more than an hour counts as an hour.
    #[inline]
    pub fn record(&mut self, time_ns: u64) {
        self.0.saturating_record(time_ns);
    }

    /// Adds everything recorded in `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("none exceeds the greatest bound");
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// How many times were at most this long.
    pub fn count_up_to(&self, time_ns: u64) -> u64 {
        self.0.count_between(0, time_ns)
    }

    /// The `rank`-th shortest time, from 1; `None` when fewer were recorded.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 || rank > self.count() {
            return None;
        }
        // Half a count below the rank, so that rounding can't reach the next one.
        Some(self.0.value_at_quantile((rank as f64 - 0.5) / self.count() as f64))
    }

    /// The time that a share `quantile` of all times does not exceed; `None` when nothing was recorded.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        self.at_rank(((quantile * self.count() as f64).ceil() as u64).max(1))
    }

    /// The mean; `None` when nothing was recorded.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.0.mean())
    }

    /// The longest time; `None` when nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.0.max())
    }

    /// Every value that was recorded, and how often.
    pub fn pairs(&self) -> Vec<(u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect()
    }

    /// The percentile distribution in the text format of HdrHistogram (`.hgrm`), in us.
    pub fn to_hgrm(&self) -> String {
        const US: f64 = 1e3;
        let mut text =
            format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
        let mut total = 0;
        for step in self.0.iter_quantiles(5) {
            total += step.count_since_last_iteration();
            let (value, quantile) = (step.value_iterated_to() as f64 / US, step.quantile_iterated_to());
            text += &format!("{value:>12.3} {quantile:>2.12} {total:>10}");
            if quantile < 1.0 {
                text += &format!(" {:>14.2}", 1.0 / (1.0 - quantile));
            }
            text.push('\n');
        }
        text += &format!("#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n", self.0.mean() / US, self.0.stdev() / US);
        text += &format!("#[Max     = {:>12.3}, Total count    = {:>12}]\n", self.0.max() as f64 / US, self.0.len());
        text += &format!("#[Buckets = {:>12}, SubBuckets     = {:>12}]\n", self.0.buckets(), 2048);
        text
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.pairs().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // It grows as it needs to: what comes from elsewhere is merged and read, and time spent on empty bins shows up in
        // the utilization of the machine that is measured.
        let mut histogram = Hdr::new(SIGNIFICANT_DIGITS).expect("the digits are sound");
        for (value, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            histogram.record_n(value.min(MOST_NS), count).expect("it grows");
        }
        Ok(Self(histogram))
    }
}
