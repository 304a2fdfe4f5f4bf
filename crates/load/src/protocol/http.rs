//! HTTP/1.1: RFC 9112.

use std::mem::MaybeUninit;
use std::sync::Arc;

use httparse::{ParserConfig, Response, Status};

use super::numbered::{Numbered, number, value};
use super::{Garbage, Kind, MOST_BODY_BYTES, MOST_HEADER_BYTES, Outcome, Protocol, Reply, body_length};
use crate::http_request::HttpRequest;

/// A request that differs by the number of a record, ready to be sent.
#[derive(Clone, Debug)]
pub struct Http {
    /// What every request has.
    head: Numbered,
    /// What follows, in turn by the number: the length of the body, the empty line and the body.
    ends: Arc<[Vec<u8>]>,
}

const EXPECTED: &str = "an HTTP/1.1 response";
const MOST_HEADERS: usize = 100;

/// How a body ends (RFC 9112, section 6.3).
enum Framing {
    Length(usize),
    Chunked,
}

/// What stands before the body of a final response.
struct Head {
    /// Where its first line begins, after those of interim responses.
    start: usize,
    /// Where the body begins.
    end: usize,
    status: u16,
    framing: Framing,
    /// The server closes the connection after it.
    closes: bool,
}

impl Http {
    /// Asks `server`, which is the host unless the request names another one.
    pub fn new(server: &str, request: &HttpRequest) -> Self {
        let host = request.host().unwrap_or(server);
        let headers: String =
            request.headers.iter().filter(|header| !header.is("host")).map(|header| format!("{header}\r\n")).collect();
        let head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n{headers}", request.method.name(), request.path);
        match &ends(request)[..] {
            // The only end there is need not be chosen, nor copied by itself.
            [end] => Self { head: Numbered::new(&head, end), ends: Arc::new([]) },
            ends => Self { head: Numbered::new(&head, b""), ends: ends.into() },
        }
    }
}

/// What follows the headers: one end for every body, and one where there is none.
fn ends(request: &HttpRequest) -> Vec<Vec<u8>> {
    let end = |body: &[u8]| [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat();
    match &request.bodies[..] {
        [] if request.method.takes_body() => vec![end(b"")],
        [] => vec![b"\r\n".to_vec()],
        bodies => bodies.iter().map(|body| end(body.bytes())).collect(),
    }
}

impl Protocol for Http {
    const STORES: bool = false;

    #[inline]
    fn names_records(&self) -> bool {
        self.head.differs() || !self.ends.is_empty()
    }

    #[inline]
    fn encode(&self, _kind: Kind, key: &[u8], _value: &[u8], _mark: u64, out: &mut Vec<u8>) {
        let number = number(key);
        self.head.push(number, out);
        if !self.ends.is_empty() {
            out.extend_from_slice(&self.ends[value(number) % self.ends.len()]);
        }
    }

    fn parse<'a>(&self, kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        self.go_on(kind, input, &mut 0)
    }

    fn go_on<'a>(&self, _kind: Kind, input: &'a [u8], seen: &mut usize) -> Result<Option<Reply<'a>>, Garbage> {
        let garbage = |()| Garbage::new(EXPECTED, input);
        let Some(head) = head(input).map_err(garbage)? else { return Ok(None) };
        let len = match head.framing {
            Framing::Length(length) => head.end + length,
            Framing::Chunked => match end_of_chunks(input, head.end, seen).map_err(garbage)? {
                Some(end) => end,
                None => return Ok(None),
            },
        };
        let Some(body) = input.get(head.end..len) else { return Ok(None) };
        let reply = match outcome_of(head.status) {
            Outcome::Refused => Reply::new(len, Outcome::Refused, first_line(&input[head.start..])),
            Outcome::Miss => Reply::new(len, Outcome::Miss, b""),
            outcome => Reply::new(len, outcome, body),
        };
        Ok(Some(Reply { closes: head.closes, status: Some(head.status), ..reply }))
    }
}

