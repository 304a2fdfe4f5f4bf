//! When requests are meant to be sent, whatever the server does; or when clients have thought after an answer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::clock::{SECOND_NS, to_ns};
use crate::distribution::Distribution;
use crate::plan::{Plan, Schedule};

/// The intended send times of one thread, in ns since the start of the run, ascending.
///
/// A load that changes is drawn by a change of time: gaps of mean 1 are laid along the integral of the load, so that
/// the process keeps the shape of its gaps while its rate follows the curve.
pub struct Arrivals {
    source: Source,
    /// The time that follows, but for clients that think: what the earliest of them does can still change.
    next_ns: Option<u64>,
}

enum Source {
    Drawn(Drawn),
    Replayed {
        times_ns: Vec<u64>,
        next: usize,
    },
    Thinking(Thinking),
    /// A closed loop intends nothing: replies trigger requests.
    None,
}

/// Gaps of mean 1.
struct Gaps {
    distribution: Distribution,
    mean: f64,
    rng: SmallRng,
}

struct Drawn {
    gaps: Gaps,
    /// (end in ns, requests per ns) of each piece of constant load that is left, the next one last.
    pieces: Vec<(f64, f64)>,
    now_ns: f64,
    /// The first gap in units of the mean, where it must not be random.
    first: Option<f64>,
}

/// The clients of one thread that wait for no answer.
struct Thinking {
    gaps: Gaps,
    think_time_ns: f64,
    /// When they send next. All of them are in it at the start, so that it never grows.
    due_ns: BinaryHeap<Reverse<u64>>,
}

impl Arrivals {
    /// What thread `thread` of the plan's threads sends.
    ///
    /// Each thread has its own process with an equal share of the load; with one thread the stream that the server
    /// sees has exactly the gaps that the plan names.
    pub fn new(plan: &Plan, thread: usize) -> Self {
        let threads = plan.threads;
        let mut source = match &plan.schedule {
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
                    gaps: Gaps::new(gaps, plan, thread),
                    pieces,
                    now_ns: 0.0,
                    // Threads with fixed gaps take turns instead of sending together.
                    first: gaps.is_fixed().then(|| (thread + 1) as f64 / threads as f64),
                })
            }
            Schedule::Thinking { think_time_s, gaps } => {
                Source::Thinking(Thinking::new(*think_time_s, Gaps::new(gaps, plan, thread), plan.clients_per_thread()))
            }
        };
        let next_ns = source.draw();
        Self { source, next_ns }
    }

    /// The time that `next` returns, unless an answer brings an earlier one.
    #[inline]
    pub fn peek(&self) -> Option<u64> {
        match &self.source {
            Source::Thinking(clients) => clients.due_ns.peek().map(|due| due.0),
            Source::Drawn(_) | Source::Replayed { .. } | Source::None => self.next_ns,
        }
    }

    /// Requests that were due were answered or lost, `now_ns` after the start of the run: their clients begin to think.
    #[inline]
    pub fn resolved(&mut self, requests: usize, now_ns: u64) {
        if let Source::Thinking(clients) = &mut self.source {
            (0..requests).for_each(|_| clients.think(now_ns));
        }
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        match &mut self.source {
            Source::Thinking(clients) => clients.due_ns.pop().map(|due| due.0),
            source => mem::replace(&mut self.next_ns, source.draw()),
        }
    }
}

impl Source {
    #[inline]
    fn draw(&mut self) -> Option<u64> {
        match self {
            Self::Drawn(times) => times.next(),
            Self::Replayed { times_ns, next } => {
                *next += 1;
                times_ns.get(*next - 1).copied()
            }
            Self::Thinking(_) | Self::None => None,
        }
    }
}

impl Gaps {
    fn new(distribution: &Distribution, plan: &Plan, thread: usize) -> Self {
        let mean = distribution.mean_of_gaps().expect("checked with the plan");
        let rng = SmallRng::seed_from_u64(plan.stream("arrivals", thread));
        Self { distribution: distribution.clone(), mean, rng }
    }

    #[inline]
    fn next(&mut self) -> f64 {
        self.distribution.sample(&mut self.rng) / self.mean
    }
}

impl Thinking {
    /// Clients in the middle of their first thought, so that they do not march in step.
    fn new(think_time_s: f64, mut gaps: Gaps, clients: usize) -> Self {
        let think_time_ns = think_time_s * SECOND_NS as f64;
        let first = |_| {
            let left = gaps.rng.random::<f64>();
            Reverse((left * gaps.next() * think_time_ns) as u64)
        };
        let due_ns = (0..clients).map(first).collect();
        Self { gaps, think_time_ns, due_ns }
    }

    #[inline]
    fn think(&mut self, now_ns: u64) {
        let gap_ns = self.gaps.next() * self.think_time_ns;
        self.due_ns.push(Reverse(now_ns + gap_ns as u64));
    }
}

impl Drawn {
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let mut gap = match self.first.take() {
            Some(gap) => gap,
            None => self.gaps.next(),
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
