//! Random numbers of a seed.

use core::ops::RangeInclusive;

/// A generator after SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// One of the numbers of a range, each as likely as the others.
    pub fn uniform(&mut self, range: RangeInclusive<u32>) -> u32 {
        let numbers = u64::from(range.end() - range.start()) + 1;
        range.start() + (((self.bits() >> 32) * numbers) >> 32) as u32
    }

    /// Whether something happens that does so `percent` times in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.uniform(1..=100) <= percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_a_range_is_as_likely() {
        let mut random = Random::new(1);
        let mut counts = [0_u32; 7];
        (0..70_000).for_each(|_| counts[random.uniform(3..=9) as usize - 3] += 1);
        // Five standard deviations of a binomial distribution around 10,000.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 470), "{counts:?}");
        assert_eq!(random.uniform(5..=5), 5);
    }

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        // The first numbers of seed 1234567 that the authors' reference implementation gives.
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
