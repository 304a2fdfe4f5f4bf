//! memcached's text protocol (its doc/protocol.txt), as memcached 1.6 answers it.
//!
//! Not here: meta commands, the binary protocol, UDP, `stats` with an argument but `reset`.

mod chunk;
mod lines;
mod session;
mod stats;
mod store;
mod words;

use alloc::boxed::Box;
use alloc::vec::Vec;

use libos_net::service::{Output, Served, Service};

use session::{Expects, Get, Pending, Storing, Verb};
use stats::Stats;
use store::{MAX_KEY_LEN, MAX_VALUE_LEN, Store};
use words::{expires_s, line_end, number, split, word_end};

const ERROR: &[u8] = b"ERROR\r\n";
const BAD_FORMAT: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
const BAD_EXPIRY: &[u8] = b"CLIENT_ERROR invalid exptime argument\r\n";
const BAD_DATA: &[u8] = b"CLIENT_ERROR bad data chunk\r\n";
const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
const TOO_LONG: &[u8] = b"CLIENT_ERROR line too long\r\n";
const STORED: &[u8] = b"STORED\r\n";
const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
const EXISTS: &[u8] = b"EXISTS\r\n";
const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
const END: &[u8] = b"END\r\n";

/// The longest line, but for the keys of `get`.
const MAX_LINE_LEN: usize = 2048;

/// A memcached.
#[derive(Debug)]
pub struct Memcached {
    store: Store,
    limit: usize,
    /// The second of 1970's count at which the service's time is zero.
    start_s: u32,
    stats: Stats,
    connections: usize,
}

/// What it remembers of a connection.
#[derive(Debug, Default)]
pub struct Session(Expects);

impl Memcached {
    /// An empty one.
    ///
    /// # Arguments
    ///
    /// * `limit` - the bytes that items take at most, at least 2 MiB.
    /// * `start_s` - the calendar when the service's clock is zero, in seconds since 1970.
    /// * `seed` - what nobody else knows.
    pub fn new(limit: usize, start_s: u32, seed: u64) -> Memcached {
        Memcached { store: Store::new(limit, seed), limit, start_s, stats: Stats::default(), connections: 0 }
    }

    #[inline]
    fn now_s(&self, now_us: u64) -> u32 {
        self.start_s + (now_us / 1_000_000) as u32
    }

