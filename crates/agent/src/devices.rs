//! Asking devices apart and within a deadline: one that never answers keeps nobody from another.
//!
//! What hangs together is asked together: a network device, a power zone, the processors. One thread asks one device
//! after the other; when nothing has come for a moment, a second thread goes on with those that are left, and so forth.
//! A thread that the kernel does not let go can't be ended; its device is not asked again until it has answered.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bayop_knobs::{Host, control::Control};

use crate::fault;
use crate::undo::{self, Target};
use bayop_core::{Error, Result};

/// How long a device has for each thing that is asked of it: a NIC that resets its link on a write takes seconds.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How long nothing may come before another thread goes on with the devices that nobody asks yet. An attribute answers
/// within microseconds, so that one thread mostly does for all.
const STALL: Duration = Duration::from_millis(5);

/// The devices of a machine, as all who ask them share them.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    /// Those that have yet to answer.
    busy: Arc<Mutex<BTreeSet<String>>>,
    /// Whether one has answered, or was given up, since [somebody looked](Self::has_gone_on).
    progress: Arc<AtomicBool>,
}

impl Devices {
    /// Whether whoever asks has gone on since the last call.
    pub fn has_gone_on(&self) -> bool {
        self.progress.swap(false, Ordering::SeqCst)
    }

    /// Whoever asks goes on.
    pub fn go_on(&self) {
        self.progress.store(true, Ordering::SeqCst);
    }

    /// What the controls hold, in their order.
    pub fn read(&self, host: &Host, controls: Vec<Control>) -> Vec<Result<String>> {
        let jobs = controls.into_iter().map(|control| {
            let host = host.clone();
            (control.answers().to_owned(), move || control.read(&host))
        });
        self.each(jobs.collect()).into_iter().map(|answer| answer?).collect()
    }

    /// The answer of one device.
    ///
    /// # Errors
    /// It does not answer.
    pub fn on<T: Send + 'static>(&self, device: &str, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        self.each(vec![(device.to_owned(), job)]).remove(0)
    }

    /// Puts the targets back, as [`undo::put_back`] does with those of one device. Returns those that do not read as they
    /// should in the end, with why.
    pub fn put_back(&self, host: &Host, targets: Vec<Target>) -> Vec<(Control, Error)> {
        let mut by_device: BTreeMap<String, Vec<Target>> = BTreeMap::new();
        for target in targets {
            by_device.entry(target.control.answers().to_owned()).or_default().push(target);
        }
        let jobs = by_device.iter().map(|(device, targets)| {
            let (host, targets) = (host.clone(), targets.clone());
            let put_back = move || {
                let failed = undo::put_back(&host, &targets).into_iter();
                failed.map(|(target, error)| (target.control.clone(), error)).collect::<Vec<_>>()
            };
            (device.clone(), put_back)
        });
        let answers = self.each(jobs.collect()).into_iter().zip(by_device.values());
        answers
            .flat_map(|(answer, targets)| {
                answer.unwrap_or_else(|error| {
                    let hung = targets.iter().map(|target| &target.control);
                    hung.map(|control| (control.clone(), error.clone().at(control))).collect()
                })
            })
            .collect()
    }

    /// The answers to all jobs in their order, each asked of its device: those of one device one after the other. A
    /// device that is still at earlier work answers nothing; nor does any once nothing has come for [`PATIENCE`].
    pub fn each<T: Send + 'static>(&self, jobs: Vec<(String, impl FnOnce() -> T + Send + 'static)>) -> Vec<Result<T>> {
        let mut answers: Vec<_> = jobs.iter().map(|(device, _)| Err(silent(device))).collect();
        let mut by_device: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (at, (device, job)) in jobs.into_iter().enumerate() {
            by_device.entry(device).or_default().push((at, job));
        }
        let free = by_device.into_iter().filter_map(|(device, jobs)| Some((self.claim(device)?, jobs)));
        let queue: Vec<_> = free.collect();
        let mut unanswered: usize = queue.iter().map(|(_, jobs)| jobs.len()).sum();
        let queue = Arc::new(Mutex::new(queue));
        let (sender, receiver) = channel();
        let mut last = Instant::now();
        begin(&queue, &sender);
        while unanswered > 0 && last.elapsed() < fault::patience(PATIENCE) {
            match receiver.recv_timeout(STALL) {
                Ok((at, answer)) => {
                    answers[at] = Ok(answer.unwrap_or_else(|panic| {
                        locked(&queue).clear();
                        resume_unwind(panic)
                    }));
                    (last, unanswered) = (Instant::now(), unanswered - 1);
                }
                Err(_) => begin(&queue, &sender),
            }
        }
        locked(&queue).clear();
        self.go_on();
        answers
    }

    /// The right to ask a device, unless it is still at earlier work.
    fn claim(&self, device: String) -> Option<Claim> {
        let is_free = locked(&self.busy).insert(device.clone());
        is_free.then(|| Claim { busy: self.busy.clone(), device })
    }
}

/// The right to ask a device, which nobody else has meanwhile.
struct Claim {
    busy: Arc<Mutex<BTreeSet<String>>>,
    device: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        locked(&self.busy).remove(&self.device);
    }
}

/// Devices that nobody asks yet, each with its jobs and their places among the answers.
type Queue<J> = Arc<Mutex<Vec<(Claim, Vec<(usize, J)>)>>>;

/// Lets another thread ask the devices of the queue, if there are any.
fn begin<T, J>(queue: &Queue<J>, answers: &Sender<(usize, thread::Result<T>)>)
where
    T: Send + 'static,
    J: FnOnce() -> T + Send + 'static,
{
    if locked(queue).is_empty() {
        return;
    }
    let (shared, sender) = (queue.clone(), answers.clone());
    let spawned = thread::Builder::new().name("devices".to_owned()).spawn(move || ask(&shared, &sender));
    if spawned.is_err() {
        // No thread is to be had, and restoring is worth the wait.
        ask(queue, answers);
    }
}

/// Asks the devices of the queue, one after the other, until it is empty or nobody wants the answers any more.
fn ask<T, J: FnOnce() -> T>(queue: &Queue<J>, answers: &Sender<(usize, thread::Result<T>)>) {
    loop {
        let Some((claim, jobs)) = locked(queue).pop() else { return };
        let (mut claim, mut jobs) = (Some(claim), jobs.into_iter().peekable());
        while let Some((at, job)) = jobs.next() {
            let answer = catch_unwind(AssertUnwindSafe(job));
            let has_panicked = answer.is_err();
            if has_panicked || jobs.peek().is_none() {
                // Whoever has the last answer may ask again at once.
                claim.take();
            }
            // What was given up must write nothing later.
            if answers.send((at, answer)).is_err() || has_panicked {
                return;
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn silent(device: &str) -> Error {
    Error::failed(format!("{device} did not answer within {} s", PATIENCE.as_secs()))
        .hint("the kernel's log may say what its driver waits for")
}
