//! Where the time goes: the cost of each kind of event, fitted over many settings.
//!
//! A clock read around every event would cost more than the event. Instead, settings with
//! different numbers of interrupts and idle periods per request are timed as a whole, and least
//! squares share the times out.

use crate::Point;

/// Kinds of events: names for people.
pub const KINDS: [&str; 3] = ["request", "interrupt", "idle period"];

/// Nanoseconds per event of each kind.
pub struct EventCosts {
    pub ns: [f64; KINDS.len()],
    /// Mean absolute error of the fitted times, relative.
    pub error: f64,
}

impl EventCosts {
    /// The non-negative costs that explain the times of `points` best, in relative terms.
    pub fn fit(points: &[Point]) -> Self {
        let mut active = vec![0, 1, 2];
        let ns = loop {
            let solution = least_squares(points, &active);
            match (0..active.len()).min_by(|&i, &j| solution[i].total_cmp(&solution[j])) {
                Some(worst) if solution[worst] < 0.0 => drop(active.remove(worst)),
                _ => {
                    let mut ns = [0.0; KINDS.len()];
                    active.iter().zip(solution).for_each(|(&kind, cost)| ns[kind] = cost);
                    break ns;
                }
            }
        };
        let error = |p: &Point| (dot(&ns, &p.events) / p.ns_per_request() - 1.0).abs();
        Self { ns, error: points.iter().map(error).sum::<f64>() / points.len() as f64 }
    }

    /// Share of each kind in the time of `point` (0 to 1).
    pub fn shares(&self, point: &Point) -> [f64; KINDS.len()] {
        let total = dot(&self.ns, &point.events);
        std::array::from_fn(|kind| self.ns[kind] * point.events[kind] / total)
    }
}

fn dot(a: &[f64; KINDS.len()], b: &[f64; KINDS.len()]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Solves the normal equations for the costs of the kinds in `active` (Gauss-Jordan).
fn least_squares(points: &[Point], active: &[usize]) -> Vec<f64> {
    let n = active.len();
    let mut a = vec![vec![0.0; n + 1]; n];
    for point in points {
        let row: Vec<f64> = active.iter().map(|&kind| point.events[kind] / point.ns_per_request()).collect();
        for i in 0..n {
            for j in 0..n {
                a[i][j] += row[i] * row[j];
            }
            a[i][n] += row[i];
        }
    }
    for i in 0..n {
        let pivot = a[i].clone();
        for row in a.iter_mut().enumerate().filter_map(|(k, row)| (k != i).then_some(row)) {
            let factor = row[i] / pivot[i];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    (0..n).map(|i| a[i][n] / a[i][i]).collect()
}
