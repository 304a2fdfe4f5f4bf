//! When requests are meant to be sent, whatever the server does.

use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::clock::{SECOND_NS, to_ns};
use crate::distribution::Distribution;
use crate::plan::{Plan, Schedule};

/// The intended send times of one thread, in ns since the start of the run, ascending.
///
/// A load that changes is drawn by a change of time: gaps of mean 1 are laid along the integral of the load, so that
/// the process keeps the shape of its gaps while its rate follows the curve.
pub struct Arrivals(Source);

enum Source {
    Drawn(Drawn),
    Replayed {
        times_ns: Vec<u64>,
        next: usize,
    },
    /// A closed loop intends nothing: replies trigger requests.
    None,
}

struct Drawn {
    gaps: Distribution,
    mean_gap: f64,
    rng: SmallRng,
    /// (end in ns, requests per ns) of each piece of constant load that is left, the next one last.
    pieces: Vec<(f64, f64)>,
    now_ns: f64,
    /// The first gap in units of the mean, where it must not be random.
    first: Option<f64>,
}

impl Arrivals {
    /// What thread `thread` of the plan's threads sends.
    ///
    /// Each thread has its own process with an equal share of the load; with one thread the stream that the server
    /// sees has exactly the gaps that the plan names.
    pub fn new(plan: &Plan, thread: usize) -> Self {
        let threads = plan.threads;
        Self(match &plan.schedule {
            Schedule::Closed => Source::None,
            Schedule::Replay { times_s } => Source::Replayed {
                times_ns: times_s.iter().skip(thread).step_by(threads).map(|&t| to_ns(t)).collect(),
                next: 0,
            },
            Schedule::Open { pieces, gaps } => {
                let mut end_ns = 0.0;
                let mut pieces: Vec<_> = pieces
                    .iter()
                    .map(|piece| {
                        end_ns += piece.duration_s * SECOND_NS as f64;
                        (end_ns, piece.qps / SECOND_NS as f64 / threads as f64)
                    })
                    .collect();
                pieces.reverse();
                Source::Drawn(Drawn {
                    gaps: gaps.clone(),
                    mean_gap: gaps.mean_of_gaps().expect("checked with the plan"),
                    rng: SmallRng::seed_from_u64(plan.stream("arrivals", thread)),
                    pieces,
                    now_ns: 0.0,
                    // Threads with fixed gaps take turns instead of sending together.
                    first: gaps.is_fixed().then(|| (thread + 1) as f64 / threads as f64),
                })
            }
        })
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            Source::Drawn(times) => times.next(),
            Source::Replayed { times_ns, next } => {
                *next += 1;
                times_ns.get(*next - 1).copied()
            }
            Source::None => None,
        }
    }
}

impl Drawn {
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let mut gap = match self.first.take() {
            Some(gap) => gap,
            None => self.gaps.sample(&mut self.rng) / self.mean_gap,
        };
        loop {
            let &(end_ns, rate) = self.pieces.last()?;
            let room = (end_ns - self.now_ns) * rate;
            if gap < room {
                self.now_ns += gap / rate;
                return Some(self.now_ns as u64);
            }
            gap -= room;
            self.now_ns = end_ns;
            self.pieces.pop();
        }
    }
}
