//! Named steps at which a test kills the process.
//!
//! Without the feature `fault-points` a step is nothing. With it, `BAYOP_FAULT=NAME:N` sends the process SIGKILL when
//! it comes to the step NAME for the Nth time, and `BAYOP_FAULT_LOG=FILE` appends the name of every step it comes to,
//! which is how a test learns all of them instead of listing them.

/// The step `name` of a write is reached.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

/// The step `name` of a write is reached.
#[cfg(feature = "fault-points")]
pub fn point(name: &'static str) {
    enabled::reach(name);
}

#[cfg(feature = "fault-points")]
mod enabled {
    use std::collections::BTreeMap;
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::getpid;

    /// The step to die at and which time, from `BAYOP_FAULT=NAME:N`.
    static FATAL: LazyLock<Option<(String, u32)>> = LazyLock::new(|| {
        let text = std::env::var("BAYOP_FAULT").ok()?;
        let (name, count) = text.rsplit_once(':').expect("BAYOP_FAULT is NAME:N");
        Some((name.to_owned(), count.parse().expect("N of BAYOP_FAULT=NAME:N is a number")))
    });

    /// How often each step was reached.
    static REACHED: Mutex<BTreeMap<&'static str, u32>> = Mutex::new(BTreeMap::new());

    pub(super) fn reach(name: &'static str) {
        let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = reached.entry(name).or_default();
        *count += 1;
        if let Some(path) = std::env::var_os("BAYOP_FAULT_LOG") {
            let mut log = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("the log opens");
            writeln!(log, "{name}:{count}").expect("the log is written");
        }
        if FATAL.as_ref().is_some_and(|(fatal, at)| fatal == name && at == count) {
            kill(getpid(), Signal::SIGKILL).expect("a process may kill itself");
        }
    }
}
