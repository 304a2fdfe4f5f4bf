//! What the recorders have in common: how long they record, for whom, and what that takes.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use bayop_core::{Error, Result, reason};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, clock_gettime};

/// How often records are taken from the kernel, whose buffer holds several times what comes meanwhile.
pub const TAKE: Duration = Duration::from_millis(50);

/// How long to record, from an argument, in s.
///
/// # Errors
/// It is no such time.
pub fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.01..=2_592_000.0).contains(&number) => Ok(number),
        _ => Err("it must be a number from 0.01 to 2592000".to_owned()),
    }
}

/// Whether somebody may still read what will be printed, by a pipe or a socket. Who asked for a recording may be killed
/// before it ends.
pub fn is_read() -> bool {
    let stdout = io::stdout();
    let mut watched = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let polled = poll(&mut watched, PollTimeout::ZERO);
    polled.is_err()
        || !watched[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP))
}

/// The processor time of this process so far.
///
/// # Errors
/// The kernel does not tell it.
pub fn cpu_time() -> Result<Duration> {
    time_of(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// The time by the clock that records have.
///
/// # Errors
/// The kernel does not tell it.
pub fn monotonic() -> Result<Duration> {
    time_of(ClockId::CLOCK_MONOTONIC)
}

fn time_of(clock: ClockId) -> Result<Duration> {
    clock_gettime(clock).map(Duration::from).map_err(|error| {
        Error::unsupported(format!("the kernel does not tell the time of {clock:?}: {}", reason(&error.into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_longer_than_a_month_is_refused() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "2592001", "nan", "long"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
