//! What is remembered of a connection between one piece of input and the next.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::operations::{Storing, Verb};
use super::super::server::RESERVED_BYTES;

/// What the next bytes of a connection are.
#[derive(Debug, Default)]
pub enum Expects {
    /// A command.
    #[default]
    Command,
    /// Keys of a `get`, up to the end of the line.
    Keys(Get),
    /// The value of a command, and a line's end.
    Value(Box<Pending>),
    /// So many bytes of a value that is not stored.
    Refused(usize),
    /// The rest of a line that was answered already.
    RestOfLine,
}

/// A `get` of which keys are still to come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Get {
    /// Its answers have the unique number.
    pub shows_unique: bool,
    /// `gat`: what is found expires then.
    pub touch_s: Option<u32>,
    /// A key has come.
    pub has_key: bool,
}

/// A command that stores, without its value.
#[derive(Clone, Copy, Debug)]
pub struct Announced<'a> {
    pub command: Storing<'a>,
    pub value_len: usize,
    pub is_quiet: bool,
}

/// A command whose value has not come whole.
#[derive(Debug)]
pub struct Pending {
    verb: Verb,
    key: Vec<u8>,
    flags: u32,
    expires_s: u32,
    value_len: usize,
    pub is_quiet: bool,
    /// The value and the line's end, as far as they came.
    pub data: Vec<u8>,
}

impl Pending {
    /// A command and the beginning of its value.
    pub fn new(announced: &Announced, data: &[u8]) -> Pending {
        let Announced { command: Storing { verb, key, flags, expires_s }, value_len, is_quiet } = *announced;
        let mut kept = Vec::with_capacity((value_len + 2).min(RESERVED_BYTES));
        kept.extend_from_slice(data);
        Pending { verb, key: key.to_vec(), flags, expires_s, value_len, is_quiet, data: kept }
    }

    /// How many bytes have not come.
    pub fn missing(&self) -> usize {
        self.value_len + 2 - self.data.len()
    }

    /// The command.
    pub fn command(&self) -> Storing<'_> {
        let Pending { verb, ref key, flags, expires_s, .. } = *self;
        Storing { verb, key, flags, expires_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_alone_reserves_little() {
        let command = Storing { verb: Verb::Set, key: b"key", flags: 0, expires_s: 0 };
        let announced = |value_len| Announced { command, value_len, is_quiet: false };
        let pending = Pending::new(&announced(1 << 20), b"begin");
        assert!(pending.data.capacity() <= 16 << 10, "{}", pending.data.capacity());
        assert_eq!((&pending.data[..], pending.missing()), (&b"begin"[..], (1 << 20) - 3));
        assert!(Pending::new(&announced(100), b"").data.capacity() >= 102);
    }
}
