//! Many simulations over several threads; the results do not depend on how many.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::engine::simulate_unless;
use crate::error::ProfileError;
use crate::measure::Measurement;
use crate::profile::Profile;
use crate::run::Run;

/// How often the calling thread is asked whether to stop.
const POLL: Duration = Duration::from_millis(20);

/// The batch was stopped before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Simulates every run of `jobs` on `threads` threads, results in the order of the jobs.
///
/// `stop` is asked by the calling thread every few milliseconds; once it says yes, simulations
/// under way are abandoned.
pub fn simulate_batch(
    jobs: &[(&Profile, Run)],
    threads: usize,
    mut stop: impl FnMut() -> bool,
) -> Result<Vec<Result<Measurement, ProfileError>>, Stopped> {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let results: Vec<Mutex<Option<Result<Measurement, ProfileError>>>> =
        jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(((profile, run), slot)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(index).zip(results.get(index))
        } {
            let Some(result) = simulate_unless(profile, run, &stopped) else { return };
            *slot.lock().unwrap_or_else(|e| e.into_inner()) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, jobs.len().max(1))).map(|_| scope.spawn(work)).collect();
        let (mut waited, mut pause) = (Duration::ZERO, Duration::from_micros(50));
        while !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(pause);
            waited += pause;
            pause = (pause * 2).min(POLL / 4);
            if waited >= POLL {
                waited = Duration::ZERO;
                if stop() {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    let take = |slot: Mutex<Option<_>>| slot.into_inner().unwrap_or_else(|e| e.into_inner()).ok_or(Stopped);
    results.into_iter().map(take).collect()
}
