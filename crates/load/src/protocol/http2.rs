//! HTTP/2 (RFC 9113), and gRPC's unary calls on it, as the timing loop sees them: orders go out, and answers come in,
//! in whatever order the server has them. [`crate::http2`] makes frames of orders, and answers of frames.

use super::numbered::number;
use super::{Garbage, Kind, Outcome, Protocol, Reply};
use crate::input::Input;

/// One of a plan's requests, by its place among them.
#[derive(Clone, Copy, Debug)]
pub struct Http2 {
    way: u16,
}

impl Http2 {
    /// The request with this place, of which a plan has at most a thousand.
    pub fn new(way: usize) -> Self {
        Self { way: way as u16 }
    }
}

/// Bytes of an order before the digits of its number: the way, and how many digits there are.
const ORDER_BYTES: usize = 3;
/// Bytes of an answer before its text: the position, the status, the outcome and the length of the text.
const ANSWER_BYTES: usize = 11;

impl Protocol for Http2 {
    const STORES: bool = false;

    #[inline]
    fn encode(&self, _kind: Kind, key: &[u8], _value: &[u8], _mark: u64, out: &mut Vec<u8>) {
        let number = number(key);
        out.extend_from_slice(&self.way.to_le_bytes());
        out.push(number.len() as u8);
        out.extend_from_slice(number);
    }

    fn parse<'a>(&self, _kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        let Some((head, rest)) = input.split_first_chunk::<ANSWER_BYTES>() else { return Ok(None) };
        let [p0, p1, p2, p3, s0, s1, outcome, l0, l1, l2, l3] = *head;
        let outcome = [Outcome::Hit, Outcome::Miss, Outcome::Refused][usize::from(outcome)];
        let text = &rest[..u32::from_le_bytes([l0, l1, l2, l3]) as usize];
        let status = Some(u16::from_le_bytes([s0, s1])).filter(|status| *status > 0);
        let position = u32::from_le_bytes([p0, p1, p2, p3]) as usize;
        Ok(Some(Reply { position, status, ..Reply::new(ANSWER_BYTES + text.len(), outcome, text) }))
    }
}

/// What is to be asked.
#[derive(Default)]
pub(crate) struct Orders(pub(crate) Vec<u8>);

impl Orders {
    /// The ways of asking, each with the number of its record.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (&[way, more, digits], after) = rest.split_first_chunk::<ORDER_BYTES>()?;
            let (number, after) = after.split_at(usize::from(digits));
            rest = after;
            Some((usize::from(u16::from_le_bytes([way, more])), number))
        })
    }
}

/// What became of a request.
pub(crate) struct Answer {
    /// The status code; none where the stream was reset.
    pub(crate) status: Option<u16>,
    /// What it says: never that something was stored.
    pub(crate) outcome: Outcome,
    /// Why it was refused.
    pub(crate) text: String,
}

impl Answer {
    /// Appends it, as the answer to the request with this position among those under way.
    pub(crate) fn write(&self, position: usize, input: &mut Input) {
        let outcome = match self.outcome {
            Outcome::Hit | Outcome::Stored => 0,
            Outcome::Miss => 1,
            Outcome::Refused => 2_u8,
        };
        let mut bytes = Vec::with_capacity(ANSWER_BYTES + self.text.len());
        bytes.extend_from_slice(&(position as u32).to_le_bytes());
        bytes.extend_from_slice(&self.status.unwrap_or(0).to_le_bytes());
        bytes.push(outcome);
        bytes.extend_from_slice(&(self.text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(self.text.as_bytes());
        input.room(bytes.len())[..bytes.len()].copy_from_slice(&bytes);
        input.filled(bytes.len());
    }
}
