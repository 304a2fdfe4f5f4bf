//! Latency histogram with logarithmic bins: constant relative resolution, constant memory.

/// Bins per octave; quantiles interpolate inside a bin, so errors stay well below 1 %.
const BINS_PER_OCTAVE: u32 = 64;
/// Octaves above [`LEAST_US`]: up to 268 s, for services that take seconds and are overloaded.
const OCTAVES: u32 = 34;
/// Values below this count in the first bin.
const LEAST_US: f32 = 1.0 / 64.0;
/// Mantissa bits of an `f32` that do not select a bin.
const SHIFT: u32 = 23 - BINS_PER_OCTAVE.trailing_zeros();
const BINS: usize = (BINS_PER_OCTAVE * OCTAVES) as usize;

/// Counts of latencies in microseconds.
///
/// The bin is read off the bits of the number: the exponent is the octave and the top six bits
/// of the mantissa divide it linearly, so recording is a shift and an increment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BINS] }
    }
}

impl Histogram {
    /// Counts one latency.
    #[inline(always)]
    pub fn record(&mut self, latency_us: f32) {
        let bits = latency_us.max(LEAST_US).to_bits();
        let bin = ((bits - LEAST_US.to_bits()) >> SHIFT) as usize;
        self.counts[bin.min(BINS - 1)] += 1;
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds everything recorded in `other`.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The latency that a share `quantile` (0 to 1) of all latencies does not exceed; `None`
    /// when nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        let target = quantile * self.count() as f64;
        let mut below = 0.0;
        for (bin, &count) in self.counts.iter().enumerate() {
            let count = count as f64;
            if count > 0.0 && below + count >= target {
                let share = ((target - below) / count).clamp(0.0, 1.0);
                return Some(edge_us(bin) + (edge_us(bin + 1) - edge_us(bin)) * share);
            }
            below += count;
        }
        None
    }

    /// Mean latency, from the middles of the bins; `None` when nothing was recorded.
    pub fn mean_us(&self) -> Option<f64> {
        let sum: f64 = self
            .counts
            .iter()
            .enumerate()
            .map(|(bin, &count)| count as f64 * 0.5 * (edge_us(bin) + edge_us(bin + 1)))
            .sum();
        let count = self.count();
        (count > 0).then(|| sum / count as f64)
    }
}

/// Lower edge of a bin.
fn edge_us(bin: usize) -> f64 {
    f64::from(f32::from_bits(LEAST_US.to_bits() + ((bin as u32) << SHIFT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_has_no_quantiles() {
        assert_eq!(Histogram::default().quantile_us(0.5), None);
        assert_eq!(Histogram::default().mean_us(), None);
    }

    #[test]
    fn out_of_range_values_count() {
        let mut histogram = Histogram::default();
        for x in [0.0, -1.0, 1e9, f32::INFINITY] {
            histogram.record(x);
        }
        assert_eq!(histogram.count(), 4);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_bin(mut values in prop::collection::vec(0.02f32..1e6, 1..400), q in 0.0f64..=1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&x| histogram.record(x));
            values.sort_by(f32::total_cmp);
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = f64::from(values[rank - 1]);
            let found = histogram.quantile_us(q).unwrap();
            prop_assert!((found / exact - 1.0).abs() < 1.1 / f64::from(BINS_PER_OCTAVE), "{found} {exact}");
        }

        #[test]
        fn merging_is_recording_both(a in prop::collection::vec(0.1f32..1e5, 0..50), b in prop::collection::vec(0.1f32..1e5, 0..50)) {
            let (mut left, mut right, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
            a.iter().for_each(|&x| { left.record(x); both.record(x); });
            b.iter().for_each(|&x| { right.record(x); both.record(x); });
            left.merge(&right);
            prop_assert_eq!(left, both);
        }
    }
}
