//! When packets reach a receive queue.

use crate::profile::{App, Arrivals};

/// Size of the table of generalized-Pareto quantiles.
const TABLE: usize = 4096;

/// Gaps between packets of one receive queue.
///
/// Clients are independent and open loop: they send when their schedule says so, whether or not
/// the server has answered, so the queue of one core sees a thinned copy of the whole process.
#[derive(Clone, Debug)]
pub struct ArrivalProcess {
    mean_gap_us: f64,
    /// Gaps of mean 1 at equally likely quantiles; `None` for exponential gaps.
    pareto_gaps: Option<Vec<f32>>,
}

impl ArrivalProcess {
    /// Arrivals `mean_gap_us` apart on average.
    pub fn new(app: &App, mean_gap_us: f64) -> Self {
        let pareto_gaps = (app.arrivals == Arrivals::GeneralizedPareto).then(|| pareto_table(app.arrival_shape));
        Self { mean_gap_us, pareto_gaps }
    }

    /// A gap from the upper 32 of 64 random bits.
    #[inline(always)]
    pub fn gap_from_bits(&self, bits: u64) -> f64 {
        let unit = match &self.pareto_gaps {
            None => crate::rng::exponential_from_bits((bits >> 32) as u32),
            Some(table) => f64::from(table[(bits >> 52) as usize % TABLE]),
        };
        self.mean_gap_us * unit
    }
}

/// Generalized-Pareto gaps `((1 - u)^-k - 1) (1 - k) / k` of mean 1, one per stratum of `u`.
fn pareto_table(shape: f64) -> Vec<f32> {
    let gap = |u: f64| {
        if shape.abs() < 1e-9 { -(1.0 - u).ln() } else { ((1.0 - u).powf(-shape) - 1.0) * (1.0 - shape) / shape }
    };
    let gaps: Vec<f64> = (0..TABLE).map(|i| gap((i as f64 + 0.5) / TABLE as f64)).collect();
    let mean = gaps.iter().sum::<f64>() / TABLE as f64;
    gaps.iter().map(|g| (g / mean) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pareto_gaps_have_mean_one_and_a_heavier_tail() {
        let table = pareto_table(0.15);
        let mean = table.iter().map(|&g| f64::from(g)).sum::<f64>() / TABLE as f64;
        assert!((mean - 1.0).abs() < 1e-4);
        assert!(table[TABLE - 1] > pareto_table(0.0)[TABLE - 1]);
    }
}
