//! Takes in what comes at a socket, and rests after a failure: a client is gone already, or no file descriptor or memory
//! is left, and a pause lets some be freed.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use bayop_core::reason;
use tokio::time::{Instant, sleep_until};

use crate::log;

/// How long nothing is taken in after a failure.
const PAUSE: Duration = Duration::from_millis(100);
/// How often failures are logged at most.
const LOGGED_EVERY: Duration = Duration::from_secs(1);

/// One socket's.
#[derive(Debug, Default)]
pub struct Intake {
    /// Kept here and not in a future: the main loop drops its futures whenever anything else happens.
    resumes: Cell<Option<Instant>>,
    logged: Cell<Option<Instant>>,
}

impl Intake {
    /// The next that `take` gives, after the pause that is due.
    pub async fn next<T>(&self, take: impl AsyncFn() -> io::Result<T>) -> T {
        loop {
            if let Some(resumes) = self.resumes.get() {
                sleep_until(resumes).await;
                self.resumes.set(None);
            }
            match take().await {
                Ok(taken) => return taken,
                Err(error) => self.failed(&error),
            }
        }
    }

    fn failed(&self, error: &io::Error) {
        let now = Instant::now();
        self.resumes.set(Some(now + PAUSE));
        if self.logged.get().is_none_or(|logged| now >= logged + LOGGED_EVERY) {
            self.logged.set(Some(now));
            log::event("accept_failed", &[("error", &reason(error))]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pause_outlasts_what_else_happens() {
        let (intake, failures) = (Intake::default(), Cell::new(0));
        let fail = async || {
            failures.set(failures.get() + 1);
            Err::<(), _>(io::ErrorKind::OutOfMemory.into())
        };
        let start = Instant::now();
        while start.elapsed() < 3 * PAUSE {
            tokio::select! {
                () = intake.next(&fail) => {}
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
        assert!((1..=4).contains(&failures.get()), "{failures:?}");
    }
}
