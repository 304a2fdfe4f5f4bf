//! Named steps at which a test kills the process.
//!
//! Without the feature `fault-points` a step is nothing. With it, `BAYOP_FAULT=NAME:N` sends the process SIGKILL when
//! it comes to the step NAME for the Nth time, `BAYOP_PANIC=NAME:N` makes it panic there, and `BAYOP_FAULT_LOG=FILE`
//! appends the name of every step it comes to, which is how a test learns all of them instead of listing them.

/// The step `name` of a write is reached.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn point(_name: &'static str) {}

/// How long to wait for what may never come: `patience`, or `BAYOP_PATIENCE_MS` in a test.
#[cfg(not(feature = "fault-points"))]
pub fn patience(patience: std::time::Duration) -> std::time::Duration {
    patience
}

/// How long to wait for what may never come: `patience`, or `BAYOP_PATIENCE_MS` in a test.
#[cfg(feature = "fault-points")]
pub fn patience(patience: std::time::Duration) -> std::time::Duration {
    let asked = std::env::var("BAYOP_PATIENCE_MS").ok();
    asked
        .map_or(patience, |text| std::time::Duration::from_millis(text.parse().expect("BAYOP_PATIENCE_MS is a number")))
}

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

    /// A step and which time it is reached.
    type Step = Option<(String, u32)>;

    /// The step to be killed at.
    static FATAL: LazyLock<Step> = LazyLock::new(|| step("BAYOP_FAULT"));
    /// The step to panic at.
    static PANIC: LazyLock<Step> = LazyLock::new(|| step("BAYOP_PANIC"));

    fn step(variable: &str) -> Step {
        let text = std::env::var(variable).ok()?;
        let (name, count) = text.rsplit_once(':').unwrap_or_else(|| panic!("{variable} is NAME:N"));
        Some((name.to_owned(), count.parse().expect("N of NAME:N is a number")))
    }

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
        let count = *count;
        drop(reached);
        let is_here = |step: &Step| step.as_ref().is_some_and(|(step, at)| step == name && *at == count);
        if is_here(&FATAL) {
            kill(getpid(), Signal::SIGKILL).expect("a process may kill itself");
        }
        assert!(!is_here(&PANIC), "a test asked for it");
    }
}
