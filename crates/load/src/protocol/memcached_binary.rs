//! memcached's binary protocol: `doc/protocol-binary.txt` of memcached.

use super::{Garbage, Kind, MOST_BODY_BYTES, Outcome, Protocol, Reply};

/// GET and SET.
#[derive(Clone, Copy, Debug)]
pub struct MemcachedBinary;

const HEADER_BYTES: usize = 24;
const REQUEST: u8 = 0x80;
const RESPONSE: u8 = 0x81;
/// Flags and expiration of a SET.
const SET_EXTRAS: [u8; 8] = [0; 8];
const NO_ERROR: u16 = 0;
const KEY_NOT_FOUND: u16 = 1;

impl Protocol for MemcachedBinary {
    const STORES: bool = true;

    /// The opaque, which a response repeats.
    #[inline]
    fn mark(&self, _key: &[u8], number: u32) -> u64 {
        u64::from(number)
    }

    #[inline]
    fn encode(&self, kind: Kind, key: &[u8], value: &[u8], mark: u64, out: &mut Vec<u8>) {
        let (extras, value): (&[u8], &[u8]) = match kind {
            Kind::Get => (b"", b""),
            Kind::Set => (&SET_EXTRAS, value),
        };
        let mut header = [0; HEADER_BYTES];
        header[0] = REQUEST;
        header[1] = opcode(kind);
        header[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
        header[4] = extras.len() as u8;
        header[8..12].copy_from_slice(&((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
        header[12..16].copy_from_slice(&(mark as u32).to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(extras);
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    }

    #[inline]
    fn parse<'a>(&self, kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        let garbage = || Garbage::new("a response of memcached's binary protocol", input);
        if let [magic, ..] = input {
            if *magic != RESPONSE {
                return Err(garbage());
            }
        }
        if input.len() < HEADER_BYTES {
            return Ok(None);
        }
        let short = |at: usize| u16::from_be_bytes([input[at], input[at + 1]]);
        let long = |at: usize| u32::from_be_bytes([input[at], input[at + 1], input[at + 2], input[at + 3]]);
        let body_bytes = long(8) as usize;
        let before_value = usize::from(short(2)) + usize::from(input[4]);
        if input[1] != opcode(kind) || body_bytes > MOST_BODY_BYTES || before_value > body_bytes {
            return Err(garbage());
        }
        let len = HEADER_BYTES + body_bytes;
        if input.len() < len {
            return Ok(None);
        }
        let outcome = match (short(6), kind) {
            (NO_ERROR, Kind::Get) => Outcome::Hit,
            (NO_ERROR, Kind::Set) => Outcome::Stored,
            (KEY_NOT_FOUND, Kind::Get) => Outcome::Miss,
            _ => Outcome::Refused,
        };
        let mark = Some(u64::from(long(12)));
        Ok(Some(Reply { mark, ..Reply::new(len, outcome, &input[HEADER_BYTES + before_value..len]) }))
    }
}

fn opcode(kind: Kind) -> u8 {
    match kind {
        Kind::Get => 0x00,
        Kind::Set => 0x01,
    }
}
