//! An echo server (RFC 862): whatever is sent comes back. NetPIPE's ping-pong.

use super::{Garbage, Kind, Outcome, Protocol, Reply};

/// Messages of one content.
#[derive(Clone, Debug)]
pub struct Echo {
    message: Vec<u8>,
}

impl Echo {
    /// Ping-pong of this message.
    pub fn new(message: Vec<u8>) -> Self {
        Self { message }
    }
}

impl Protocol for Echo {
    const STORES: bool = false;

    fn names_records(&self) -> bool {
        false
    }

    fn encode(&self, _kind: Kind, _key: &[u8], _value: &[u8], _mark: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.message);
    }

    fn parse<'a>(&self, _kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        let here = &input[..input.len().min(self.message.len())];
        if !self.message.starts_with(here) {
            return Err(Garbage::new("an echo of the message", input));
        }
        Ok((here.len() == self.message.len()).then(|| Reply::new(here.len(), Outcome::Hit, here)))
    }
}
