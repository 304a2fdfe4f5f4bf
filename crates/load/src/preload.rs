//! Stores every record before the load, and reads it back.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::plan::{Dialect, Plan};
use crate::protocol::memcached_binary::MemcachedBinary;
use crate::protocol::memcached_text::MemcachedText;
use crate::protocol::redis::Redis;
use crate::protocol::{Garbage, Kind, Outcome, Protocol, Reply};
use crate::records::Records;
use crate::server::{Server, resolve};
use bayop_core::{Error, reason};
use rustls::StreamOwned;

/// Requests that are sent together.
const TOGETHER: u64 = 64;
const READ_BYTES: usize = 64 * 1024;
/// For a handshake, and for the answer to a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than any answer has: a value has 1,000,000 bytes at most.
const MOST_INPUT_BYTES: usize = 2 << 20;

/// What was stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preloaded {
    /// Records that were stored and read back, in each server.
    pub records: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// Somebody ended it before it was complete.
    pub interrupted: bool,
}

/// Stores every record in every server and reads it back.
///
/// # Errors
/// The protocol stores nothing; a server can't be reached, refuses a record, or returns another value than was stored.
pub fn preload(plan: &Plan, mut interrupted: impl FnMut() -> bool) -> Result<Preloaded, Error> {
    let records = Records::new(plan)?;
    for server in &resolve(plan)? {
        let is_complete = match plan.dialect {
            Dialect::Memcached => fill(server, &records, &MemcachedText, &mut interrupted),
            Dialect::MemcachedBinary => fill(server, &records, &MemcachedBinary, &mut interrupted),
            Dialect::Redis => fill(server, &records, &Redis, &mut interrupted),
            Dialect::Http | Dialect::Http2 | Dialect::Grpc | Dialect::Postgresql | Dialect::Echo => {
                return Err(Error::input(format!("cannot store records with {:?}", plan.dialect)).at("dialect"));
            }
        }?;
        if !is_complete {
            return Ok(Preloaded { interrupted: true, ..Preloaded::default() });
        }
    }
    Ok(Preloaded { records: records.len(), value_bytes: records.value_bytes(), interrupted: false })
}

/// True when it was completed.
fn fill<P: Protocol>(
    server: &Server,
    records: &Records,
    protocol: &P,
    interrupted: &mut impl FnMut() -> bool,
) -> Result<bool, Error> {
    let mut session = Session::open(server, records, protocol)?;
    for kind in [Kind::Set, Kind::Get] {
        for first in (0..records.len()).step_by(TOGETHER as usize) {
            if interrupted() {
                return Ok(false);
            }
            if !session.exchange(kind, first..records.len().min(first + TOGETHER), interrupted)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// TCP with an end: a server that never falls silent is not read for ever, nor one that says too little for TLS.
struct Timed {
    stream: TcpStream,
    deadline: Rc<Cell<Instant>>,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.get().saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// TCP, or TLS on it.
trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

struct Session<'a, P> {
    server: &'a Server,
    stream: Box<dyn Stream>,
    /// Until when it is read.
    deadline: Rc<Cell<Instant>>,
    records: &'a Records,
    protocol: &'a P,
    input: Vec<u8>,
}

impl<'a, P: Protocol> Session<'a, P> {
    fn open(server: &'a Server, records: &'a Records, protocol: &'a P) -> Result<Self, Error> {
        let deadline = Rc::new(Cell::new(Instant::now() + PATIENCE));
        let open = || {
            let stream = TcpStream::connect_timeout(&server.address, PATIENCE)?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let mut stream = Timed { stream, deadline: deadline.clone() };
            let Some(mut client) = server.client()? else { return Ok(Box::new(stream) as Box<dyn Stream>) };
            client.complete_io(&mut stream)?;
            Ok(Box::new(StreamOwned::new(client, stream)) as Box<dyn Stream>)
        };
        let stream = open().map_err(|error: io::Error| server.no_connection(&error))?;
        Ok(Self { server, stream, deadline, records, protocol, input: Vec::new() })
    }

    /// True when it was completed.
    fn exchange(
        &mut self,
        kind: Kind,
        batch: std::ops::Range<u64>,
        interrupted: &mut impl FnMut() -> bool,
    ) -> Result<bool, Error> {
        let mut out = Vec::new();
        for record in batch.clone() {
            let mut buffer = Records::key_buffer();
            let value = if kind == Kind::Set { self.records.value(record) } else { b"" };
            let key = self.records.key(record, &mut buffer);
            self.protocol.encode(kind, key, value, self.mark(record), &mut out);
        }
        self.stream.write_all(&out).map_err(|error| self.broken(error))?;
        for record in batch {
            if !self.receive(kind, record, interrupted)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What the answer to a request for this record bears.
    fn mark(&self, record: u64) -> u64 {
        let mut buffer = Records::key_buffer();
        self.protocol.mark(self.records.key(record, &mut buffer), record as u32)
    }

    /// True when there was an answer, which was good.
    fn receive(&mut self, kind: Kind, record: u64, interrupted: &mut impl FnMut() -> bool) -> Result<bool, Error> {
        self.deadline.set(Instant::now() + PATIENCE);
        let mark = self.mark(record);
        loop {
            match self.protocol.parse(kind, &self.input) {
                Ok(Some(reply)) => {
                    reply.check(mark, &self.input).map_err(|garbage| self.garbled(&garbage))?;
                    self.check(kind, record, &reply)?;
                    let len = reply.len;
                    self.input.drain(..len);
                    return Ok(true);
                }
                Ok(None) if interrupted() => return Ok(false),
                Ok(None) if self.input.len() > MOST_INPUT_BYTES => {
                    return Err(self.broken(io::Error::other("its answer has no end")));
                }
                Ok(None) => self.read().map_err(|error| self.broken(error))?,
                Err(garbage) => return Err(self.garbled(&garbage)),
            }
        }
    }

    fn check(&self, kind: Kind, record: u64, reply: &Reply<'_>) -> Result<(), Error> {
        let place = || format!("{}, record {record}", self.server.address);
        let bytes = self.records.value(record).len();
        match (kind, reply.outcome) {
            (Kind::Set, Outcome::Stored) => Ok(()),
            (Kind::Get, Outcome::Hit) if reply.body == self.records.value(record) => Ok(()),
            (Kind::Get, Outcome::Hit) => Err(Error::failed("the server returns another value than was stored")
                .at(place())
                .hint("is somebody else using this server?")),
            (Kind::Get, Outcome::Miss) => Err(Error::failed("the server did not keep the record")
                .at(place())
                .hint("give the server more memory (memcached -m), or ask for fewer --records")),
            _ => {
                let message = reply.message();
                Err(Error::failed(format!("the server did not store a value of {bytes} bytes: {message}")).at(place()))
            }
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let before = self.input.len();
        self.input.resize(before + READ_BYTES, 0);
        let bytes = self.stream.read(&mut self.input[before..])?;
        self.input.truncate(before + bytes);
        if bytes == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn garbled(&self, garbage: &Garbage) -> Error {
        Error::failed(format!("{} does not speak the protocol: {garbage}", self.server.address))
    }

    fn broken(&self, error: io::Error) -> Error {
        let why = reason(&error);
        Error::failed(format!("{} did not keep the connection while records were stored: {why}", self.server.address))
    }
}
