//! Redis: version 2 of its serialization protocol, RESP ("Redis serialization protocol specification").

use super::{Garbage, Kind, Outcome, Protocol, Reply, body_length, line, push_decimal};

/// `GET` and `SET`.
#[derive(Clone, Copy, Debug)]
pub struct Redis;

const EXPECTED: &str = "a RESP2 reply";

impl Protocol for Redis {
    const STORES: bool = true;

    #[inline]
    fn encode(&self, kind: Kind, key: &[u8], value: &[u8], _mark: u64, out: &mut Vec<u8>) {
        match kind {
            Kind::Get => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                push_bulk(key, out);
            }
            Kind::Set => {
                out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
                push_bulk(key, out);
                push_bulk(value, out);
            }
        }
    }

    #[inline]
    fn parse<'a>(&self, kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        let Some((first, start)) = line(input, EXPECTED)? else { return Ok(None) };
        let garbage = || Garbage::new(EXPECTED, input);
        let reply = match (kind, first) {
            (Kind::Get, b"$-1") => Reply::new(start, Outcome::Miss, b""),
            (Kind::Set, b"+OK") => Reply::new(start, Outcome::Stored, b""),
            (_, [b'-', message @ ..]) => Reply::new(start, Outcome::Refused, message),
            (Kind::Get, [b'$', digits @ ..]) => {
                let end = start + body_length(digits).ok_or_else(garbage)?;
                match input.get(end..end + 2) {
                    Some(b"\r\n") => Reply::new(end + 2, Outcome::Hit, &input[start..end]),
                    Some(_) => return Err(garbage()),
                    None => return Ok(None),
                }
            }
            _ => return Err(garbage()),
        };
        Ok(Some(reply))
    }
}

#[inline]
fn push_bulk(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'$');
    push_decimal(bytes.len(), out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}
