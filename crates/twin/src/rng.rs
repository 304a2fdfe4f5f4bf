//! Random numbers: small, fast, seeded; one independent stream per core and purpose.
//!
//! Streams are separate so that two runs with the same seed see the same arrivals whatever the
//! setting is (common random numbers): differences between settings are then smooth, which is
//! what makes fitting and comparing cheap.

/// A wyrand generator: a Weyl sequence folded by one wide multiplication.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream `stream` of seed `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.0 = rng.next_u64() ^ rng.next_u64().rotate_left(32);
        rng
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xa076_1d64_78bd_642f);
        remix(self.0)
    }

    /// An exponential variate of mean 1.
    #[inline(always)]
    pub fn exponential(&mut self) -> f64 {
        exponential_from_bits(self.next_u64() as u32)
    }
}

/// 64 other bits, always the same for the same `bits`: random if these are, and unlike any part of them.
#[inline(always)]
pub fn remix(bits: u64) -> u64 {
    let wide = u128::from(bits).wrapping_mul(u128::from(bits ^ 0xe703_7ed1_a0b4_28db));
    (wide >> 64) as u64 ^ wide as u64
}

/// An exponential variate of mean 1 from 32 random bits: `-ln((bits + 1/2) / 2^32)`.
#[inline(always)]
pub fn exponential_from_bits(bits: u32) -> f64 {
    f64::from(-ln((bits as f32 + 0.5) * (1.0 / 4_294_967_296.0)))
}

/// Natural logarithm of a positive normal number, absolute error below 2e-5.
///
/// With `x = 2^e m` and `s = (m - 1) / (m + 1)`, `ln m = 2 (s + s^3/3 + s^5/5 + s^7/7 + ..)`.
/// Written out because it is the same on every platform and several times faster than `f64::ln`.
#[inline(always)]
fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = ((bits >> 23) as i32 - 127) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (0.2 + s2 * (1.0 / 7.0)))) + exponent * std::f32::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_is_accurate() {
        for i in 1..100_000 {
            let x = i as f32 * 1e-5;
            assert!((f64::from(ln(x)) - f64::from(x).ln()).abs() < 2e-5, "ln({x})");
        }
    }

    #[test]
    fn exponential_has_mean_and_variance_one() {
        let mut rng = Rng::new(1, 0);
        let n = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = rng.exponential();
            assert!(x > 0.0 && x < 30.0);
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((squares / f64::from(n) - mean * mean - 1.0).abs() < 0.02);
    }

    #[test]
    fn remixed_bits_have_nothing_to_do_with_any_of_the_others() {
        let mut rng = Rng::new(7, 0);
        let draws: Vec<u64> = (0..1 << 18).map(|_| rng.next_u64()).collect();
        for shift in (0..64).step_by(4) {
            let mut counts = [[0_u32; 16]; 16];
            draws.iter().for_each(|&bits| counts[(bits >> shift) as usize % 16][(remix(bits) >> 60) as usize] += 1);
            let expected = (draws.len() / 256) as f64;
            let chi_squared: f64 = counts.iter().flatten().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            // 255 degrees of freedom: the mean, give or take five standard deviations.
            assert!((chi_squared - 255.0).abs() < 5.0 * 510_f64.sqrt(), "bits {shift} on: {chi_squared}");
        }
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, stream| Rng::new(seed, stream).next_u64();
        assert_eq!(draw(3, 5), draw(3, 5));
        assert_ne!(draw(3, 5), draw(3, 6));
        assert_ne!(draw(3, 5), draw(4, 5));
    }
}
