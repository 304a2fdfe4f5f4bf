//! One client.

use std::io::{ErrorKind, Read as _, Result, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use bayop_tpcc::service::{Answered, Service, answer};

/// Bytes that are read at once. What they ask for is done before another connection has its turn.
pub const READ_BYTES: usize = 16 * 1024;

/// A connection, and what is under way on it.
pub struct Connection {
    stream: TcpStream,
    /// The beginning of a request.
    input: Vec<u8>,
    /// Answers that the client did not take yet. Until it has, nothing more is read, so that they stay few.
    output: Vec<u8>,
    /// It is closed once the client has the answers.
    is_ending: bool,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Requests.
    Read,
    /// The client, to take answers.
    Write,
    /// Nothing: it is to be closed.
    Close,
}

impl Connection {
    /// A connection whose socket never blocks.
    ///
    /// # Errors
    /// The client has gone already.
    pub fn new(stream: TcpStream) -> Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, input: Vec::new(), output: Vec::new(), is_ending: false })
    }

    /// Reads what is there, answers it, and writes what the client takes; says what to wait for then.
    pub fn turn(&mut self, service: &mut Service<'_>, now_us: u64, buffer: &mut [u8; READ_BYTES]) -> Next {
        if self.output.is_empty() {
            match self.stream.read(buffer) {
                Ok(0) => return Next::Close,
                Ok(len) => self.input.extend_from_slice(&buffer[..len]),
                Err(error) if is_for_later(error.kind()) => return Next::Read,
                Err(_) => return Next::Close,
            }
            self.answer(service, now_us);
        }
        match self.stream.write(&self.output) {
            Ok(len) => drop(self.output.drain(..len)),
            Err(error) if is_for_later(error.kind()) => {}
            Err(_) => return Next::Close,
        }
        self.waits_for()
    }

    /// Answers the requests that are there whole.
    fn answer(&mut self, service: &mut Service<'_>, now_us: u64) {
        let mut taken = 0;
        loop {
            match answer(&self.input[taken..], service, now_us, |bytes| self.output.extend_from_slice(bytes)) {
                Answered::Request(len) => taken += len,
                Answered::Nothing => break,
                Answered::Last => {
                    self.is_ending = true;
                    break;
                }
            }
        }
        self.input.drain(..taken);
    }

    /// What it waits for now.
    pub fn waits_for(&self) -> Next {
        match (self.output.is_empty(), self.is_ending) {
            (false, _) => Next::Write,
            (true, false) => Next::Read,
            (true, true) => Next::Close,
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn is_for_later(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
