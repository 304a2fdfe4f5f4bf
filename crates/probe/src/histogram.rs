//! Latencies by their size: the buckets that `probe.bpf.c` counts in, and quantiles of them.

/// Buckets of one ns at the small end, and for each power of two above.
const SUB_BUCKETS: usize = 32;

/// Number of buckets.
pub const BUCKETS: usize = 1024;

/// The bounds of a bucket in ns: where it starts, and how wide it is.
///
/// ```
/// use bayop_probe::histogram::bounds_ns;
/// assert_eq!(bounds_ns(63), (63.0, 1.0));
/// assert_eq!(bounds_ns(64), (64.0, 2.0));
/// ```
pub fn bounds_ns(bucket: usize) -> (f64, f64) {
    let shift = (bucket / SUB_BUCKETS).saturating_sub(1);
    let width = (1u64 << shift) as f64;
    ((bucket - shift * SUB_BUCKETS) as f64 * width, width)
}

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

/// The buckets that are not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// (start, width, count), in us, from the smallest up.
    buckets: Vec<(f64, f64, f64)>,
    count: u64,
}

impl Histogram {
    /// From the count of every bucket.
    pub fn new(counts: &[u64]) -> Self {
        let buckets = counts
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(bucket, &count)| {
                let (start_ns, width_ns) = bounds_ns(bucket);
                (start_ns / 1e3, width_ns / 1e3, count as f64)
            })
            .collect();
        Self { buckets, count: counts.iter().sum() }
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean over the buckets of what `share` says of each one's start and width.
    pub(crate) fn mean_share(&self, share: impl Fn(f64, f64) -> f64) -> f64 {
        self.buckets.iter().map(|&(start, width, count)| count * share(start, width)).sum::<f64>() / self.count as f64
    }
}

impl Distribution for Histogram {
    fn share_below(&self, x_us: f64) -> f64 {
        self.mean_share(|start, width| ((x_us - start) / width).clamp(0.0, 1.0))
    }

    fn upper_us(&self) -> f64 {
        self.buckets.last().map_or(0.0, |&(start, width, _)| start + width)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bucket that `bucket_of` in probe.bpf.c gives.
    fn bucket_of(ns: u64) -> usize {
        let shift = (64 - ns.leading_zeros() as usize).saturating_sub(6);
        shift * SUB_BUCKETS + (ns >> shift) as usize
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for bucket in 1..BUCKETS {
            let (before, width) = bounds_ns(bucket - 1);
            assert_eq!(bounds_ns(bucket).0, before + width, "bucket {bucket}");
        }
    }

    proptest! {
        #[test]
        fn a_latency_lies_in_its_bucket(ns in 0u64..1 << 36) {
            let (start, width) = bounds_ns(bucket_of(ns));
            prop_assert!(start <= ns as f64 && (ns as f64) < start + width);
        }

        #[test]
        fn quantiles_are_within_a_bucket_of_the_sorted_latencies(
            mut ns in prop::collection::vec(1_000u64..1_000_000_000, 1..300), q in 0.01f64..0.99,
        ) {
            let mut counts = vec![0; BUCKETS];
            ns.iter().for_each(|&ns| counts[bucket_of(ns)] += 1);
            ns.sort_unstable();
            let exact_us = ns[((q * ns.len() as f64).ceil() as usize - 1).min(ns.len() - 1)] as f64 / 1e3;
            let quantile_us = Histogram::new(&counts).quantile_us(q);
            prop_assert!((quantile_us - exact_us).abs() <= exact_us / 32.0 + 1e-3, "{quantile_us} {exact_us}");
        }
    }
}
