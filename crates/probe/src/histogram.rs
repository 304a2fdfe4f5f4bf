//! Latencies by their size: the buckets that `probe.bpf.c` counts in, and quantiles of them.

use bayop_core::Bucket;

/// Latencies in ns, in the buckets that `bucket_of` in `probe.bpf.c` gives.
pub type Histogram = bayop_core::Histogram<5>;

/// Number of buckets; the last one has everything above, too.
pub const BUCKETS: usize = 1024;

/// A distribution that can say which share of it lies below a value.
pub trait Distribution {
    /// The share at or below `x_us`, 0 to 1.
    fn share_below(&self, x_us: f64) -> f64;

    /// A value that everything lies below, in us.
    fn upper_us(&self) -> f64;

    /// The quantile `q` in (0, 1), in us.
    ///
    /// By bisection, to a thousandth of a us.
    fn quantile_us(&self, q: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.upper_us());
        while high - low > 1e-3 {
            let middle = 0.5 * (low + high);
            if self.share_below(middle) < q {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }
}

/// From the count of every bucket.
pub fn of_counts(counts: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    counts.iter().enumerate().for_each(|(bucket, &count)| histogram.add(bucket, count));
    histogram
}

/// The mean over the latencies of what `share` says of the start and the width of each one's bucket, in us.
pub(crate) fn mean_share(histogram: &Histogram, share: impl Fn(f64, f64) -> f64) -> f64 {
    let shares = histogram
        .buckets()
        .map(|Bucket { low, width, count }| count as f64 * share(low as f64 / 1e3, width as f64 / 1e3));
    shares.sum::<f64>() / histogram.count() as f64
}

impl Distribution for Histogram {
    fn share_below(&self, x_us: f64) -> f64 {
        mean_share(self, |start, width| ((x_us - start) / width).clamp(0.0, 1.0))
    }

    fn upper_us(&self) -> f64 {
        self.buckets().next_back().map_or(0.0, |bucket| bucket.low as f64 / 1e3 + bucket.width as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_bucket_of_the_sorted_latencies(
            mut ns in prop::collection::vec(1_000u64..1_000_000_000, 1..300), q in 0.01f64..0.99,
        ) {
            let mut counts = vec![0; BUCKETS];
            ns.iter().for_each(|&ns| counts[Histogram::bucket_of(ns)] += 1);
            ns.sort_unstable();
            let exact_us = ns[((q * ns.len() as f64).ceil() as usize - 1).min(ns.len() - 1)] as f64 / 1e3;
            let quantile_us = of_counts(&counts).quantile_us(q);
            prop_assert!((quantile_us - exact_us).abs() <= exact_us / 32.0 + 1e-3, "{quantile_us} {exact_us}");
        }
    }
}
