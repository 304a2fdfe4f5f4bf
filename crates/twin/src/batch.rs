//! Many simulations over several threads; the results do not depend on how many.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::engine::simulate_unless;
use crate::measure::Measurement;
use crate::profile::Profile;
use crate::run::Run;
use bayop_core::Error;

/// How long the calling thread waits for results before it asks whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// The batch was stopped before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Simulates every run of `jobs` on `threads` threads, results in the order of the jobs.
///
/// `stop` is asked by the calling thread after every result and at least every 20 ms; once it
/// says yes, simulations under way are abandoned. Long runs start first, so that no thread is
/// left with one when the others are done.
pub fn simulate_batch(
    jobs: &[(&Profile, Run)],
    threads: usize,
    mut stop: impl FnMut() -> bool,
) -> Result<Vec<Result<Measurement, Error>>, Stopped> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|&a, &b| jobs[b].1.expected_requests().total_cmp(&jobs[a].1.expected_requests()));
    let next = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let (sender, receiver) = channel();
    let mut results: Vec<_> = jobs.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let (sender, order, next, stopped) = (sender.clone(), &order, &next, &stopped);
            scope.spawn(move || {
                loop {
                    let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    let (profile, run) = &jobs[index];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Knob;
    use crate::run::{Length, Load};
    use crate::setting::Setting;

    #[test]
    fn results_come_in_the_order_of_the_jobs_whatever_their_lengths() {
        let text = include_str!("../../../python/bayop/twin/profiles/ebbrt_memcached.toml");
        let profile = Profile::parse(text, "ebbrt_memcached.toml").unwrap();
        let job = |seconds: f64, qps: f64| {
            let setting = Setting::default().with(Knob::RxUsecs, 50.0).with(Knob::FreqMhz, 2900.0);
            (
                &profile,
                Run { setting, load: Load::Qps(qps), length: Length::Seconds(seconds), warmup_s: Some(0.0), seed: 1 },
            )
        };
        let jobs = [job(0.01, 1e4), job(0.02, 2e5), job(0.03, 1e5), job(0.04, -1.0), job(0.05, 3e5)];
        for threads in [1, 2, 7] {
            let results = simulate_batch(&jobs, threads, || false).unwrap();
            let durations_ms: Vec<_> =
                results.into_iter().map(|m| m.ok().map(|m| (1e3 * m.duration_s).round())).collect();
            assert_eq!(durations_ms, [Some(10.0), Some(20.0), Some(30.0), None, Some(50.0)]);
        }
    }
}
