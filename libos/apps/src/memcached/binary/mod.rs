//! memcached's binary protocol (its doc/protocol-binary.txt).

mod opcode;
mod packet;

use alloc::boxed::Box;
use alloc::vec::Vec;

use libos_net::service::{Output, Served};

use super::operations::{NoSum, Refusal, Storing, Verb};
use super::server::{Memcached, RESERVED_BYTES, VERSION};
use super::store::{MAX_KEY_LEN, gone_s};
use opcode::{Asked, Command, Kind};
pub(super) use packet::REQUEST;
use packet::{HEADER_LEN, Header, Request, Status};

/// Up to this length a body is waited for; of a longer one, each piece is kept as it comes.
const WHOLE_LEN: usize = 64 << 10;
/// The expiry of a number that is not to be made.
const NOT_MADE: u32 = u32::MAX;

/// What the next bytes of a connection are.
#[derive(Debug, Default)]
pub(super) enum Expects {
    /// A packet.
    #[default]
    Packet,
    /// The rest of a long body.
    Body(Box<Partial>),
    /// So many bytes of a body that was answered already.
    Refused(usize),
}

/// A request whose body has not come whole.
#[derive(Debug)]
pub(super) struct Partial {
    header: Header,
    body: Vec<u8>,
}

/// What follows from a packet.
enum Step {
    GoOn,
    Expect(Expects),
    Close,
}

impl Memcached {
    /// Serves what is whole of the input; see `Service::serve`.
    #[inline]
    pub(super) fn serve_binary(
        &mut self,
        now_s: u32,
        expects: &mut Expects,
        input: &[u8],
        output: &mut Output,
    ) -> Served {
        let mut taken = 0;
        while taken < input.len() && !output.is_full() {
            let rest = &input[taken..];
            let (len, step) = match expects {
                Expects::Packet => match self.packet(now_s, rest, output) {
                    Some(done) => done,
                    None => break,
                },
                Expects::Body(partial) => {
                    let len = rest.len().min(partial.header.body_len - partial.body.len());
                    partial.body.extend_from_slice(&rest[..len]);
                    if partial.body.len() < partial.header.body_len {
                        (len, Step::GoOn)
                    } else {
                        let Partial { header, body } = &**partial;
                        match self.body(now_s, *header, body, output) {
                            Step::GoOn => (len, Step::Expect(Expects::Packet)),
                            step => (len, step),
                        }
                    }
                }
                Expects::Refused(left) => {
                    let len = rest.len().min(*left);
                    *left -= len;
                    (len, if *left == 0 { Step::Expect(Expects::Packet) } else { Step::GoOn })
                }
            };
            taken += len;
            match step {
                Step::GoOn => {}
                Step::Expect(next) => *expects = next,
                Step::Close => return Served { taken, close: true },
            }
        }
        Served { taken, close: false }
    }

    /// The packet in front of the input, if enough of it is there. None: more is needed.
    #[inline]
    fn packet(&mut self, now_s: u32, input: &[u8], output: &mut Output) -> Option<(usize, Step)> {
        let (bytes, rest) = input.split_first_chunk::<HEADER_LEN>()?;
        let Some(header) = Header::parse(bytes) else { return Some((input.len(), Step::Close)) };
        let body_len = header.body_len;
        let Some(asked) = Asked::of(header.opcode) else {
            Request { header, extras: &[], key: &[] }.refuse(Status::Unknown, output);
            return Some((HEADER_LEN, swallow(body_len)));
        };
        if header.head_len() > body_len || header.key_len > MAX_KEY_LEN || !asked.fits(&header) {
            Request { header, extras: &[], key: &[] }.refuse(Status::Invalid, output);
            return Some((HEADER_LEN, Step::Close));
        }
        if body_len <= WHOLE_LEN {
            let body = rest.get(..body_len)?;
            return Some((HEADER_LEN + body_len, self.body(now_s, header, body, output)));
        }
        let head = rest.get(..header.head_len())?;
        let request = Request::new(header, head);
        let is_set = asked.command == Command::Store(Kind::Set);
        if self.refuses(now_s, request.key, body_len - head.len(), is_set) {
            request.refuse(Status::TooLarge, output);
            return Some((HEADER_LEN, swallow(body_len)));
        }
        let body = Vec::with_capacity(RESERVED_BYTES);
        Some((HEADER_LEN, Step::Expect(Expects::Body(Box::new(Partial { header, body })))))
    }

    /// A packet whose body has come whole.
    fn body(&mut self, now_s: u32, header: Header, body: &[u8], output: &mut Output) -> Step {
        let Some(Asked { command, is_quiet }) = Asked::of(header.opcode) else { return Step::Close };
        let request = Request::new(header, body);
        let value = &body[header.head_len()..];
        let before = output.len();
        let went_well = match command {
            Command::Get { shows_key, touches } => {
                let touch_s = touches.then(|| gone_s(request.extra_u32(0), now_s));
                return self.answer_get(now_s, &request, shows_key, touch_s, is_quiet, output);
            }
            Command::Touch => self.answer_touch(now_s, &request, output),
            Command::Store(kind) => self.answer_store(now_s, &request, kind, value, output),
            Command::Delete => self.answer_delete(now_s, &request, output),
            Command::Add { up } => self.answer_add(now_s, &request, up, output),
            Command::Flush => {
                let at_s = if request.extras.is_empty() { 0 } else { request.extra_u32(0) };
                self.flush(now_s, gone_s(at_s, now_s));
                request.done(0, output);
                true
            }
            Command::Stats => self.answer_stats(now_s, &request, output),
            Command::Noop | Command::Verbosity | Command::Quit => {
                request.done(0, output);
                true
            }
            Command::Version => {
                request.answer(0, &[], &[], VERSION.len(), output);
                output.write(VERSION.as_bytes());
                true
            }
        };
        if is_quiet && went_well {
            output.cut(before);
        }
        if command == Command::Quit { Step::Close } else { Step::GoOn }
    }

