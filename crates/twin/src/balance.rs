//! How unevenly load falls on cores: deterministic weights shaped like normal quantiles.
//!
//! A fixed pattern rather than a random draw: the same server is equally unbalanced in every
//! run, whatever the seed, and a fit sees a smooth function of the imbalance.

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

/// Slots of a choice table.
pub const CHOICES: usize = 1024;

/// A table of equally likely cores that realises `weights` to within one slot.
pub fn choice_table(weights: &[f64]) -> [u8; CHOICES] {
    let total: f64 = weights.iter().sum();
    let (mut core, mut reached) = (0, weights[0]);
    std::array::from_fn(|slot| {
        while core + 1 < weights.len() && reached * (CHOICES as f64) < (slot as f64 + 0.5) * total {
            core += 1;
            reached += weights[core];
        }
        core as u8
    })
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
/// absolute error below 0.02 inside three standard deviations).
pub fn normal_quantile(p: f64) -> f64 {
    (p.powf(0.1349) - (1.0 - p).powf(0.1349)) / 0.1975
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn choice_table_follows_weights() {
        let table = choice_table(&weights(16, 0.0, 0.0));
        for core in 0..16 {
            assert_eq!(table.iter().filter(|&&c| c == core).count(), CHOICES / 16);
        }
        let skewed = choice_table(&[1.0, 3.0]);
        assert_eq!(skewed.iter().filter(|&&c| c == 1).count(), CHOICES * 3 / 4);
    }
}
