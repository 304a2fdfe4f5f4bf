//! The standard normal distribution, precise in its tail.

/// What a standard normal variate exceeds with probability `p`, which lies between 0 and 1, ends excluded.
///
/// Wichura (1988), "Algorithm AS 241: The Percentage Points of the Normal Distribution", routine PPND16: relative error
/// about 1e-16.
pub fn upper_quantile(p: f64) -> f64 {
    let q = 0.5 - p;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(r, CENTRE[0]) / polynomial(r, CENTRE[1]);
    }
    let r = (-p.min(1.0 - p).ln()).sqrt();
    let distance = if r <= 5.0 {
        polynomial(r - 1.6, TAIL[0]) / polynomial(r - 1.6, TAIL[1])
    } else {
        polynomial(r - 5.0, FAR_TAIL[0]) / polynomial(r - 5.0, FAR_TAIL[1])
    };
    distance.copysign(q)
}

/// The polynomial with these coefficients, the constant one first.
fn polynomial(x: f64, coefficients: [f64; 8]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Numerator and denominator for probabilities between 0.075 and 0.925.
const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_6,
        133.141_667_891_784_38,
        1_971.590_950_306_551_4,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];

/// The same beyond, down to `exp(-25)`.
const TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_6,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        2.272_384_498_926_918_5e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_07,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_8e-9,
    ],
];

/// The same beyond that.
const FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        2.653_218_952_657_612_3e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_7e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, expected) in [
            (0.375, 0.31863936396437514),
            (0.1, 1.2815515655446004),
            (0.05, 1.6448536269514726),
            (0.025, 1.9599639845400543),
            (0.0001, 3.7190164854556804),
            (1e-10, 6.361340902404057),
            (1e-12, 7.034483825301132),
            (1e-17, 8.493793224109599),
            (1e-30, 11.464024688443615),
            (1e-300, 37.0470962993612),
        ] {
            let found = upper_quantile(p);
            assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{p}: {found}, not {expected}");
        }
    }

    #[test]
    fn both_tails_are_alike() {
        for p in [0.5, 0.4, 0.075, 0.03, 1e-6] {
            assert!((upper_quantile(p) + upper_quantile(1.0 - p)).abs() < 1e-8, "{p}");
        }
    }
}