    /// The first command of the input, if it is whole. None: more is needed.
    #[inline]
    fn command<'a>(&mut self, now_us: u64, input: &'a [u8], output: &mut Output) -> Option<(usize, Step<'a>)> {
        if let Some(keys) = input.strip_prefix(b"get ") {
            return Some((input.len() - keys.len(), Step::Expect(Expects::Keys(Get::default()))));
        }
        let window = &input[..input.len().min(MAX_LINE_LEN)];
        let Some(end) = line_end(window) else {
            if input.len() < MAX_LINE_LEN {
                return None;
            }
            // Only keys may go on for so long.
            let (step, taken) = self.long_line(now_us, window, output);
            return Some((taken, step));
        };
        let line = &input[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(self.line(now_us, line, end + 1, output))
    }

    fn long_line(&mut self, now_us: u64, line: &[u8], output: &mut Output) -> (Step<'static>, usize) {
        match self.get(now_us, line) {
            Some(Ok((get, taken))) => (Step::Expect(Expects::Keys(get)), taken),
            _ => {
                output.write(TOO_LONG);
                (Step::Close, line.len())
            }
        }
    }

    /// A `get`, `gets`, `gat` or `gats`, and where its keys begin. None: another command; an error: its answer.
    fn get(&self, now_us: u64, line: &[u8]) -> Option<Result<(Get, usize), &'static [u8]>> {
        let ([verb, time], words) = split::<2>(line);
        let after = |word: &[u8]| word.as_ptr() as usize - line.as_ptr() as usize + word.len();
        let shows_unique = verb == b"gets" || verb == b"gats";
        match verb {
            b"get" | b"gets" => Some(Ok((Get { shows_unique, ..Get::default() }, after(verb)))),
            b"gat" | b"gats" if words < 2 => Some(Err(ERROR)),
            b"gat" | b"gats" => Some(match expires_s(time, self.now_s(now_us)) {
                Some(touch_s) => Ok((Get { shows_unique, touch_s: Some(touch_s), has_key: false }, after(time))),
                None => Err(BAD_EXPIRY),
            }),
            _ => None,
        }
    }

    /// A whole line, which takes `taken` bytes.
    fn line<'a>(&mut self, now_us: u64, line: &'a [u8], taken: usize, output: &mut Output) -> (usize, Step<'a>) {
        match self.get(now_us, line) {
            Some(Ok((get, keys))) => return (keys, Step::Expect(Expects::Keys(get))),
            Some(Err(error)) => {
                output.write(error);
                return (taken, Step::GoOn);
            }
            None => {}
        }
        let (words, count) = split::<8>(line);
        let words = &words[..count];
        let step = match words {
            [verb @ (b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas"), rest @ ..] => {
                self.storing(now_us, verb, rest)
            }
            [b"quit", ..] => Step::Close,
            _ => {
                let is_quiet = words.last() == Some(&b"noreply".as_slice()) && words.len() > 1;
                let words = if is_quiet { &words[..count - 1] } else { words };
                let before = output.len();
                self.simple(self.now_s(now_us), words, output);
                if is_quiet {
                    output.cut(before);
                }
                Step::GoOn
            }
        };
        match step {
            Step::Answer(answer) => {
                output.write(answer);
                (taken, Step::GoOn)
            }
            step => (taken, step),
        }
    }

    /// A command that has a value, without its verb.
    fn storing<'a>(&self, now_us: u64, verb: &[u8], words: &[&'a [u8]]) -> Step<'a> {
        let expected = if verb == b"cas" { 5 } else { 4 };
        if !(expected..=expected + 1).contains(&words.len()) {
            return Step::Answer(ERROR);
        }
        let is_quiet = words.len() > expected && words[words.len() - 1] == b"noreply";
        let unique = words.get(4).and_then(|word| number(word, u64::MAX));
        let parsed = (|| {
            let verb = match verb {
                b"set" => Verb::Set,
                b"add" => Verb::Add,
                b"replace" => Verb::Replace,
                b"append" => Verb::Append,
                b"prepend" => Verb::Prepend,
                _ => Verb::Cas(unique?),
            };
            Some(Storing {
                verb,
                key: Some(words[0]).filter(|key| key.len() <= MAX_KEY_LEN)?,
                flags: number(words[1], u64::from(u32::MAX))? as u32,
                expires_s: expires_s(words[2], self.now_s(now_us))?,
                value_len: number(words[3], i32::MAX as u64 - 2)? as usize,
                is_quiet,
            })
        })();
        parsed.map_or(Step::Answer(BAD_FORMAT), Step::Value)
    }

    /// Answers one key of a `get`.
    #[inline]
    fn get_key(&mut self, now_s: u32, key: &[u8], get: &Get, output: &mut Output) {
        self.stats.cmd_get += 1;
        let Some(item) = self.store.find(key, now_s) else {
            self.stats.get_misses += 1;
            return;
        };
        self.stats.get_hits += 1;
        if let Some(expires_s) = get.touch_s {
            self.stats.cmd_touch += 1;
            self.stats.touch_hits += 1;
            self.store.touch(item, expires_s);
        }
        let len = self.store.value_len(item);
        output.reserve(key.len() + len + 64);
        output.write(b"VALUE ");
        output.write(key);
        output.write(b" ");
        output.write_decimal(u64::from(self.store.flags(item)));
        output.write(b" ");
        output.write_decimal(len as u64);
        if get.shows_unique {
            output.write(b" ");
            output.write_decimal(self.store.unique(item));
        }
        output.write(b"\r\n");
        for piece in self.store.value(item) {
            output.write(piece);
        }
        output.write(b"\r\n");
    }

    /// The next key of a `get`, if it is whole. None: more is needed.
    #[inline]
    fn key(&mut self, now_s: u32, get: &Get, input: &[u8], output: &mut Output) -> Option<(usize, Step<'static>)> {
        let Some(start) = input.iter().position(|byte| *byte != b' ') else {
            return Some((input.len(), Step::GoOn));
        };
        let len = match word_end(&input[start..]) {
            Some(len) if len <= MAX_KEY_LEN => len,
            None if input.len() - start <= MAX_KEY_LEN => return None,
            _ => {
                output.write(BAD_FORMAT);
                return Some((start, Step::Expect(Expects::RestOfLine)));
            }
        };
        let end = start + len;
        let mut step = Step::GoOn;
        if len > 0 {
            self.get_key(now_s, &input[start..end], get, output);
            if !get.has_key {
                step = Step::Expect(Expects::Keys(Get { has_key: true, ..*get }));
            }
        }
        let line_end = match input[end..] {
            [b' ', ..] => return Some((end + 1, step)),
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            // A carriage return alone, or with its line's end still to come.
            [b'\r'] if len > 0 => return Some((end, step)),
            [b'\r'] => return None,
            _ => {
                output.write(BAD_FORMAT);
                return Some((end, Step::Expect(Expects::RestOfLine)));
            }
        };
        // As memcached 1.6 has it, `gat` may do without a key.
        let is_right = get.has_key || len > 0 || get.touch_s.is_some();
        output.write(if is_right { END } else { ERROR });
        Some((end + line_end, Step::Expect(Expects::Command)))
    }

    /// Stores a value that has come whole, with its line's end. Returns the answer.
    fn store(&mut self, now_s: u32, command: &Storing, data: &[u8]) -> &'static [u8] {
        let Some(value) = data.strip_suffix(b"\r\n") else { return BAD_DATA };
        let Storing { verb, key, flags, expires_s, .. } = *command;
        self.stats.cmd_set += 1;
        let found = if verb == Verb::Set { None } else { self.store.find(key, now_s) };
        let result = match (verb, found) {
            (Verb::Add, Some(_)) | (Verb::Replace | Verb::Append | Verb::Prepend, None) => return NOT_STORED,
            (Verb::Cas(_), None) => {
                self.stats.cas_misses += 1;
                return NOT_FOUND;
            }
            (Verb::Cas(unique), Some(item)) if self.store.unique(item) != unique => {
                self.stats.cas_badval += 1;
                return EXISTS;
            }
            (Verb::Append | Verb::Prepend, Some(item)) => {
                let old: Vec<u8> = self.store.value(item).flatten().copied().collect();
                let whole = if verb == Verb::Append { [&old, value].concat() } else { [value, &old].concat() };
                let (flags, expires_s) = (self.store.flags(item), self.store.expires_s(item));
                self.store.set(key, flags, expires_s, &whole, now_s)
            }
            _ => {
                self.stats.cas_hits += u64::from(matches!(verb, Verb::Cas(_)));
                self.store.set(key, flags, expires_s, value, now_s)
            }
        };
        if result.is_ok() { STORED } else { TOO_LARGE }
    }

    /// A command whose value begins in front of `data`. Returns how many bytes of it are done with.
    #[inline]
    fn value(&mut self, now_s: u32, command: &Storing, data: &[u8], output: &mut Output) -> (usize, Step<'static>) {
        if command.value_len > MAX_VALUE_LEN {
            if !command.is_quiet {
                output.write(TOO_LARGE);
            }
            // What was there is not what the client thinks that is there.
            if let Some(item) = self.store.find(command.key, now_s) {
                self.store.remove(item);
            }
            return (0, Step::Expect(Expects::Refused(command.value_len + 2)));
        }
        match data.get(..command.value_len + 2) {
            Some(data) => {
                let answer = self.store(now_s, command, data);
                if !command.is_quiet {
                    output.write(answer);
                }
                (data.len(), Step::GoOn)
            }
            None => (data.len(), Step::Expect(Expects::Value(Box::new(Pending::new(command, data))))),
        }
    }
}

