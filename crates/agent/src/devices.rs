//! Asking devices apart and within a deadline: one that never answers keeps nobody from another.
//!
//! What hangs together is asked together: a network device, a power zone, the processors. One thread asks one device
//! after the other; when nothing has come for a moment, a second thread goes on with those that are left, and so forth.
//! A thread that the kernel does not let go can't be ended; its device is not asked again until it has answered.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    /// Whether one has answered, or those that had not were given up, since [somebody looked](Self::has_gone_on).
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
        self.each_within(fault::patience(PATIENCE), jobs)
    }

    fn each_within<T: Send + 'static>(
        &self,
        patience: Duration,
        jobs: Vec<(String, impl FnOnce() -> T + Send + 'static)>,
    ) -> Vec<Result<T>> {
        let devices: Vec<_> = jobs.iter().map(|(device, _)| device.clone()).collect();
        let mut by_device: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (at, (device, job)) in jobs.into_iter().enumerate() {
            by_device.entry(device).or_default().push((at, job));
        }
        let free = by_device.into_iter().filter_map(|(device, jobs)| Some((self.claim(device)?, jobs)));
        let answers = Round::new(free.collect(), devices.len(), self.clone()).play(patience);
        self.go_on();
        let answers = answers.into_iter().zip(&devices);
        answers.map(|(answer, device)| answer.ok_or_else(|| silent(device))).collect()
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

/// What is asked at once, of jobs `J` that answer `T`.
struct Round<T, J> {
    devices: Devices,
    table: Mutex<Table<T, J>>,
    /// Signalled when all is answered, and not by each answer.
    done: Condvar,
}

struct Table<T, J> {
    /// Devices that nobody asks yet, each with its jobs and their places among the answers.
    queue: Vec<(Claim, Vec<(usize, J)>)>,
    /// A thread was begun and has yet to look at the queue.
    is_beginning: bool,
    answers: Vec<Option<T>>,
    unanswered: usize,
    /// When the last answer came.
    last: Instant,
    panic: Option<Box<dyn Any + Send>>,
    /// Nobody waits for answers any more.
    is_over: bool,
}

impl<T: Send + 'static, J: FnOnce() -> T + Send + 'static> Round<T, J> {
    fn new(queue: Vec<(Claim, Vec<(usize, J)>)>, answers: usize, devices: Devices) -> Arc<Self> {
        let table = Table {
            unanswered: queue.iter().map(|(_, jobs)| jobs.len()).sum(),
            queue,
            is_beginning: false,
            answers: std::iter::repeat_with(|| None).take(answers).collect(),
            last: Instant::now(),
            panic: None,
            is_over: false,
        };
        Arc::new(Self { devices, table: Mutex::new(table), done: Condvar::new() })
    }

    /// The answers that come in time.
    fn play(self: Arc<Self>, patience: Duration) -> Vec<Option<T>> {
        self.begin();
        let mut table = locked(&self.table);
        while table.unanswered > 0 && table.panic.is_none() && table.last.elapsed() < patience {
            let pause = if table.queue.is_empty() { patience.saturating_sub(table.last.elapsed()) } else { STALL };
            table = self.done.wait_timeout(table, pause).unwrap_or_else(PoisonError::into_inner).0;
            if table.last.elapsed() >= STALL && !table.is_beginning {
                drop(table);
                self.begin();
                table = locked(&self.table);
            }
        }
        table.is_over = true;
        table.queue.clear();
        if let Some(panic) = table.panic.take() {
            drop(table);
            resume_unwind(panic);
        }
        std::mem::take(&mut table.answers)
    }

    /// Lets another thread ask the devices that are left, if any.
    fn begin(self: &Arc<Self>) {
        let mut table = locked(&self.table);
        table.is_beginning = !table.queue.is_empty();
        if !table.is_beginning {
            return;
        }
        drop(table);
        let round = self.clone();
        let spawned = thread::Builder::new().name("devices".to_owned()).spawn(move || round.ask());
        if spawned.is_err() {
            // No thread is to be had, and restoring is worth the wait.
            self.ask();
        }
    }

    /// Asks the devices of the queue, one after the other, until it is empty or nobody waits for the answers any more. The
    /// last comes first: by their names these are the processors and power zones, and network devices may be slow.
    fn ask(&self) {
        while let Some((claim, jobs)) = self.next() {
            let (mut claim, mut jobs) = (Some(claim), jobs.into_iter().peekable());
            while let Some((at, job)) = jobs.next() {
                let answer = catch_unwind(AssertUnwindSafe(job));
                if answer.is_err() || jobs.peek().is_none() {
                    // Whoever has the last answer may ask again at once.
                    claim.take();
                }
                if !self.record(at, answer) {
                    return;
                }
            }
        }
    }

    fn next(&self) -> Option<(Claim, Vec<(usize, J)>)> {
        let mut table = locked(&self.table);
        table.is_beginning = false;
        table.queue.pop()
    }

    /// Takes an answer down. Returns whether more are wanted: of what was given up, nothing must be done later.
    fn record(&self, at: usize, answer: thread::Result<T>) -> bool {
        let mut table = locked(&self.table);
        if table.is_over {
            return false;
        }
        self.devices.go_on();
        table.last = Instant::now();
        table.unanswered -= 1;
        match answer {
            Ok(answer) => table.answers[at] = Some(answer),
            Err(panic) => table.panic = Some(panic),
        }
        if table.unanswered == 0 || table.panic.is_some() {
            self.done.notify_one();
        }
        table.panic.is_none()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn silent(device: &str) -> Error {
    Error::failed(format!("{device} did not answer within {} s", PATIENCE.as_secs()))
        .hint("the kernel's log may say what its driver waits for")
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    type Job = (String, Box<dyn FnOnce() -> u32 + Send>);

    fn job(device: &str, job: impl FnOnce() -> u32 + Send + 'static) -> Job {
        (device.to_owned(), Box::new(job))
    }

    #[test]
    fn answers_come_in_the_order_of_the_jobs_and_those_of_one_device_one_after_the_other() {
        let devices = Devices::default();
        let turn = Arc::new(Mutex::new(0));
        let jobs = ["b", "a", "b", "c", "b"].iter().enumerate().map(|(at, device)| {
            let turn = turn.clone();
            job(device, move || {
                if *device == "b" {
                    assert!(*turn.lock().unwrap() <= at);
                    *turn.lock().unwrap() = at;
                }
                at as u32
            })
        });
        let answers: Vec<_> = devices.each(jobs.collect()).into_iter().map(|answer| answer.unwrap()).collect();
        assert_eq!(answers, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn devices_that_wait_are_asked_beside_each_other() {
        let meet = Arc::new(Barrier::new(3));
        let jobs = ["a", "b", "c"].map(|device| {
            let meet = meet.clone();
            job(device, move || {
                meet.wait();
                1
            })
        });
        assert_eq!(Devices::default().each(jobs.into()), [Ok(1), Ok(1), Ok(1)]);
    }

    #[test]
    fn of_what_was_given_up_nothing_more_is_done_and_its_device_can_be_asked_again() {
        let devices = Devices::default();
        let (hang, late) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
        let (hung, done) = (hang.clone(), late.clone());
        let jobs = vec![
            job("hung", move || hung.wait().is_leader().into()),
            job("hung", move || done.swap(true, Ordering::SeqCst).into()),
            job("other", || 2),
        ];
        let answers = devices.each_within(Duration::from_millis(100), jobs);
        assert!(answers[0].is_err() && answers[1].is_err() && answers[2] == Ok(2));
        assert!(devices.on("hung", || ()).is_err(), "it is not asked again until it has answered");
        hang.wait();
        while devices.on("hung", || ()).is_err() {
            thread::yield_now();
        }
        assert!(!late.load(Ordering::SeqCst));
    }

    #[test]
    fn a_panic_is_that_of_who_asks_and_leaves_no_device_behind() {
        let devices = Devices::default();
        let asked = devices.clone();
        assert!(catch_unwind(AssertUnwindSafe(move || asked.on("a", || panic!("asked for")))).is_err());
        assert_eq!(devices.on("a", || 1), Ok(1));
    }
}
