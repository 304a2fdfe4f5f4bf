//! What servers speak: how a request is written and a reply recognised.
//!
//! All of these protocols but HTTP/2 answer in the order of the requests: a reply belongs to the oldest one under way.

pub mod echo;
pub mod http;
pub mod http2;
pub mod memcached_binary;
pub mod memcached_text;
pub(crate) mod numbered;
pub mod postgresql;
pub mod redis;

use std::borrow::Cow;
use std::fmt;

/// Longest line or header that is waited for; more without its end is garbage.
const MOST_HEADER_BYTES: usize = 64 * 1024;
/// Longest body that is waited for: the largest value that Redis stores.
const MOST_BODY_BYTES: usize = 512 * 1024 * 1024;
/// What ends a connection on which nothing is asked.
const UNASKED: &str = "the server sent more than it was asked for";

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Asks for a record.
    Get,
    /// Stores a record.
    Set,
}

/// What a server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Here is the record.
    Hit,
    /// There is no such record.
    Miss,
    /// The record is stored.
    Stored,
    /// An error message: the request was not served.
    Refused,
}

/// One complete reply at the beginning of what was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Its length in bytes.
    pub len: usize,
    /// What it says.
    pub outcome: Outcome,
    /// The value, or the error message.
    pub body: &'a [u8],
    /// The server closes the connection after it, and reads no further requests.
    pub closes: bool,
    /// The status code, where the protocol is HTTP.
    pub status: Option<u16>,
    /// Which of the requests under way it answers: 0 is the oldest.
    pub position: usize,
    /// What [`Protocol::mark`] made of its request, where it says that.
    pub mark: Option<u64>,
}

impl<'a> Reply<'a> {
    fn new(len: usize, outcome: Outcome, body: &'a [u8]) -> Self {
        Self { len, outcome, body, closes: false, status: None, position: 0, mark: None }
    }

    /// Its error message.
    pub fn message(&self) -> Cow<'a, str> {
        in_words(self.body)
    }

    /// Checks that it answers the request with this mark; `input` begins with it.
    ///
    /// # Errors
    /// It answers another one.
    #[inline]
    pub fn check(&self, mark: u64, input: &[u8]) -> Result<(), Garbage> {
        match self.mark {
            Some(other) if other != mark => Err(Garbage::new("the answer to the oldest request", &input[..self.len])),
            _ => Ok(()),
        }
    }
}

/// A server's error message, in words where it has none.
fn in_words(text: &[u8]) -> Cow<'_, str> {
    if text.trim_ascii().is_empty() { "an error without a text".into() } else { String::from_utf8_lossy(text) }
}

/// Bytes that are no reply of this protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbage {
    expected: &'static str,
    got: String,
}

impl Garbage {
    fn new(expected: &'static str, got: &[u8]) -> Self {
        Self { expected, got: got[..got.len().min(40)].escape_ascii().to_string() }
    }
}

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was expected, but the server sent \"{}\"", self.expected, self.got)
    }
}

/// How requests are written and replies are read.
pub trait Protocol: Clone + Send {
    /// Whether records can be stored, so that they must be there before the load.
    const STORES: bool;

    /// Whether it shows in a request which record that is about. Otherwise the key may be any, and is not made.
    fn names_records(&self) -> bool {
        true
    }

    /// What tells the answer to a request from the answers to others, where the protocol says it: made of the request's
    /// key, or of its running number.
    #[inline]
    fn mark(&self, _key: &[u8], _number: u32) -> u64 {
        0
    }

    /// Appends a request, which has this mark.
    fn encode(&self, kind: Kind, key: &[u8], value: &[u8], mark: u64, out: &mut Vec<u8>);

    /// The reply to a request of this kind that `input` begins with; `None` while it is incomplete.
    ///
    /// # Errors
    /// The bytes can not become a reply, whatever follows.
    fn parse<'a>(&self, kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage>;

    /// The same where the beginning of `input` was looked at before: `seen` says how far, 0 at first, and is put forward
    /// while the reply is incomplete. Otherwise a reply of many parts would be read again with each of them.
    ///
    /// # Errors
    /// As of `parse`.
    #[inline]
    fn go_on<'a>(&self, kind: Kind, input: &'a [u8], _seen: &mut usize) -> Result<Option<Reply<'a>>, Garbage> {
        self.parse(kind, input)
    }

    /// The length of what `input` begins with while nothing is asked, and that a server may say at any time; `None` while
    /// it is incomplete.
    ///
    /// # Errors
    /// The server may not say it, or ends the connection with it, in its words.
    fn pass_over(&self, _input: &[u8]) -> Result<Option<usize>, String> {
        Err(UNASKED.to_owned())
    }
}

/// The first line of `input` without its CRLF, and the bytes that it takes with it; `None` while it is incomplete.
fn line<'a>(input: &'a [u8], expected: &'static str) -> Result<Option<(&'a [u8], usize)>, Garbage> {
    match memchr::memchr(b'\n', &input[..input.len().min(MOST_HEADER_BYTES)]) {
        Some(end) if end > 0 && input[end - 1] == b'\r' => Ok(Some((&input[..end - 1], end + 1))),
        Some(_) => Err(Garbage::new(expected, input)),
        None if input.len() >= MOST_HEADER_BYTES => Err(Garbage::new(expected, input)),
        None => Ok(None),
    }
}

/// A decimal length of a body; `None` when it is none or too large.
fn body_length(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    let mut length = 0_usize;
    for byte in digits {
        length = length * 10 + usize::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    (length <= MOST_BODY_BYTES).then_some(length)
}

/// Appends a number in decimal.
fn push_decimal(number: usize, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
