//! Asking devices apart and within a deadline: one that never answers keeps nobody from another.
//!
//! What hangs together is asked together, in a thread of its own: a network device, a power zone, the processors. A
//! thread that the kernel does not let go can't be ended; its device is not asked again until it has answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bayop_knobs::{Host, control::Control, control::Write};

use crate::fault;
use crate::undo::{self, Target};
use bayop_core::{Error, Result};

/// How long the devices have for what is asked of them at once: a NIC that resets its link on a write takes seconds.
pub const PATIENCE: Duration = Duration::from_secs(5);

type Job<T> = Box<dyn FnOnce() -> T + Send>;

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

    /// The answers to all jobs in their order, each asked of its device: those of one device one after the other.
    pub fn each<T: Send + 'static>(&self, jobs: Vec<(String, impl FnOnce() -> T + Send + 'static)>) -> Vec<Result<T>> {
        let mut answers: Vec<_> = jobs.iter().map(|(device, _)| Err(silent(device))).collect();
        let mut by_device: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (at, (device, job)) in jobs.into_iter().enumerate() {
            by_device.entry(device).or_default().push((at, job));
        }
        let together = by_device.into_iter().map(|(device, jobs)| {
            let all = move || jobs.into_iter().map(|(at, job)| (at, job())).collect::<Vec<_>>();
            (device, Box::new(all) as Job<_>)
        });
        for (at, answer) in self.ask(together.collect()).into_values().flatten().flatten() {
            answers[at] = Ok(answer);
        }
        answers
    }

    /// Writes a control.
    ///
    /// # Errors
    /// The kernel refuses, or the device does not answer.
    pub fn write(&self, host: &Host, write: &Write) -> Result<()> {
        let (host, Write { control, text }) = (host.clone(), write.clone());
        self.on(write.control.answers(), move || control.write(&host, &text))?
    }

    /// The answer of one device.
    ///
    /// # Errors
    /// It does not answer.
    pub fn on<T: Send + 'static>(&self, device: &str, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let jobs = BTreeMap::from([(device.to_owned(), Box::new(job) as Job<T>)]);
        self.ask(jobs).remove(device).expect("it was asked")
    }

    /// Puts the targets back, as [`undo::put_back`] does with those of one device. Returns those that do not read as they
    /// should in the end, with why.
    pub fn put_back(&self, host: &Host, targets: Vec<Target>) -> Vec<(Control, Error)> {
        let by_device = by_device(targets.into_iter(), |target| &target.control);
        let jobs = by_device.clone().into_iter().map(|(device, targets)| {
            let host = host.clone();
            let put_back = move || {
                let failed = undo::put_back(&host, &targets).into_iter();
                failed.map(|(target, error)| (target.control.clone(), error)).collect::<Vec<_>>()
            };
            (device, Box::new(put_back) as Job<_>)
        });
        let answers = self.ask(jobs.collect()).into_iter();
        answers
            .flat_map(|(device, answer)| {
                answer.unwrap_or_else(|error| {
                    let hung = by_device[&device].iter();
                    hung.map(|target| (target.control.clone(), error.clone().at(&target.control))).collect()
                })
            })
            .collect()
    }

    /// The answers of all devices that answer in time.
    fn ask<T: Send + 'static>(&self, jobs: BTreeMap<String, Job<T>>) -> BTreeMap<String, Result<T>> {
        let deadline = Instant::now() + fault::patience(PATIENCE);
        let begun: Vec<_> = jobs.into_iter().map(|(device, job)| (self.begin(&device, job), device)).collect();
        let answers = begun.into_iter().map(|(begun, device)| {
            let answer = begun.ok_or_else(|| silent(&device)).and_then(|answer| wait(&device, &answer, deadline));
            (device, answer)
        });
        let answers = answers.collect();
        self.go_on();
        answers
    }

    /// Begins a device's work, unless it is still at an earlier one.
    fn begin<T: Send + 'static>(&self, device: &str, job: Job<T>) -> Option<Receiver<T>> {
        if !self.busy().insert(device.to_owned()) {
            return None;
        }
        let (sender, answer) = sync_channel(1);
        let busy = Busy(self.clone(), device.to_owned());
        let work = Arc::new(Mutex::new(Some(move || {
            let done = job();
            drop(busy);
            // The one who asked may have gone.
            let _ = sender.send(done);
        })));
        let shared = work.clone();
        let spawned = thread::Builder::new().name(device.to_owned()).spawn(move || take(&shared)());
        if spawned.is_err() {
            // No thread is to be had, and restoring is worth the wait.
            take(&work)();
        }
        Some(answer)
    }

    fn busy(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A device that has yet to answer, until the work is done or has panicked.
struct Busy(Devices, String);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy().remove(&self.1);
    }
}

fn wait<T>(device: &str, answer: &Receiver<T>, deadline: Instant) -> Result<T> {
    answer.recv_timeout(deadline.saturating_duration_since(Instant::now())).map_err(|error| match error {
        RecvTimeoutError::Timeout => silent(device),
        RecvTimeoutError::Disconnected => panic!("the work of {device} panicked"),
    })
}

fn take<W>(work: &Mutex<Option<W>>) -> W {
    work.lock().unwrap_or_else(PoisonError::into_inner).take().expect("work is done once")
}

fn by_device<T>(items: impl Iterator<Item = T>, control: impl Fn(&T) -> &Control) -> BTreeMap<String, Vec<T>> {
    let mut devices: BTreeMap<String, Vec<T>> = BTreeMap::new();
    for item in items {
        devices.entry(control(&item).answers().to_owned()).or_default().push(item);
    }
    devices
}

fn silent(device: &str) -> Error {
    Error::failed(format!("{device} did not answer within {} s", PATIENCE.as_secs()))
        .hint("the kernel's log may say what its driver waits for")
}
