//! HTTP/1.1 as far as an agent's client speaks it: whole requests, bodies of a given length.

use alloc::vec::Vec;
use core::str::from_utf8;

use bayop_core::{Error, Kind, Result};
use httparse::{EMPTY_HEADER, Header, Status};
use libos_net::service::Output;

use crate::messages::Failure;

const JSON: &str = "application/json";
const MAX_HEADERS: usize = 32;
const MAX_HEAD_BYTES: usize = 8 << 10;
/// As the agent on Linux has it.
const MAX_BODY_BYTES: usize = 64 << 10;

/// A request that has come whole.
#[derive(Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    /// It is a HEAD, whose method is said to be GET: its answer has no body.
    pub is_head: bool,
    pub path: &'a str,
    /// The body is said to be JSON.
    pub is_json: bool,
    /// Its sender asks for nothing more.
    pub closes: bool,
    pub body: &'a [u8],
    /// Of all of it, in bytes.
    pub len: usize,
}

/// What is answered, if it is no error.
#[derive(Debug)]
pub enum Answer {
    /// JSON.
    Told(Vec<u8>),
    /// JSON, of something new.
    Made(Vec<u8>),
    /// A line of JSON, and numbers behind it.
    Raw(Vec<u8>),
}

/// The first request of some input; nothing where it has not come whole.
///
/// # Errors
/// It is no request that we understand, or longer than any.
pub fn parse(input: &[u8]) -> Result<Option<Request<'_>>> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request
        .parse(&input[..input.len().min(MAX_HEAD_BYTES)])
        .map_err(|error| Error::input(alloc::format!("this is no request: {error}")))?;
    let Status::Complete(head_len) = parsed else {
        return if input.len() > MAX_HEAD_BYTES { Err(too_large("head", MAX_HEAD_BYTES)) } else { Ok(None) };
    };
    let headers = &*request.headers;
    if lines(headers, "transfer-encoding").next().is_some() {
        return Err(Error::input("a body in chunks is not read here").rule("a body must come with its content-length"));
    }
    let body_len = body_len(headers)?;
    if body_len > MAX_BODY_BYTES {
        return Err(too_large("body", MAX_BODY_BYTES));
    }
    let Some(body) = input[head_len..].get(..body_len) else { return Ok(None) };
    let media_type = lines(headers, "content-type").next().unwrap_or("").split(';').next().unwrap_or("");
    let mut options = lines(headers, "connection").flat_map(|line| line.split(','));
    let closes = options.any(|option| option.trim().eq_ignore_ascii_case("close"));
    let method = request.method.unwrap_or("");
    let is_head = method == "HEAD";
    Ok(Some(Request {
        method: if is_head { "GET" } else { method },
        is_head,
        path: request.path.unwrap_or(""),
        is_json: media_type.trim().eq_ignore_ascii_case(JSON),
        closes: closes || request.version == Some(0),
        body,
        len: head_len + body_len,
    }))
}

/// What a head's lines of one name say.
fn lines<'a>(headers: &[Header<'a>], name: &str) -> impl Iterator<Item = &'a str> {
    let found = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    found.map(|header| from_utf8(header.value).unwrap_or("").trim_ascii())
}

/// The length of the body. Who reads another one from the same head sees other requests behind it, so that there is one
/// way only to read it (RFC 9112, section 6.3).
fn body_len(headers: &[Header]) -> Result<usize> {
    let mut found = lines(headers, "content-length");
    let Some(text) = found.next() else { return Ok(0) };
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let len = text.parse().ok().filter(|_| is_digits && found.all(|other| other == text));
    len.ok_or_else(|| Error::cannot_use(text, "content-length must be a number of bytes, and the same on each line"))
}

fn too_large(part: &str, most_bytes: usize) -> Error {
    Error::new(Kind::TooLarge, alloc::format!("the {part} has more than {most_bytes} bytes")).at(part)
}

/// Writes what a request is answered, or what is no request; nothing follows that.
pub fn write(output: &mut Output, answer: &Result<Answer>, request: Option<&Request>) {
    let failed;
    let (status, media_type, body) = match answer {
        Ok(Answer::Told(body)) => (200, JSON, body),
        Ok(Answer::Made(body)) => (201, JSON, body),
        Ok(Answer::Raw(body)) => (200, "application/octet-stream", body),
        Err(error) => {
            failed = serde_json::to_vec(&Failure { error }).unwrap_or_default();
            (error.kind.http_status(), JSON, &failed)
        }
    };
    output.write(b"HTTP/1.1 ");
    output.write_decimal(status.into());
    // Nobody reads the reason behind it (RFC 9112, section 4).
    output.write(if status < 300 { b" OK" } else { b" " });
    output.write(b"\r\ncontent-type: ");
    output.write(media_type.as_bytes());
    output.write(b"\r\ncontent-length: ");
    output.write_decimal(body.len() as u64);
    let closes = request.is_none_or(|request| request.closes);
    output.write(if closes { b"\r\nconnection: close\r\n\r\n" } else { b"\r\n\r\n" });
    if !request.is_some_and(|request| request.is_head) {
        output.write(body);
    }
}
