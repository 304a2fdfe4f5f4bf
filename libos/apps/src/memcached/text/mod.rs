//! memcached's text protocol (its doc/protocol.txt).

mod lines;
mod session;
pub(super) mod words;

use alloc::boxed::Box;

use libos_net::service::{Output, Served};

use super::operations::{Refusal, Storing, Verb};
use super::server::Memcached;
use super::store::MAX_KEY_LEN;
pub(super) use session::Expects;
use session::{Announced, Get, Pending};
use words::{expires_s, line_end, number, signed, split, word_end};

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

impl Memcached {
    /// Serves what is whole of the input; see `Service::serve`.
    #[inline]
    pub(super) fn serve_text(
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
                Expects::Command => match self.command(now_s, rest, output) {
                    Some((len, Step::Value(announced))) => {
                        let (value_len, step) = self.value(now_s, &announced, &rest[len..], output);
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
                        self.store_line(now_s, &pending.command(), &pending.data, pending.is_quiet, output);
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
                Step::Expect(next) => *expects = next,
                Step::Close => return Served { taken, close: true },
                _ => {}
            }
        }
        Served { taken, close: false }
    }

    /// The first command of the input, if it is whole. None: more is needed.
    #[inline]
    fn command<'a>(&mut self, now_s: u32, input: &'a [u8], output: &mut Output) -> Option<(usize, Step<'a>)> {
        if let Some(keys) = input.strip_prefix(b"get ") {
            return Some((input.len() - keys.len(), Step::Expect(Expects::Keys(Get::default()))));
        }
        let window = &input[..input.len().min(MAX_LINE_LEN)];
        let Some(end) = line_end(window) else {
            if input.len() < MAX_LINE_LEN {
                return None;
            }
            // Only keys may go on for so long.
            let (step, taken) = self.long_line(now_s, window, output);
            return Some((taken, step));
        };
        let line = &input[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(self.line(now_s, line, end + 1, output))
    }

    fn long_line(&mut self, now_s: u32, line: &[u8], output: &mut Output) -> (Step<'static>, usize) {
        match self.keys_of(now_s, line) {
            Some(Ok((get, taken))) => (Step::Expect(Expects::Keys(get)), taken),
            _ => {
                output.write(TOO_LONG);
                (Step::Close, line.len())
            }
        }
    }

    /// A `get`, `gets`, `gat` or `gats`, and where its keys begin. None: another command; an error: its answer.
    fn keys_of(&self, now_s: u32, line: &[u8]) -> Option<Result<(Get, usize), &'static [u8]>> {
        let ([verb, time], words) = split::<2>(line);
        let after = |word: &[u8]| word.as_ptr() as usize - line.as_ptr() as usize + word.len();
        let shows_unique = verb == b"gets" || verb == b"gats";
        match verb {
            b"get" | b"gets" => Some(Ok((Get { shows_unique, ..Get::default() }, after(verb)))),
            b"gat" | b"gats" if words < 2 => Some(Err(ERROR)),
            b"gat" | b"gats" => Some(match expires_s(time, now_s) {
                Some(touch_s) => Ok((Get { shows_unique, touch_s: Some(touch_s), has_key: false }, after(time))),
                None => Err(BAD_EXPIRY),
            }),
            _ => None,
        }
    }

    /// A whole line, which takes `taken` bytes.
    fn line<'a>(&mut self, now_s: u32, line: &'a [u8], taken: usize, output: &mut Output) -> (usize, Step<'a>) {
        match self.keys_of(now_s, line) {
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
                self.storing(now_s, verb, rest)
            }
            [b"quit", ..] => Step::Close,
            [verb, .., last] | [verb @ last] if verb[0].is_ascii_uppercase() && last.starts_with(b"HTTP/") => {
                Step::Close
            }
            _ => {
                self.simple(now_s, words, output);
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
    fn storing<'a>(&self, now_s: u32, verb: &[u8], words: &[&'a [u8]]) -> Step<'a> {
        let expected = if verb == b"cas" { 5 } else { 4 };
        if !(expected..=expected + 1).contains(&words.len()) {
            return Step::Answer(ERROR);
        }
        let is_quiet = words.last() == Some(&b"noreply".as_slice());
        let unique = words.get(4).and_then(|word| number(*word));
        let parsed = (|| {
            let verb = match verb {
                b"set" => Verb::Set,
                b"add" => Verb::Add,
                b"replace" => Verb::Replace,
                b"append" => Verb::Append,
                b"prepend" => Verb::Prepend,
                _ => Verb::Cas(unique?),
            };
            let command = Storing {
                verb,
                key: Some(words[0]).filter(|key| key.len() <= MAX_KEY_LEN)?,
                flags: number(words[1])? as u32, // as memcached has it, the lower 32 bits
                expires_s: expires_s(words[2], now_s)?,
            };
            let value_len = signed(words[3]).filter(|len| (0..=i32::MAX - 2).contains(len))? as usize;
            Some(Announced { command, value_len, is_quiet })
        })();
        match parsed {
            Some(announced) => Step::Value(announced),
            None if is_quiet => Step::GoOn,
            None => Step::Answer(BAD_FORMAT),
        }
    }

    /// Answers one key of a `get`.
    #[inline]
    fn get_key(&mut self, now_s: u32, key: &[u8], get: &Get, output: &mut Output) {
        let Some(item) = self.get(now_s, key, get.touch_s) else { return };
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
        let spaces = input.iter().position(|byte| *byte != b' ').unwrap_or(input.len());
        if spaces > 0 {
            return Some((spaces, Step::GoOn));
        }
        let word = match word_end(input) {
            Some(len) => &input[..len],
            None if input.len() <= MAX_KEY_LEN + 1 => return None,
            None => input,
        };
        let is_last = input.get(word.len()) == Some(&b'\n');
        let key = if is_last { word.strip_suffix(b"\r").unwrap_or(word) } else { word };
        let is_first_of_many = !get.has_key && !is_last;
        if key.len() > MAX_KEY_LEN || is_first_of_many && has_long_key(input)? {
            output.write(BAD_FORMAT);
            return Some((0, Step::Expect(Expects::RestOfLine)));
        }
        if !key.is_empty() {
            self.get_key(now_s, key, get, output);
        }
        let end = word.len() + 1;
        if !is_last {
            let has_key = Get { has_key: true, ..*get };
            return Some((end, if get.has_key { Step::GoOn } else { Step::Expect(Expects::Keys(has_key)) }));
        }
        // As memcached 1.6 has it, `gat` may do without a key.
        let is_right = get.has_key || !key.is_empty() || get.touch_s.is_some();
        output.write(if is_right { END } else { ERROR });
        Some((end, Step::Expect(Expects::Command)))
    }

    /// Stores a value that has come whole, with its line's end, and answers.
    #[inline]
    fn store_line(&mut self, now_s: u32, command: &Storing, data: &[u8], is_quiet: bool, output: &mut Output) {
        let answer = match data.strip_suffix(b"\r\n").map(|value| self.store(now_s, command, value)) {
            None => BAD_DATA,
            Some(Ok(_)) => STORED,
            Some(Err(Refusal::NotStored)) => NOT_STORED,
            Some(Err(Refusal::Exists)) => EXISTS,
            Some(Err(Refusal::NotFound)) => NOT_FOUND,
            Some(Err(Refusal::TooLarge)) => TOO_LARGE,
        };
        if !is_quiet {
            output.write(answer);
        }
    }

    /// A command whose value begins in front of `data`. Returns how many bytes of it are done with.
    #[inline]
    fn value(&mut self, now_s: u32, announced: &Announced, data: &[u8], output: &mut Output) -> (usize, Step<'static>) {
        let Announced { ref command, value_len, is_quiet } = *announced;
        if self.refuses(now_s, command.key, value_len, command.verb == Verb::Set) {
            if !is_quiet {
                output.write(TOO_LARGE);
            }
            return (0, Step::Expect(Expects::Refused(value_len + 2)));
        }
        match data.get(..value_len + 2) {
            Some(data) => {
                self.store_line(now_s, command, data, is_quiet, output);
                (data.len(), Step::GoOn)
            }
            None => (data.len(), Step::Expect(Expects::Value(Box::new(Pending::new(announced, data))))),
        }
    }
}

/// Whether one of a line's keys is too long, so that none is answered, as memcached has it; of those behind the longest
/// line, each is answered as it comes. None: more is needed.
fn has_long_key(keys: &[u8]) -> Option<bool> {
    let window = &keys[..keys.len().min(MAX_LINE_LEN)];
    let line = match line_end(window) {
        Some(end) => &window[..end],
        None if window.len() < MAX_LINE_LEN => return None,
        None => window,
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Some(line.split(|byte| *byte == b' ').any(|key| key.len() > MAX_KEY_LEN))
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
    Value(Announced<'a>),
    /// The connection ends.
    Close,
}

#[cfg(test)]
mod tests;
