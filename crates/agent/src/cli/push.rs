//! `bayop-agent push`: what a source of latency prints, to the agent.

use std::io::{BufRead as _, Read as _};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::ExitCode;

use bayop_agent::latency::Latency;
use bayop_agent::log;
use bayop_agent::server::datagrams::GREATEST;
use bayop_core::{Error, Result, reason};

use super::machine::Done;

/// Sends each line of standard input as a datagram. An agent that is not there, or takes no more just now, misses it: what
/// comes next is newer. Exits with 1 when it missed the last. A line without a quantile is no news, and not sent.
pub fn push(socket: &Path) -> Done {
    let sender = UnixDatagram::unbound().and_then(|sender| sender.set_nonblocking(true).map(|()| sender));
    let sender = sender.map_err(|error| Error::unsupported(format!("cannot make a socket: {}", reason(&error))))?;
    let mut is_missed = false;
    let (mut input, mut line) = (std::io::stdin().lock(), Vec::new());
    loop {
        line.clear();
        // Room for the line's end; of a line that is too long, no more than shows it.
        let read = (&mut input).take(GREATEST as u64 + 2).read_until(b'\n', &mut line);
        read.map_err(|error| Error::input(format!("cannot read standard input: {}", reason(&error))))?;
        if line.is_empty() {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if !has_news(text)? {
            continue;
        }
        let sent = sender.send_to(text, socket);
        if let (Err(error), false) = (&sent, is_missed) {
            log::say(format_args!("warning: {} takes no latency: {}", socket.display(), reason(error)));
        }
        is_missed = sent.is_err();
    }
    Ok((String::new(), if is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }))
}

/// Whether a line says what clients see.
///
/// # Errors
/// The agent would refuse it.
fn has_news(line: &[u8]) -> Result<bool> {
    let latency = match line.len() {
        ..=GREATEST => Latency::parse_line(line),
        _ => Err(Error::input(format!("a line has {} bytes or more", GREATEST + 1))
            .rule(format!("a latency must have {GREATEST} bytes at most"))),
    };
    latency.map(|latency| latency.is_some()).map_err(|error| error.at("standard input"))
}
