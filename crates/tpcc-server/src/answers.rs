//! What is answered: bytes in, bytes out.

use crate::counts::name;
use crate::protocol::{Command, Garbage, Refusal, Request};
use crate::service::Service;

/// No request of this connection is answered any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending;

/// Takes the requests that are complete out of `input`, does what they ask, and appends the answers to `output`.
///
/// `now_us` is the date of their transactions, in us since 1970.
///
/// # Errors
/// [`Ending`] after a QUIT, a request that is too large, and what is no request. The answers before it are to be sent.
pub fn answer(input: &mut Vec<u8>, output: &mut Vec<u8>, service: &mut Service<'_>, now_us: u64) -> Result<(), Ending> {
    let mut at = 0;
    while let Some(request) = Request::parse(&input[at..]).map_err(|Garbage| Ending)? {
        at += request.len;
        match request.command {
            Command::Get => get(&request, output, service, now_us),
            Command::Noop | Command::Quit => request.answer(b"", b"", b"", output),
            Command::Version => request.answer(b"", b"", env!("CARGO_PKG_VERSION").as_bytes(), output),
            Command::Stat => stat(&request, output, service),
            Command::Refused(refusal) => request.refuse(refusal, output),
        }
        if matches!(request.command, Command::Quit | Command::Refused(Refusal::TooLarge)) {
            return Err(Ending);
        }
    }
    input.drain(..at);
    Ok(())
}

/// Runs a transaction, and answers with its kind and how it ended: `new_order committed`.
fn get(request: &Request, output: &mut Vec<u8>, service: &mut Service<'_>, now_us: u64) {
    const FLAGS: [u8; 4] = [0; 4];
    let done = service.run(now_us);
    let end = if done.is_rolled_back { "rolled back" } else { "committed" };
    request.answer(&FLAGS, b"", format!("{} {end}", name(done.kind)).as_bytes(), output);
}

/// Answers once for each count, its name as the key, and once without any.
fn stat(request: &Request, output: &mut Vec<u8>, service: &Service<'_>) {
    for (name, count) in service.counts().rows() {
        request.answer(b"", name.as_bytes(), count.to_string().as_bytes(), output);
    }
    request.answer(b"", b"", b"", output);
}
