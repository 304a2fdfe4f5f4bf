//! Packets of the binary protocol: 24 bytes of header, then extras, key and value.

use libos_net::service::Output;

/// The first byte of a request.
pub const REQUEST: u8 = 0x80;
const RESPONSE: u8 = 0x81;

/// The length of a header.
pub(super) const HEADER_LEN: usize = 24;

/// What follows a command, in a response's header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u16)]
pub(super) enum Status {
    Ok = 0,
    NotFound = 1,
    Exists = 2,
    TooLarge = 3,
    Invalid = 4,
    NotStored = 5,
    NotANumber = 6,
    Unknown = 0x81,
}

impl Status {
    /// The words that memcached has for it.
    fn words(self) -> &'static [u8] {
        match self {
            Status::Ok => b"",
            Status::NotFound => b"Not found",
            Status::Exists => b"Data exists for key.",
            Status::TooLarge => b"Too large.",
            Status::Invalid => b"Invalid arguments",
            Status::NotStored => b"Not stored.",
            Status::NotANumber => b"Non-numeric server-side value for incr or decr",
            Status::Unknown => b"Unknown command",
        }
    }
}

/// A request's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub opcode: u8,
    pub key_len: usize,
    pub extras_len: usize,
    /// Of extras, key and value.
    pub body_len: usize,
    /// Comes back in the response.
    pub opaque: [u8; 4],
    /// A condition where it is not zero.
    pub unique: u64,
}

impl Header {
    /// Reads a header. None: these bytes are none.
    pub fn parse(bytes: &[u8; HEADER_LEN]) -> Option<Header> {
        let [magic, opcode, k0, k1, extras_len, _, _, _, b0, b1, b2, b3, o0, o1, o2, o3, unique @ ..] = *bytes;
        (magic == REQUEST).then_some(Header {
            opcode,
            key_len: usize::from(u16::from_be_bytes([k0, k1])),
            extras_len: usize::from(extras_len),
            body_len: u32::from_be_bytes([b0, b1, b2, b3]) as usize,
            opaque: [o0, o1, o2, o3],
            unique: u64::from_be_bytes(unique),
        })
    }

    /// How many bytes come before the value.
    pub fn head_len(&self) -> usize {
        self.extras_len + self.key_len
    }
}

/// A request that came as far as its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub header: Header,
    pub extras: &'a [u8],
    pub key: &'a [u8],
}

impl<'a> Request<'a> {
    /// The request of a header and the beginning of its body, `head_len` bytes or more.
    pub fn new(header: Header, body: &'a [u8]) -> Request<'a> {
        let (extras, rest) = body.split_at(header.extras_len);
        Request { header, extras, key: &rest[..header.key_len] }
    }

    /// Four bytes of the extras.
    pub fn extra_u32(&self, at: usize) -> u32 {
        self.extras[at..at + 4].try_into().map_or(0, u32::from_be_bytes)
    }

    /// Eight bytes of the extras.
    pub fn extra_u64(&self, at: usize) -> u64 {
        self.extras[at..at + 8].try_into().map_or(0, u64::from_be_bytes)
    }

    /// Says that it is done.
    #[inline]
    pub fn done(&self, unique: u64, output: &mut Output) {
        self.answer(unique, &[], &[], 0, output);
    }

    /// Answers with extras, a key and the length of the value that is written next.
    #[inline]
    pub fn answer(&self, unique: u64, extras: &[u8], key: &[u8], value_len: usize, output: &mut Output) {
        output.reserve(HEADER_LEN + extras.len() + key.len() + value_len);
        self.write_header(Status::Ok, unique, [extras.len(), key.len(), value_len], output);
        output.write(extras);
        output.write(key);
    }

    /// Answers that it was not done, and why.
    pub fn refuse(&self, status: Status, output: &mut Output) {
        self.write_header(status, 0, [0, 0, status.words().len()], output);
        output.write(status.words());
    }

    /// Answers that there is no item of this key, which is said again.
    pub fn miss_key(&self, output: &mut Output) {
        self.write_header(Status::NotFound, 0, [0, self.key.len(), 0], output);
        output.write(self.key);
    }

    #[inline]
    fn write_header(&self, status: Status, unique: u64, lens: [usize; 3], output: &mut Output) {
        let [extras_len, key_len, value_len] = lens;
        let mut header = [0; HEADER_LEN];
        header[0] = RESPONSE;
        header[1] = self.header.opcode;
        header[2..4].copy_from_slice(&(key_len as u16).to_be_bytes());
        header[4] = extras_len as u8;
        header[6..8].copy_from_slice(&(status as u16).to_be_bytes());
        header[8..12].copy_from_slice(&((extras_len + key_len + value_len) as u32).to_be_bytes());
        header[12..16].copy_from_slice(&self.header.opaque);
        header[16..].copy_from_slice(&unique.to_be_bytes());
        output.write(&header);
    }
}
