//! What is answered: bytes in, bytes out.

use alloc::format;
use alloc::string::ToString as _;

use super::Service;
use super::counts::name;
use super::protocol::{Command, Garbage, Refusal, Request};
use crate::store::Conflict;

/// What became of the bytes that a client has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// So many of them were a request, which is answered.
    Request(usize),
    /// They are the beginning of a request.
    Nothing,
    /// They were a QUIT, a request that is too large, or none. None that follows is answered any more.
    Last,
}

/// Does what the request asks that `input` begins with, and writes the answer.
///
/// `now_us` is the date of its transaction, in us since 1970.
pub fn answer(input: &[u8], service: &mut Service<'_>, now_us: u64, write: impl FnMut(&[u8])) -> Answered {
    let request = match Request::parse(input) {
        Ok(Some(request)) => request,
        Ok(None) => return Answered::Nothing,
        Err(Garbage) => return Answered::Last,
    };
    match request.command {
        Command::Get => get(&request, service, now_us, write),
        Command::Noop | Command::Quit => request.answer(b"", b"", b"", write),
        Command::Version => request.answer(b"", b"", env!("CARGO_PKG_VERSION").as_bytes(), write),
        Command::Stat => stat(&request, service.counts().rows(), write),
        Command::Consistency => match service.violations() {
            Ok(violations) => stat(&request, [("violations", violations.len() as u64)], write),
            Err(Conflict) => request.refuse(Refusal::TemporaryFailure, write),
        },
        Command::Refused(refusal) => request.refuse(refusal, write),
    }
    match request.command {
        Command::Quit | Command::Refused(Refusal::TooLarge) => Answered::Last,
        _ => Answered::Request(request.len),
    }
}

/// Runs a transaction, and answers with its kind and how it ended: `new_order committed`.
fn get(request: &Request, service: &mut Service<'_>, now_us: u64, write: impl FnMut(&[u8])) {
    const FLAGS: [u8; 4] = [0; 4];
    let done = service.run(now_us);
    let end = if done.is_rolled_back { "rolled back" } else { "committed" };
    request.answer(&FLAGS, b"", format!("{} {end}", name(done.kind)).as_bytes(), write);
}

/// Answers once for each count, its name as the key, and once without any.
fn stat(request: &Request, counts: impl IntoIterator<Item = (&'static str, u64)>, mut write: impl FnMut(&[u8])) {
    for (name, count) in counts {
        request.answer(b"", name.as_bytes(), count.to_string().as_bytes(), &mut write);
    }
    request.answer(b"", b"", b"", write);
}
