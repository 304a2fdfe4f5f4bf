//! What a service is to the stack: bytes in, bytes out, and never a wait.

mod pair;
mod shared;

use crate::tcp::{NEVER, Queue};
use crate::wire::ipv4::Address;

pub use pair::{Either, Pair};
pub use shared::Shared;

/// Answers connections, and datagrams where it takes them. Whatever it does, it does at once.
pub trait Service {
    /// What it remembers of a connection.
    type Session: core::fmt::Debug;

    /// Begins a connection from an address to one of our ports; nothing where the service does not listen, at least to
    /// them.
    fn accept(&self, peer: Address, port: u16) -> Option<Self::Session>;

    /// Takes bytes from the front of a connection's input, and answers.
    ///
    /// What it does not take comes again, with more behind it: at most [`INPUT_LIMIT`](crate::tcp::INPUT_LIMIT) bytes,
    /// and who takes nothing of so many must close. When the output [is full](Output::is_full), the service stops, and
    /// it is called again when there is room.
    fn serve(&mut self, now_us: u64, session: &mut Self::Session, input: &[u8], output: &mut Output) -> Served;

    /// Takes a datagram to one of our ports, and gives `answer` those that go back, each of at most
    /// [`MAX_PAYLOAD_LEN`](crate::wire::udp::MAX_PAYLOAD_LEN) bytes. False: the port takes none.
    fn serve_datagram(&mut self, now_us: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        let _ = (now_us, port, datagram, answer);
        false
    }

    /// A connection began. False: it is one too many, and is closed after what was written to it. Where several cores
    /// serve, another one's service may go on with it.
    fn opened(&mut self, session: &Self::Session, output: &mut Output) -> bool {
        let _ = (session, output);
        true
    }

    /// A connection that began, and was not one too many, is gone.
    fn closed(&mut self, session: Self::Session) {
        let _ = session;
    }

    /// When to call [`expire`](Self::expire) at the latest.
    fn next_us(&self) -> u64 {
        NEVER
    }

    /// Does what is due, whether anybody asks or not.
    fn expire(&mut self, now_us: u64) {
        let _ = now_us;
    }
}

/// What a service did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Served {
    /// How many bytes of the input it is done with.
    pub taken: usize,
    /// Close the connection when the output has gone.
    pub close: bool,
}

/// Where a service writes its answers.
#[derive(Debug)]
pub struct Output<'a> {
    queue: &'a mut Queue,
}

/// From this many bytes on, a connection that does not take its answers is not served any further.
pub const OUTPUT_LIMIT: usize = 64 << 10;

impl<'a> Output<'a> {
    /// Writes behind what a queue holds.
    pub fn new(queue: &'a mut Queue) -> Output<'a> {
        Output { queue }
    }

    /// Adds bytes; there is always room, which `is_full` bounds.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.queue.push(bytes);
    }

    /// Makes room for so many bytes at once.
    #[inline]
    pub fn reserve(&mut self, len: usize) {
        self.queue.reserve(len);
    }

    /// How many bytes wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none wait.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes back what was written after there were `len` bytes.
    pub fn cut(&mut self, len: usize) {
        self.queue.cut(len);
    }

    /// Adds a number in decimal.
    pub fn write_decimal(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.write(&digits[at..]);
    }

    /// Whether the connection has enough to send for now.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.queue.len() >= OUTPUT_LIMIT
    }
}
