//! Latencies of simulated requests.

/// Buckets per octave, as a power of two; quantiles interpolate inside a bucket, so errors stay well below 1 %.
const BITS: u32 = 6;
type Ticks = bayop_core::Histogram<BITS>;
/// What the histogram counts in.
const TICKS_PER_US: f64 = 4096.0;
/// Shorter latencies count as this long. From here on every octave has all of its buckets.
const LEAST_US: f32 = (1 << BITS) as f32 / TICKS_PER_US as f32;
/// Octaves above: up to 268 s, for services that take seconds and are overloaded.
const OCTAVES: u32 = 34;

/// Counts of latencies in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Ticks);

impl Histogram {
    /// Counts one latency.
    ///
    /// The bucket is read off the bits of the number: the exponent is the octave and the top bits
    /// of the mantissa divide it linearly, so this is a shift and an increment.
    #[inline(always)]
    pub fn record(&mut self, latency_us: f32) {
        let bits = latency_us.max(LEAST_US).to_bits();
        let bucket = (bits - LEAST_US.to_bits()) >> (f32::MANTISSA_DIGITS - 1 - BITS);
        self.0.add((1 << BITS) + bucket.min((OCTAVES << BITS) - 1) as usize, 1);
    }

    /// The latency that a share `quantile` (0 to 1) of all latencies does not exceed; `None`
    /// when nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        self.0.quantile(quantile).map(|ticks| ticks / TICKS_PER_US)
    }

    /// Mean latency, from the middles of the buckets; `None` when nothing was recorded.
    pub fn mean_us(&self) -> Option<f64> {
        self.0.mean().map(|ticks| ticks / TICKS_PER_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            prop_assert_eq!(by_bits.0, by_ticks);
        }
    }
}
