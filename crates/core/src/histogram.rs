//! Counts of numbers of any size, all to the same relative resolution.

use alloc::vec::Vec;

/// A log-linear histogram: `2^BITS` buckets for each power of two, so that a bucket's width is at most `2^-BITS` of what
/// is in it. Numbers below `2^(BITS + 1)` have a bucket each. This is the layout of HdrHistogram
/// (<https://hdrhistogram.org>), whose three significant digits are 10 bits.
///
/// All of the same `BITS` have the same buckets, so that merging them loses nothing. As JSON it is a list of pairs: the
/// greatest number of a bucket and its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram<const BITS: u32> {
    /// Up to the last bucket that is not empty.
    counts: Vec<u64>,
}

/// A bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The least number in it.
    pub low: u64,
    /// How many different ones it stands for.
    pub width: u64,
    /// How many were recorded.
    pub count: u64,
}

impl Bucket {
    /// The greatest number in it.
    pub fn high(&self) -> u64 {
        self.low + (self.width - 1)
    }

    /// The middle between its edges.
    pub fn middle(&self) -> f64 {
        self.low as f64 + 0.5 * self.width as f64
    }
}

impl<const BITS: u32> Default for Histogram<BITS> {
    fn default() -> Self {
        // For any number, so that nothing recorded is ever copied to a larger place: memory that is not used costs nothing.
        Self { counts: Vec::with_capacity(Self::bucket_of(u64::MAX) + 1) }
    }
}

impl<const BITS: u32> Histogram<BITS> {
    /// The bucket of a number.
    #[inline(always)]
    pub const fn bucket_of(number: u64) -> usize {
        let shift = (u64::BITS - number.leading_zeros()).saturating_sub(BITS + 1);
        ((shift as usize) << BITS) + (number >> shift) as usize
    }

    /// Counts one number.
    #[inline(always)]
    pub fn record(&mut self, number: u64) {
        self.add(Self::bucket_of(number), 1);
    }

    /// Counts so many numbers of a bucket.
    #[inline(always)]
    pub fn add(&mut self, bucket: usize, count: u64) {
        match self.counts.get_mut(bucket) {
            Some(counted) => *counted += count,
            None => self.append(bucket, count),
        }
    }

    #[cold]
    fn append(&mut self, bucket: usize, count: u64) {
        if count > 0 {
            self.counts.resize(bucket, 0);
            self.counts.push(count);
        }
    }

    /// Adds everything recorded in `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// How many numbers were recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many numbers were recorded in the buckets up to this one's.
    pub fn count_up_to(&self, number: u64) -> u64 {
        self.counts.iter().take(Self::bucket_of(number) + 1).sum()
    }

    /// The buckets that are not empty, from the least.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> {
        let full = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        full.map(|(bucket, &count)| {
            let shift = (bucket >> BITS).saturating_sub(1);
            Bucket { low: ((bucket - (shift << BITS)) as u64) << shift, width: 1 << shift, count }
        })
    }

    /// The greatest number in the last bucket that is not empty; `None` when nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        self.buckets().next_back().map(|bucket| bucket.high())
    }

    /// The greatest number in the bucket of the `rank`-th least, from 1; `None` when fewer were recorded.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut left = rank.checked_sub(1)?;
        for bucket in self.buckets() {
            if left < bucket.count {
                return Some(bucket.high());
            }
            left -= bucket.count;
        }
        None
    }

    /// What a share `quantile` (0 to 1) of all numbers does not exceed, if those of a bucket lie evenly in it; `None`
    /// when nothing was recorded.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let target = quantile * self.count() as f64;
        let mut below = 0.0;
        for bucket in self.buckets() {
            let count = bucket.count as f64;
            if below + count >= target {
                let share = ((target - below) / count).clamp(0.0, 1.0);
                return Some(bucket.low as f64 + bucket.width as f64 * share);
            }
            below += count;
        }
        None
    }

    /// The mean, from the middles of the buckets; `None` when nothing was recorded.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.buckets().map(|bucket| bucket.count as f64 * bucket.middle()).sum();
        let count = self.count();
        (count > 0).then(|| sum / count as f64)
    }
}

#[cfg(feature = "serde")]
impl<const BITS: u32> serde::Serialize for Histogram<BITS> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets().map(|bucket| (bucket.high(), bucket.count)))
    }
}

#[cfg(feature = "serde")]
impl<'de, const BITS: u32> serde::Deserialize<'de> for Histogram<BITS> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;

        // Not for any number: whoever sends many histograms must not take the memory of as many full ones.
        let mut histogram = Self { counts: Vec::new() };
        let mut total = 0_u64;
        for (number, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            let sum = total.checked_add(count);
            total = sum.ok_or_else(|| D::Error::custom("the counts of a histogram must add up to less than 2^64"))?;
            histogram.add(Self::bucket_of(number), count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Fine = Histogram<10>;

    fn histogram<const BITS: u32>(numbers: &[u64]) -> Histogram<BITS> {
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&number| histogram.record(number));
        histogram
    }

    #[test]
    fn nothing_recorded_has_no_quantiles() {
        let empty = Fine::default();
        assert_eq!((empty.count(), empty.max(), empty.mean(), empty.quantile(0.5)), (0, None, None, None));
        assert_eq!((empty.at_rank(0), empty.at_rank(1)), (None, None));
    }

    #[test]
    fn small_numbers_have_a_bucket_each_and_the_greatest_has_one() {
        let buckets: Vec<_> = histogram::<5>(&[0, 63, 64, 65, u64::MAX]).buckets().collect();
        let bucket = |low, width, count| Bucket { low, width, count };
        assert_eq!(buckets, [bucket(0, 1, 1), bucket(63, 1, 1), bucket(64, 2, 2), bucket(63 << 58, 1 << 58, 1)]);
        assert_eq!(buckets[3].high(), u64::MAX);
    }

    proptest! {
        #[test]
        fn a_number_lies_in_its_bucket_which_is_narrow(number in any::<u64>(), shift in 0_u32..64) {
            let number = number >> shift;
            let bucket = histogram::<10>(&[number]).buckets().next().unwrap();
            prop_assert!((bucket.low..=bucket.high()).contains(&number));
            prop_assert!(bucket.width == 1 || bucket.width <= bucket.low >> 10);
        }

        #[test]
        fn ranks_and_quantiles_are_within_a_bucket(mut numbers in prop::collection::vec(1_u64..1 << 40, 1..300), q in 0.0_f64..=1.0) {
            let histogram: Fine = histogram(&numbers);
            numbers.sort_unstable();
            let rank = ((q * numbers.len() as f64).ceil() as usize).clamp(1, numbers.len());
            let exact = numbers[rank - 1];
            for found in [histogram.at_rank(rank as u64).unwrap() as f64, histogram.quantile(q).unwrap()] {
                prop_assert!((found - exact as f64).abs() <= (exact >> 10) as f64 + 1.0, "{found} {exact}");
            }
            let below = histogram.buckets().filter(|bucket| bucket.low <= exact).map(|bucket| bucket.count);
            prop_assert_eq!(histogram.count_up_to(exact), below.sum::<u64>());
            prop_assert_eq!(histogram.at_rank(numbers.len() as u64 + 1), None);
        }

        #[test]
        fn merging_is_recording_both(a in prop::collection::vec(1_u64..1 << 40, 0..50), b in prop::collection::vec(1_u64..1 << 40, 0..50)) {
            let mut merged: Fine = histogram(&a);
            merged.merge(&histogram(&b));
            prop_assert_eq!(merged, histogram(&[a, b].concat()));
        }
    }
}