    /// Quiet, it says nothing where there is nothing.
    #[inline]
    fn answer_get(
        &mut self,
        now_s: u32,
        request: &Request,
        shows_key: bool,
        touch_s: Option<u32>,
        is_quiet: bool,
        output: &mut Output,
    ) -> Step {
        match self.get(now_s, request.key, touch_s) {
            Some(item) => {
                let (flags, key) = (self.store.flags(item), if shows_key { request.key } else { &[] });
                let len = self.store.value_len(item);
                request.answer(self.store.unique(item), &flags.to_be_bytes(), key, len, output);
                for piece in self.store.value(item) {
                    output.write(piece);
                }
            }
            None if is_quiet => {}
            None if shows_key => request.miss_key(output),
            None => request.refuse(Status::NotFound, output),
        }
        Step::GoOn
    }

    fn answer_touch(&mut self, now_s: u32, request: &Request, output: &mut Output) -> bool {
        let found = self.touch(now_s, request.key, gone_s(request.extra_u32(0), now_s));
        match found {
            Some(item) => {
                request.answer(self.store.unique(item), &self.store.flags(item).to_be_bytes(), &[], 0, output);
            }
            None => request.refuse(Status::NotFound, output),
        }
        found.is_some()
    }

    fn answer_store(&mut self, now_s: u32, request: &Request, kind: Kind, value: &[u8], output: &mut Output) -> bool {
        let unique = request.header.unique;
        let (verb, has_extras) = match kind {
            Kind::Set | Kind::Add | Kind::Replace if unique != 0 => (Verb::Cas(unique), true),
            Kind::Set => (Verb::Set, true),
            Kind::Add => (Verb::Add, true),
            Kind::Replace => (Verb::Replace, true),
            Kind::Append => (Verb::Append, false),
            Kind::Prepend => (Verb::Prepend, false),
        };
        let (flags, time_s) = if has_extras { (request.extra_u32(0), request.extra_u32(4)) } else { (0, 0) };
        let command = Storing { verb, key: request.key, flags, expires_s: gone_s(time_s, now_s) };
        let result = if !has_extras && self.is_another(now_s, request) {
            Err(Refusal::Exists)
        } else {
            self.store(now_s, &command, value)
        };
        match result {
            Ok(item) => request.done(self.store.unique(item), output),
            Err(Refusal::TooLarge) => request.refuse(Status::TooLarge, output),
            Err(Refusal::Exists) => request.refuse(Status::Exists, output),
            Err(Refusal::NotFound) => request.refuse(Status::NotFound, output),
            Err(Refusal::NotStored) => request.refuse(
                match kind {
                    Kind::Add => Status::Exists,
                    Kind::Replace => Status::NotFound,
                    _ => Status::NotStored,
                },
                output,
            ),
        }
        result.is_ok()
    }

    fn answer_delete(&mut self, now_s: u32, request: &Request, output: &mut Output) -> bool {
        if self.is_another(now_s, request) {
            request.refuse(Status::Exists, output);
            return false;
        }
        let was_there = self.delete(now_s, request.key);
        if was_there {
            request.done(0, output);
        } else {
            request.refuse(Status::NotFound, output);
        }
        was_there
    }

    /// A number that is not there is made, unless its expiry says no.
    fn answer_add(&mut self, now_s: u32, request: &Request, up: bool, output: &mut Output) -> bool {
        if self.is_another(now_s, request) {
            request.refuse(Status::Exists, output);
            return false;
        }
        let expiry = request.extra_u32(16);
        let sum = match self.add(now_s, request.key, request.extra_u64(0), up) {
            Err(NoSum::NotFound) if expiry != NOT_MADE => {
                let first = request.extra_u64(8);
                let expires_s = gone_s(expiry, now_s);
                let command = Storing { verb: Verb::Set, key: request.key, flags: 0, expires_s };
                let made = self.store(now_s, &command, alloc::format!("{first}").as_bytes());
                made.map(|item| (first, item)).map_err(|_| Status::TooLarge)
            }
            Err(NoSum::NotFound) => Err(Status::NotFound),
            Err(NoSum::NotANumber) => Err(Status::NotANumber),
            Ok(sum) => Ok(sum),
        };
        match sum {
            Ok((sum, item)) => {
                request.answer(self.store.unique(item), &[], &[], 8, output);
                output.write(&sum.to_be_bytes());
            }
            Err(status) => request.refuse(status, output),
        }
        sum.is_ok()
    }

    fn answer_stats(&mut self, now_s: u32, request: &Request, output: &mut Output) -> bool {
        let said = if request.key == b"reset" {
            self.reset_stats();
            Some(())
        } else {
            self.each_stat(now_s, request.key, |name, value| {
                request.answer(0, &[], name.as_bytes(), value.len(), output);
                output.write(value);
            })
        };
        match said {
            Some(()) => request.done(0, output),
            None => request.refuse(Status::NotFound, output),
        }
        said.is_some()
    }

    /// Whether the item is there and is not the one whose unique number is a condition.
    fn is_another(&mut self, now_s: u32, request: &Request) -> bool {
        let unique = request.header.unique;
        unique != 0 && self.store.find(request.key, now_s).is_some_and(|item| self.store.unique(item) != unique)
    }
}

/// Passes over a body.
fn swallow(body_len: usize) -> Step {
    if body_len == 0 { Step::GoOn } else { Step::Expect(Expects::Refused(body_len)) }
}

#[cfg(test)]
mod tests;
