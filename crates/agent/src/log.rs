//! One logfmt line per change on standard error, which is the journal's under systemd.
//!
//! A line that can't be written, or not at once, is dropped: nothing that is logged fails or waits because its reader is
//! gone, slow, or out of space.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The longest line, in bytes: what a pipe that takes any takes as a whole (PIPE_BUF, pipe(7)).
const LONGEST: usize = 4096;

/// The lines that were dropped since the last one that was written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Writes `event=EVENT key=value ...`; values with spaces or quotes are quoted. Says so when lines before it were lost.
pub fn event(event: &str, fields: &[(&str, &dyn Display)]) {
    let dropped = DROPPED.swap(0, Ordering::Relaxed);
    if dropped > 0 && !offer(&line("lines_dropped", &[("count", &dropped)])) {
        DROPPED.fetch_add(dropped + 1, Ordering::Relaxed);
        return;
    }
    if !offer(&line(event, fields)) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Says something to the person at the terminal, where there is one.
pub fn say(text: impl Display) {
    offer(&text.to_string());
}

/// Writes a line if standard error takes one now. Returns whether it did.
fn offer(line: &str) -> bool {
    let mut bytes = line.as_bytes()[..line.len().min(LONGEST - 1)].to_vec();
    bytes.push(b'\n');
    let stderr = std::io::stderr();
    let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let writable = poll(&mut ready, PollTimeout::ZERO).is_ok()
        && ready[0].revents().is_some_and(|events| events.contains(PollFlags::POLLOUT));
    writable && stderr.lock().write_all(&bytes).is_ok()
}

fn line(event: &str, fields: &[(&str, &dyn Display)]) -> String {
    let mut line = format!("event={event}");
    for (key, value) in fields {
        let value = value.to_string();
        let plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_graphic() && !"\"=\\".contains(c));
        // Writing to a string does not fail.
        let _ = if plain { write!(line, " {key}={value}") } else { write!(line, " {key}={value:?}") };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_not_forge_a_field_or_a_line() {
        let forged = "x reason=\"none\"\nevent=restored";
        let line = line("applied", &[("knob", &"nic.rx_usecs@eth0"), ("holder", &forged), ("reason", &"")]);
        let expected = r#"event=applied knob=nic.rx_usecs@eth0 holder="x reason=\"none\"\nevent=restored" reason="""#;
        assert_eq!(line, expected);
    }
}
