//! Latency histograms, and HdrHistogram's text of them.

use std::ops::Add as _;

use bayop_core::Bucket;

/// Counts of times in ns, to three significant digits.
pub type Histogram = bayop_core::Histogram<10>;

/// The time that a share `quantile` of all times does not exceed; `None` when nothing was recorded.
pub fn quantile_ns(histogram: &Histogram, quantile: f64) -> Option<u64> {
    quantile_of(histogram, quantile, histogram.count())
}

/// The same of `count` times, of which those that were not recorded are longer than all others; `None` where it is one.
pub(crate) fn quantile_of(histogram: &Histogram, quantile: f64, count: u64) -> Option<u64> {
    histogram.at_rank(((quantile * count as f64).ceil() as u64).max(1))
}

/// The percentile distribution in the text format of HdrHistogram (`.hgrm`), in us.
///
/// A row says how many times were at most so long. From 0 to 50 % there are five, and again for each half of what is left
/// to 100 %, as HdrHistogram's `outputPercentileDistribution` has them.
pub fn hgrm(histogram: &Histogram) -> String {
    const ROWS: u64 = 5;
    const US: f64 = 1e3;
    let total = histogram.count();
    let mut text = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let (mut quantile, mut count) = (0.0_f64, 0);
    for bucket in histogram.buckets() {
        count += bucket.count;
        let value_us = bucket.high() as f64 / US;
        while quantile <= count as f64 / total as f64 {
            text += &format!("{value_us:>12.3} {quantile:>2.12} {count:>10} {:>14.2}\n", 1.0 / (1.0 - quantile));
            if count == total {
                text += &format!("{value_us:>12.3} {:>2.12} {total:>10}\n", 1.0);
                break;
            }
            let halvings = (1.0 / (1.0 - quantile)).log2() as u32;
            quantile += 1.0 / (ROWS << (halvings + 1)) as f64;
        }
    }
    let mean = histogram.mean().unwrap_or(0.0);
    // Added up from 0.0: the sum of nothing is -0.0, and printed so.
    let square = |bucket: Bucket| bucket.count as f64 * (bucket.middle() - mean).powi(2);
    let deviation = (histogram.buckets().map(square).fold(0.0, f64::add) / total.max(1) as f64).sqrt();
    text += &format!("#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n", mean / US, deviation / US);
    text += &format!("#[Max     = {:>12.3}, Total count    = {total:>12}]\n", histogram.max().unwrap_or(0) as f64 / US);
    // Its layout for times of up to an hour.
    text + &format!("#[Buckets = {:>12}, SubBuckets     = {:>12}]\n", 32, 2048)
}
