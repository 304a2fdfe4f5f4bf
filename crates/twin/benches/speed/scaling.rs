//! What a second thread gains.

use std::time::Instant;

use bayop_twin::{Profile, Run, simulate_batch};

use crate::clock::process_cpu_s;

/// Rounds; the best of each number of threads counts, so that one quiet moment is enough.
const ROUNDS: u64 = 12;
const JOBS: u64 = 8;

/// The same batch on one thread and on two.
pub struct Scaling {
    /// Wall-clock seconds of the best round.
    pub wall_s: [f64; 2],
    /// CPU seconds of all rounds.
    pub cpu_s: [f64; 2],
}

impl Scaling {
    /// Measures batches of runs that differ in their seeds, one and two threads by turns.
    pub fn measure(profile: &Profile, run: &Run) -> Self {
        let jobs: Vec<(&Profile, Run)> = (0..JOBS).map(|seed| (profile, Run { seed, ..*run })).collect();
        let (mut wall_s, mut cpu_s) = ([f64::INFINITY; 2], [0.0; 2]);
        for _ in 0..ROUNDS {
            for threads in [1, 2] {
                let (start, before_s) = (Instant::now(), process_cpu_s());
                simulate_batch(&jobs, threads, || false).expect("nobody stops it");
                cpu_s[threads - 1] += process_cpu_s() - before_s;
                wall_s[threads - 1] = start.elapsed().as_secs_f64().min(wall_s[threads - 1]);
            }
        }
        Self { wall_s, cpu_s }
    }

    /// How much faster the best round on two threads was, by the wall clock.
    pub fn by_wall(&self) -> f64 {
        self.wall_s[0] / self.wall_s[1]
    }

    /// The same if both threads had had a core for themselves all the time: what remains is what
    /// the threads cost each other.
    pub fn by_cpu(&self) -> f64 {
        2.0 * self.cpu_s[0] / self.cpu_s[1]
    }
}
