//! memcached's text protocol: `doc/protocol.txt` of memcached.

use super::{Garbage, Kind, Outcome, Protocol, Reply, body_length, line, push_decimal};

/// `get` and `set`.
#[derive(Clone, Copy, Debug)]
pub struct MemcachedText;

const EXPECTED: &str = "a memcached reply";
const END: &[u8] = b"\r\nEND\r\n";

impl Protocol for MemcachedText {
    const STORES: bool = true;

    /// The key's last digits, in which no two of the first hundred million records agree.
    #[inline]
    fn mark(&self, key: &[u8], _number: u32) -> u64 {
        match key.last_chunk() {
            Some(end) => u64::from_be_bytes(*end),
            None => key.iter().fold(0, |mark, &byte| mark << 8 | u64::from(byte)),
        }
    }

    #[inline]
    fn encode(&self, kind: Kind, key: &[u8], value: &[u8], _mark: u64, out: &mut Vec<u8>) {
        match kind {
            Kind::Get => {
                out.extend_from_slice(b"get ");
                out.extend_from_slice(key);
            }
            Kind::Set => {
                out.extend_from_slice(b"set ");
                out.extend_from_slice(key);
                out.extend_from_slice(b" 0 0 ");
                push_decimal(value.len(), out);
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(value);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn parse<'a>(&self, kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        let Some((first, len)) = line(input, EXPECTED)? else { return Ok(None) };
        let reply = match (kind, first) {
            (Kind::Get, b"END") => Reply::new(len, Outcome::Miss, b""),
            (Kind::Set, b"STORED") => Reply::new(len, Outcome::Stored, b""),
            (Kind::Get, _) if first.starts_with(b"VALUE ") => return self.value(input, first, len),
            _ if is_error(first) => Reply::new(len, Outcome::Refused, first),
            _ => return Err(Garbage::new(EXPECTED, input)),
        };
        Ok(Some(reply))
    }
}

impl MemcachedText {
    /// `VALUE <key> <flags> <bytes> [<cas unique>]`, the bytes, and `END`.
    #[inline]
    fn value<'a>(&self, input: &'a [u8], first: &[u8], start: usize) -> Result<Option<Reply<'a>>, Garbage> {
        let garbage = || Garbage::new("VALUE <key> <flags> <bytes>", input);
        let mut words = first[b"VALUE ".len()..].split(|byte| *byte == b' ');
        let mark = words.next().map(|key| self.mark(key, 0));
        let length = words.nth(1).and_then(body_length).ok_or_else(garbage)?;
        let end = start + length;
        let tail = &input[end.min(input.len())..];
        if tail.len() < END.len() {
            return if END.starts_with(tail) { Ok(None) } else { Err(garbage()) };
        }
        if !tail.starts_with(END) {
            return Err(garbage());
        }
        Ok(Some(Reply { mark, ..Reply::new(end + END.len(), Outcome::Hit, &input[start..end]) }))
    }
}

fn is_error(first: &[u8]) -> bool {
    first == b"ERROR"
        || first == b"NOT_STORED"
        || first.starts_with(b"SERVER_ERROR ")
        || first.starts_with(b"CLIENT_ERROR ")
}
