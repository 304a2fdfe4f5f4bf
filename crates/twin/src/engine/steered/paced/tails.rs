//! How long some requests may take together, in mean service times.

use crate::rng::Rng;
use crate::service::ServiceTimes;

/// The quantile that counts as the tail.
const TAIL: f64 = 0.99;
/// Its distance from the mean of a normal distribution, in standard deviations.
const TAIL_SD: f64 = 2.326;
/// Rows: how much of the first request is done already, by octiles.
const ROWS: usize = 8;
/// Columns: requests after the first; more of them are taken to be normally distributed.
const COLUMNS: usize = 16;
const SAMPLES: usize = 4096;

/// The 99th percentile of the service time of requests one after the other, the first of which may be under way: the
/// target tail tables of Rubik.
pub struct Tails {
    /// Where the octiles of one service time begin.
    edges: Vec<f64>,
    totals: Vec<[f64; COLUMNS]>,
    variance: f64,
}

impl Tails {
    /// The tails of `service`, from samples that are the same in every run.
    pub fn new(service: &ServiceTimes) -> Self {
        let mut rng = Rng::new(98, 0);
        let mut draw = || service.factor(rng.next_u64());
        let mut sorted: Vec<f64> = (0..SAMPLES).map(|_| draw()).collect();
        sorted.sort_by(f64::total_cmp);
        let edges = (0..ROWS).map(|row| if row == 0 { 0.0 } else { sorted[row * SAMPLES / ROWS] }).collect();
        let mut others = vec![0.0; SAMPLES];
        let mut totals = vec![[0.0; COLUMNS]; ROWS];
        for column in 0..COLUMNS {
            for (row, totals) in totals.iter_mut().enumerate() {
                let longer = &sorted[row * SAMPLES / ROWS..];
                let mut sums: Vec<f64> = others.iter().enumerate().map(|(i, o)| longer[i % longer.len()] + o).collect();
                totals[column] = *sums.select_nth_unstable_by((TAIL * SAMPLES as f64) as usize, f64::total_cmp).1;
            }
            others.iter_mut().for_each(|sum| *sum += draw());
        }
        let variance = sorted.iter().map(|factor| (factor - 1.0).powi(2)).sum::<f64>() / SAMPLES as f64;
        Self { edges, totals, variance }
    }

    /// What the first request and `others` after it may still take when `done` of the first is done.
    pub fn left(&self, done: f64, others: usize) -> f64 {
        let row = self.edges.partition_point(|&edge| edge <= done).max(1) - 1;
        let total = self.totals[row].get(others).copied().unwrap_or_else(|| {
            let count = (others + 1) as f64;
            count + TAIL_SD * (count * self.variance).sqrt()
        });
        f64::max(total - done, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn tails(exponential_share: f64) -> Tails {
        let text = include_str!("../../../../../../python/bayop/twin/profiles/linux_memcached.toml");
        let mut app = Profile::parse(text, "linux_memcached.toml").unwrap().app;
        app.service_exponential_share = exponential_share;
        Tails::new(&ServiceTimes::new(&app))
    }

    #[test]
    fn constant_times_add_up() {
        let tails = tails(0.0);
        for others in [0, 3, 15, 40] {
            assert!((tails.left(0.25, others) - (0.75 + others as f64)).abs() < 1e-3);
        }
    }

    #[test]
    fn exponential_times_have_the_tail_of_an_erlang_and_no_memory() {
        let tails = tails(1.0);
        // 99th percentiles of 1, 5, 16 and 17 exponential times; a normal distribution has the last within 6 %.
        for (others, expected) in [(0, 4.605), (4, 11.605), (15, 26.743), (16, 28.03)] {
            let left = tails.left(0.0, others);
            assert!((left / expected - 1.0).abs() < 0.07, "{others}: {left}, not {expected}");
        }
        let (fresh, under_way) = (tails.left(0.0, 0), tails.left(1.4, 0));
        assert!((under_way / fresh - 1.0).abs() < 0.15, "{under_way}, not {fresh}");
    }
}
