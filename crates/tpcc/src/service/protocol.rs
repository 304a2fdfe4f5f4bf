//! The little of memcached's binary protocol that is spoken: `doc/protocol-binary.txt` of memcached.
//!
//! A request is a header of 24 bytes and a body of extras, key and value, whose lengths the header has.

const HEADER_BYTES: usize = 24;
const REQUEST: u8 = 0x80;
const RESPONSE: u8 = 0x81;
/// The longest key that memcached takes.
const MOST_KEY_BYTES: usize = 250;
/// The longest body that is waited for. No command that is known has more than a key, and who sends others is told so.
pub const MOST_BODY_BYTES: usize = 64 * 1024;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// A transaction.
    Get,
    /// The end of the connection.
    Quit,
    /// An answer.
    Noop,
    /// The version of the server.
    Version,
    /// What was counted.
    Stat,
    /// Whether the conditions of consistency hold: STAT with the key `consistency`.
    Consistency,
    /// Nothing that is done.
    Refused(Refusal),
}

/// Why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The body is longer than any that is waited for. It is not read, and no request can be told in what follows.
    TooLarge,
    /// A key, extras or a value that the command does not have, or has to.
    InvalidArguments,
    /// No command that is known.
    UnknownCommand,
    /// Others were in the way.
    TemporaryFailure,
}

/// The request that some bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub command: Command,
    /// Its length in bytes.
    pub len: usize,
    opcode: u8,
    /// What the client knows it by.
    opaque: [u8; 4],
}

/// Bytes that no request begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbage;

impl Request {
    /// The request that `input` begins with; `None` while it is incomplete.
    ///
    /// # Errors
    /// The bytes can not become a request, whatever follows.
    pub fn parse(input: &[u8]) -> Result<Option<Self>, Garbage> {
        if input.first().is_some_and(|&magic| magic != REQUEST) {
            return Err(Garbage);
        }
        let Some(header) = input.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let body_bytes = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let mut request = Self {
            command: Command::Refused(Refusal::TooLarge),
            len: HEADER_BYTES,
            opcode: header[1],
            opaque: [header[12], header[13], header[14], header[15]],
        };
        if body_bytes > MOST_BODY_BYTES {
            return Ok(Some(request));
        }
        request.len += body_bytes;
        if input.len() < request.len {
            return Ok(None);
        }
        let key_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
        request.command = command(request.opcode, key_bytes, &input[HEADER_BYTES..request.len]);
        Ok(Some(request))
    }

    /// Writes the answer that something is done.
    pub fn answer(&self, extras: &[u8], key: &[u8], value: &[u8], write: impl FnMut(&[u8])) {
        self.respond(0, extras, key, value, write);
    }

    /// Writes the answer that nothing is done, and why.
    pub fn refuse(&self, refusal: Refusal, write: impl FnMut(&[u8])) {
        let (status, reason): (u16, &[u8]) = match refusal {
            Refusal::TooLarge => (0x03, b"Too large"),
            Refusal::InvalidArguments => (0x04, b"Invalid arguments"),
            Refusal::UnknownCommand => (0x81, b"Unknown command"),
            Refusal::TemporaryFailure => (0x86, b"Temporary failure"),
        };
        self.respond(status, b"", b"", reason, write);
    }

    fn respond(&self, status: u16, extras: &[u8], key: &[u8], value: &[u8], write: impl FnMut(&[u8])) {
        let body_bytes = (extras.len() + key.len() + value.len()) as u32;
        let mut header = [0; HEADER_BYTES];
        header[0] = RESPONSE;
        header[1] = self.opcode;
        header[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
        header[4] = extras.len() as u8;
        header[6..8].copy_from_slice(&status.to_be_bytes());
        header[8..12].copy_from_slice(&body_bytes.to_be_bytes());
        header[12..16].copy_from_slice(&self.opaque);
        [&header, extras, key, value].into_iter().for_each(write);
    }
}

/// The command of an opcode: a GET has a key, a STAT may have one that is known, and no command has anything else.
fn command(opcode: u8, key_bytes: usize, body: &[u8]) -> Command {
    let key = (body.len() == key_bytes && key_bytes <= MOST_KEY_BYTES).then_some(body);
    match (opcode, key) {
        (0x00, Some([_, ..])) => Command::Get,
        (0x07, Some(b"")) => Command::Quit,
        (0x0a, Some(b"")) => Command::Noop,
        (0x0b, Some(b"")) => Command::Version,
        (0x10, Some(b"")) => Command::Stat,
        (0x10, Some(b"consistency")) => Command::Consistency,
        (0x00 | 0x07 | 0x0a | 0x0b | 0x10, _) => Command::Refused(Refusal::InvalidArguments),
        _ => Command::Refused(Refusal::UnknownCommand),
    }
}
