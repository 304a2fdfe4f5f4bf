//! Many simulations over several threads; the results do not depend on how many.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::engine::simulate_unless;
use crate::error::ProfileError;
use crate::measure::Measurement;
use crate::profile::Profile;
use crate::run::Run;

/// How long the calling thread waits for results before it asks whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// The batch was stopped before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Simulates every run of `jobs` on `threads` threads, results in the order of the jobs.
///
/// `stop` is asked by the calling thread after every result and at least every 20 ms; once it
/// says yes, simulations under way are abandoned.
pub fn simulate_batch(
    jobs: &[(&Profile, Run)],
    threads: usize,
    mut stop: impl FnMut() -> bool,
) -> Result<Vec<Result<Measurement, ProfileError>>, Stopped> {
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let (sender, receiver) = channel();
    let mut results: Vec<_> = jobs.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let (sender, next, stopped) = (sender.clone(), &next, &stopped);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some((profile, run)) = jobs.get(index) else { return };
                    let Some(result) = simulate_unless(profile, run, stopped) else { return };
                    if sender.send((index, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender); // the channel closes when the last worker is done
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok((index, result)) => results[index] = Some(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if stop() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    });
    results.into_iter().map(|result| result.ok_or(Stopped)).collect()
}