/// What follows from a piece of input.
enum Step<'a> {
    /// The same as before.
    GoOn,
    /// One answer.
    Answer(&'static [u8]),
    /// Something else is next.
    Expect(Expects),
    /// A value is next.
    Value(Storing<'a>),
    /// The connection ends.
    Close,
}

impl Service for Memcached {
    type Session = Session;

    #[inline]
    fn serve(&mut self, now_us: u64, session: &mut Session, input: &[u8], output: &mut Output) -> Served {
        let now_s = self.now_s(now_us);
        let mut taken = 0;
        while taken < input.len() && !output.is_full() {
            let rest = &input[taken..];
            let (len, step) = match &mut session.0 {
                Expects::Command => match self.command(now_us, rest, output) {
                    Some((len, Step::Value(command))) => {
                        let (value_len, step) = self.value(now_s, &command, &rest[len..], output);
                        (len + value_len, step)
                    }
                    Some(done) => done,
                    None => break,
                },
                Expects::Keys(get) => match self.key(now_s, &*get, rest, output) {
                    Some(done) => done,
                    None => break,
                },
                Expects::Value(pending) => {
                    let len = rest.len().min(pending.missing());
                    pending.data.extend_from_slice(&rest[..len]);
                    if pending.missing() > 0 {
                        (len, Step::GoOn)
                    } else {
                        let command = pending.command();
                        let answer = self.store(now_s, &command, &pending.data);
                        if !command.is_quiet {
                            output.write(answer);
                        }
                        (len, Step::Expect(Expects::Command))
                    }
                }
                Expects::Refused(left) => {
                    let len = rest.len().min(*left);
                    *left -= len;
                    (len, if *left == 0 { Step::Expect(Expects::Command) } else { Step::GoOn })
                }
                Expects::RestOfLine => match line_end(rest) {
                    Some(end) => (end + 1, Step::Expect(Expects::Command)),
                    None => (rest.len(), Step::GoOn),
                },
            };
            taken += len;
            match step {
                Step::Expect(next) => session.0 = next,
                Step::Close => return Served { taken, close: true },
                _ => {}
            }
        }
        Served { taken, close: false }
    }

    fn opened(&mut self, connections: usize) {
        self.connections = connections;
        self.stats.total_connections += 1;
    }

    fn closed(&mut self, _session: Session, connections: usize) {
        self.connections = connections;
    }
}

#[cfg(test)]
mod tests;
