//! What a request's opcode asks for, and which lengths it must have.

use super::packet::Header;

/// A command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Command {
    /// Shows an item, with its key or without; `touches`: it is gone at another time from now on.
    Get {
        shows_key: bool,
        touches: bool,
    },
    Touch,
    Store(Kind),
    Delete,
    Add {
        up: bool,
    },
    Flush,
    Stats,
    Noop,
    Version,
    Verbosity,
    Quit,
}

/// How a value is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

/// A command as it was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Asked {
    pub command: Command,
    /// Says nothing when all is as expected.
    pub is_quiet: bool,
}

impl Asked {
    /// What an opcode asks for. None: nothing that is known.
    pub fn of(opcode: u8) -> Option<Asked> {
        use Command::{Add, Delete, Flush, Get, Noop, Quit, Stats, Store, Touch, Verbosity, Version};
        let loud = match opcode {
            0x09 => 0x00,
            0x0D => 0x0C,
            0x11..=0x1A => [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0E, 0x0F][usize::from(opcode - 0x11)],
            0x1E => 0x1D,
            0x24 => 0x23,
            _ => opcode,
        };
        let command = match loud {
            0x00 => Get { shows_key: false, touches: false },
            0x01 => Store(Kind::Set),
            0x02 => Store(Kind::Add),
            0x03 => Store(Kind::Replace),
            0x04 => Delete,
            0x05 => Add { up: true },
            0x06 => Add { up: false },
            0x07 => Quit,
            0x08 => Flush,
            0x0A => Noop,
            0x0B => Version,
            0x0C => Get { shows_key: true, touches: false },
            0x0E => Store(Kind::Append),
            0x0F => Store(Kind::Prepend),
            0x10 => Stats,
            0x1B => Verbosity,
            0x1C => Touch,
            0x1D => Get { shows_key: false, touches: true },
            0x23 => Get { shows_key: true, touches: true },
            _ => return None,
        };
        Some(Asked { command, is_quiet: opcode != loud })
    }

    /// Whether a request of these lengths can be this one.
    pub fn fits(&self, header: &Header) -> bool {
        use Command::{Add, Delete, Flush, Get, Noop, Quit, Stats, Store, Touch, Verbosity, Version};
        let Header { key_len, extras_len, body_len, .. } = *header;
        let has_value = body_len > header.head_len();
        let (extras, needs_key, may_have_value): (&[usize], bool, bool) = match self.command {
            Store(Kind::Set | Kind::Add | Kind::Replace) => (&[8], true, true),
            Store(Kind::Append | Kind::Prepend) => (&[0], true, true),
            Get { touches: false, .. } | Delete => (&[0], true, false),
            Get { touches: true, .. } | Touch => (&[4], true, false),
            Add { .. } => (&[20], true, false),
            Stats => return extras_len == 0,
            Flush => (&[0, 4], false, false),
            Verbosity => (&[4], false, false),
            Noop | Version | Quit => (&[0], false, false),
        };
        extras.contains(&extras_len) && (key_len > 0) == needs_key && (may_have_value || !has_value)
    }
}
