//! The signals that end the agent, by way of a restore.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::libc::{SIGRTMAX, SIGRTMIN};
use nix::sys::signal::Signal;
use signal_hook::flag;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};

/// The signals whose default ends a process (signal(7)), but for those of a crash and SIGKILL, after which the next start
/// restores. SIGABRT is one of them: it is how systemd ends an agent that hangs.
const ENDINGS: [Signal; 13] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGIO,
    Signal::SIGPWR,
    Signal::SIGSTKFLT,
    Signal::SIGXCPU,
];

/// The signals that come. A write beyond the limit of a file's size (SIGXFSZ) fails, and ends nothing.
#[derive(Debug)]
pub struct Endings {
    receiver: Receiver<usize>,
    latest: Arc<AtomicUsize>,
}

impl Endings {
    /// Heeds them from now on.
    pub fn heed() -> Self {
        let (sender, receiver) = channel(1);
        let latest = Arc::new(AtomicUsize::new(0));
        for number in ENDINGS.into_iter().map(|ending| ending as i32).chain(SIGRTMIN()..=SIGRTMAX()) {
            flag::register_usize(number, latest.clone(), number as usize).expect("none of these is reserved");
            let (mut heeded, sender) = (listen(number), sender.clone());
            tokio::spawn(async move {
                heeded.recv().await;
                // Only the first that comes is awaited.
                let _ = sender.send(number as usize).await;
            });
        }
        let _ = listen(Signal::SIGXFSZ as i32);
        Self { receiver, latest }
    }

    /// The name of the next that comes.
    pub async fn next(&mut self) -> String {
        match self.receiver.recv().await {
            Some(number) => name(number),
            None => std::future::pending().await,
        }
    }

    /// The name of one that came and did not wake anybody: what wakes the runtime is a message to itself, for which the
    /// kernel may have no memory.
    pub fn missed(&self) -> Option<String> {
        match self.latest.load(Ordering::SeqCst) {
            0 => None,
            number => Some(name(number)),
        }
    }
}

fn name(number: usize) -> String {
    let named = ENDINGS.into_iter().find(|ending| *ending as usize == number);
    named.map_or_else(|| format!("signal {number}"), |ending| ending.to_string())
}

fn listen(number: i32) -> tokio::signal::unix::Signal {
    signal(SignalKind::from_raw(number)).expect("the runtime has enabled signals, and none of these is reserved")
}
