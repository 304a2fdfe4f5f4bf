//! How unevenly load falls on cores: deterministic weights shaped like normal quantiles.
//!
//! A fixed pattern rather than a random draw: the same server is equally unbalanced in every
//! run, whatever the seed, and a fit sees a smooth function of the imbalance.

use crate::profile::limits::MAX_CORES;

/// Weights of mean 1 with the given relative standard deviation, in a scrambled order.
///
/// `hot_share` is the additional load of one core, taken evenly from the others.
pub fn weights(cores: usize, relative_sd: f64, hot_share: f64) -> Vec<f64> {
    if cores < 2 {
        return vec![1.0; cores];
    }
    let quantile: Vec<f64> = (0..cores).map(|i| normal_quantile((i as f64 + 0.625) / (cores as f64 + 0.25))).collect();
    let stride = scrambling_stride(cores);
    let hottest = cores * 5 / 8;
    (0..cores)
        .map(|core| {
            let rank = core * stride % cores;
            let hot = if core == hottest { hot_share } else { -hot_share / (cores - 1) as f64 };
            (1.0 + relative_sd * quantile[rank] + hot).max(0.0)
        })
        .collect()
}

/// Evenly spread numbers between 0 and 1 in a scrambled order, the same in every run.
pub fn spread(cores: usize) -> impl Iterator<Item = f64> {
    let stride = scrambling_stride(cores);
    (0..cores).map(move |core| ((core * stride % cores) as f64 + 0.5) / cores as f64)
}

/// Slots of a [`Draw`]'s guide, as a power of two.
const GUIDE_BITS: u32 = 10;

/// Draws cores at random, each as often as its weight says.
///
/// Each core has its part of the 2^32 numbers that 32 random bits can be, to within one of them. A
/// guide says for every slot of neighbouring numbers whose the first is (Chen and Asau 1974); nearly all
/// slots have no other's, so that the answer is known before it is checked.
#[derive(Clone, Debug)]
pub struct Draw {
    guide: [u8; 1 << GUIDE_BITS],
    /// The first number that is a later core's.
    ends: [u64; MAX_CORES],
}

impl Draw {
    /// A draw by at most [`MAX_CORES`] weights, which are not negative and not all zero.
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut ends = [1 << 32; MAX_CORES];
        let mut reached = 0.0;
        for (end, weight) in ends.iter_mut().zip(weights) {
            reached += weight;
            *end = (reached / total * 4_294_967_296.0).round() as u64;
        }
        let first_in = |slot: usize| (slot as u64) << (u32::BITS - GUIDE_BITS);
        let guide = std::array::from_fn(|slot| ends.partition_point(|&end| end <= first_in(slot)) as u8);
        Self { guide, ends }
    }

    /// The core that 32 random bits draw, the upper ones first.
    #[inline(always)]
    pub fn core(&self, bits: u32) -> usize {
        let mut core = usize::from(self.guide[(bits >> (u32::BITS - GUIDE_BITS)) as usize]);
        while u64::from(bits) >= self.ends[core] {
            core += 1;
        }
        core
    }
}

/// A stride coprime to `cores`, near the golden ratio so that neighbours differ.
fn scrambling_stride(cores: usize) -> usize {
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let start = (cores as f64 * 0.618) as usize;
    (start.max(1)..=cores + start).find(|&s| gcd(s, cores) == 1).unwrap_or(1)
}

/// Inverse of the standard normal distribution (Shore's approximation by Tukey's lambda,
/// absolute error below 0.02 inside three standard deviations). What profiles say of imbalance was
/// fitted with it; where tails matter, see [`crate::normal`].
fn normal_quantile(p: f64) -> f64 {
    (p.powf(0.1349) - (1.0 - p).powf(0.1349)) / 0.1975
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_have_the_asked_spread() {
        for cores in [2, 4, 15, 16, 64] {
            let w = weights(cores, 0.2, 0.0);
            let mean = w.iter().sum::<f64>() / cores as f64;
            let sd = (w.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cores as f64).sqrt();
            assert!((mean - 1.0).abs() < 1e-9, "{cores}: {mean}");
            assert!((0.1..0.22).contains(&sd), "{cores}: {sd}");
        }
    }

    /// How many of all 32-bit numbers draw each core: cores are drawn in ascending order.
    fn numbers_of(draw: &Draw, cores: usize) -> Vec<u64> {
        let below = |core: usize| {
            let (mut low, mut high) = (0_u64, 1_u64 << 32);
            while low < high {
                let middle = low.midpoint(high);
                if draw.core(middle as u32) < core { low = middle + 1 } else { high = middle }
            }
            low
        };
        (0..cores).map(|core| below(core + 1) - below(core)).collect()
    }

    proptest! {
        #[test]
        fn cores_are_drawn_as_often_as_their_weights_say(
            mut weights in prop::collection::vec(prop_oneof![0.0..1.0, 0.0..1e-6, Just(0.0)], 1..=MAX_CORES),
            positive: prop::sample::Index,
        ) {
            *positive.get_mut(&mut weights) += 1e-3;
            let (draw, total) = (Draw::new(&weights), weights.iter().sum::<f64>());
            let numbers = numbers_of(&draw, weights.len());
            prop_assert_eq!(numbers.iter().sum::<u64>(), 1 << 32);
            for (number, weight) in numbers.iter().zip(&weights) {
                prop_assert!((*number as f64 / 4_294_967_296.0 - weight / total).abs() < 1e-9);
                prop_assert!(*weight > 0.0 || *number == 0);
            }
        }

        #[test]
        fn greater_numbers_draw_later_cores(
            weights in prop::collection::vec(0.0..1.0, 1..=MAX_CORES),
            mut numbers in prop::collection::vec(any::<u32>(), 2..100),
        ) {
            let draw = Draw::new(&weights);
            numbers.sort_unstable();
            prop_assert!(numbers.is_sorted_by_key(|&number| draw.core(number)));
        }
    }
}
