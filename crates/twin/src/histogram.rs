//! Latencies of simulated requests.

/// Buckets per octave, as a power of two: none is wider than 0.2 % of what is in it, so that no quantile is further off.
const BITS: u32 = 9;
type Ticks = bayop_core::Histogram<BITS>;
/// What the histogram counts in.
const TICKS_PER_US: f64 = 32_768.0;
/// Shorter latencies count as this long. From here on every octave has all of its buckets.
const LEAST_US: f32 = (1 << BITS) as f32 / TICKS_PER_US as f32;
/// Octaves above: up to 268 s, for services that take seconds and are overloaded.
const OCTAVES: u32 = 34;

/// Counts of latencies in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    ticks: Ticks,
    sum_us: f64,
}

impl Histogram {
    /// Counts one latency.
    #[inline(always)]
    pub fn record(&mut self, latency_us: f32) {
        self.record_all(std::iter::once(latency_us));
    }

    /// Counts some latencies, in one go because each sum has to wait for the one before.
    ///
    /// A bucket is read off the bits of the number: the exponent is the octave and the top bits
    /// of the mantissa divide it linearly, so this is a shift and an increment.
    #[inline(always)]
    pub fn record_all(&mut self, latencies_us: impl Iterator<Item = f32>) {
        let mut sum_us = 0.0;
        for latency_us in latencies_us {
            let bits = latency_us.max(LEAST_US).to_bits();
            let bucket = (bits - LEAST_US.to_bits()) >> (f32::MANTISSA_DIGITS - 1 - BITS);
            self.ticks.add((1 << BITS) + bucket.min((OCTAVES << BITS) - 1) as usize, 1);
            sum_us += f64::from(latency_us);
        }
        self.sum_us += sum_us;
    }

    /// Adds everything counted in `other`.
    pub fn merge(&mut self, other: &Self) {
        self.ticks.merge(&other.ticks);
        self.sum_us += other.sum_us;
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.ticks.count()
    }

    /// The latency that a share `quantile` (0 to 1) of all latencies does not exceed; `None`
    /// when nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        self.ticks.quantile(quantile).map(|ticks| ticks / TICKS_PER_US)
    }

    /// Mean latency; `None` when nothing was recorded.
    pub fn mean_us(&self) -> Option<f64> {
        let count = self.ticks.count();
        (count > 0).then(|| self.sum_us / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::QUANTILES;
    use proptest::prelude::*;

    #[test]
    fn out_of_range_values_count() {
        let mut histogram = Histogram::default();
        for x in [0.0, -1.0, 1e9, f32::INFINITY] {
            histogram.record(x);
        }
        let [low_us, high_us] = [0.5, 1.0].map(|q| histogram.quantile_us(q).unwrap());
        assert!(low_us < 0.016 && high_us > 2.6e8, "{low_us} {high_us}");
    }

    proptest! {
        #[test]
        fn the_bits_of_a_latency_are_its_bucket(us in LEAST_US..2.6e8) {
            let (mut by_bits, mut by_ticks) = (Histogram::default(), Ticks::default());
            by_bits.record(us);
            by_ticks.record((f64::from(us) * TICKS_PER_US) as u64);
            prop_assert_eq!(by_bits.ticks, by_ticks);
        }

        #[test]
        fn a_constant_latency_is_what_was_measured(
            us in prop_oneof![LEAST_US..1.0, 1.0_f32..1000.0, 1e3_f32..2.6e8],
            count in 1..1000_usize,
        ) {
            let mut histogram = Histogram::default();
            histogram.record_all(std::iter::repeat_n(us, count));
            let mean_us = histogram.mean_us().unwrap();
            prop_assert!((mean_us / f64::from(us) - 1.0).abs() < 1e-12, "{mean_us}");
            for quantile in QUANTILES {
                let found_us = histogram.quantile_us(quantile).unwrap();
                prop_assert!((found_us / f64::from(us) - 1.0).abs() < 0.002, "{quantile}: {found_us}");
            }
        }

        #[test]
        fn the_mean_is_exact(latencies_us in prop::collection::vec(LEAST_US..1e6, 1..500)) {
            let mut histogram = Histogram::default();
            latencies_us.iter().for_each(|&us| histogram.record(us));
            let expected_us = latencies_us.iter().map(|&us| f64::from(us)).sum::<f64>() / latencies_us.len() as f64;
            prop_assert!((histogram.mean_us().unwrap() / expected_us - 1.0).abs() < 1e-12);
        }
    }
}