/// The first head that is no interim response's (RFC 9110, section 15.2); `None` while it is incomplete.
fn head(input: &[u8]) -> Result<Option<Head>, ()> {
    let mut start = 0;
    while start < MOST_HEADER_BYTES {
        // Room that is not cleared: 3 KB for each response.
        let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = Response::new(&mut []);
        let parser = ParserConfig::default();
        let end = match parser.parse_response_with_uninit_headers(&mut response, &input[start..], &mut headers) {
            Ok(Status::Complete(length)) => start + length,
            Ok(Status::Partial) if input.len() < MOST_HEADER_BYTES => return Ok(None),
            Ok(Status::Partial) | Err(_) => return Err(()),
        };
        let status = response.code.unwrap_or_default();
        if is_interim(status) {
            start = end;
            continue;
        }
        let framing = framing(status, response.headers).ok_or(())?;
        let says =
            |word: &[u8]| elements(response.headers, "connection").any(|option| option.eq_ignore_ascii_case(word));
        let closes = says(b"close") || (response.version == Some(0) && !says(b"keep-alive"));
        return Ok(Some(Head { start, end, status, framing, closes }));
    }
    Err(())
}

/// Whether another response follows: only after 101, which nobody asks for, comes another protocol.
fn is_interim(status: u16) -> bool {
    matches!(status, 100 | 102..=199)
}

/// What a status code says of a request, in any version of HTTP.
pub(crate) fn outcome_of(status: u16) -> Outcome {
    match status {
        200..=399 => Outcome::Hit,
        404 | 410 => Outcome::Miss,
        _ => Outcome::Refused,
    }
}

/// The first line of a response whose headers are complete.
fn first_line(input: &[u8]) -> &[u8] {
    let end = memchr::memchr2(b'\r', b'\n', input).unwrap_or(input.len());
    &input[..end]
}

/// The elements of a header that is a list, over all lines of its name (RFC 9110, section 5.6.1).
fn elements<'a>(headers: &'a [httparse::Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    lines.flat_map(|header| header.value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

/// `None` when the body would end with the connection only, or its length is no length, or several.
fn framing(status: u16, headers: &[httparse::Header<'_>]) -> Option<Framing> {
    if matches!(status, 204 | 304) {
        return Some(Framing::Length(0));
    }
    let mut codings = elements(headers, "transfer-encoding");
    let mut lengths = elements(headers, "content-length").map(body_length);
    match (codings.next(), lengths.next()) {
        (Some(coding), _) if coding.eq_ignore_ascii_case(b"chunked") && codings.next().is_none() => {
            Some(Framing::Chunked)
        }
        (None, Some(length)) if lengths.all(|other| other == length) => length.map(Framing::Length),
        _ => None,
    }
}

/// Where a chunked body that begins at `start` ends (RFC 9112, section 7.1), trailers included. `seen` is a chunk before
/// which nothing need be looked at again.
fn end_of_chunks(input: &[u8], start: usize, seen: &mut usize) -> Result<Option<usize>, ()> {
    let mut at = start.max(*seen);
    loop {
        *seen = at;
        match httparse::parse_chunk_size(&input[at..]) {
            Ok(Status::Complete((header, 0))) => return end_of_trailers(input, at + header),
            Ok(Status::Complete((header, size))) => {
                let size = usize::try_from(size).ok().filter(|size| *size <= MOST_BODY_BYTES).ok_or(())?;
                let end = at + header + size;
                if end - start > MOST_BODY_BYTES {
                    return Err(());
                }
                match input.get(end..end + 2) {
                    Some(b"\r\n") => at = end + 2,
                    Some(_) => return Err(()),
                    None => return Ok(None),
                }
            }
            Ok(Status::Partial) if input.len() - at < MOST_HEADER_BYTES => return Ok(None),
            Ok(Status::Partial) | Err(_) => return Err(()),
        }
    }
}

fn end_of_trailers(input: &[u8], start: usize) -> Result<Option<usize>, ()> {
    let mut at = start;
    while let Some(end) = memchr::memchr(b'\n', &input[at..]) {
        let is_empty = matches!(&input[at..at + end], b"" | b"\r");
        at += end + 1;
        if is_empty {
            return Ok(Some(at));
        }
    }
    if input.len() - start > MOST_HEADER_BYTES { Err(()) } else { Ok(None) }
}
