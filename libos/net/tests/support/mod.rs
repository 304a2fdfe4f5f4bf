//! A stack with a service that echoes, and what its frames go through.

use std::collections::VecDeque;

use libos_net::device::{Frame, PartialChecksum, Transmit};
use libos_net::service::{Output, Served, Service};
use libos_net::stack::{Config, Stack};

pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const ADDRESS: [u8; 4] = [10, 0, 0, 1];
pub const PORT: u16 = 7;
pub const MAX_CONNECTIONS: usize = 2000;

/// Gives back what it gets, and closes after an exclamation mark.
#[derive(Default)]
pub struct Echo {
    /// Of several cores' services the sum counts.
    pub open: isize,
}

impl Service for Echo {
    type Session = bool;

    fn accept(&self, _: [u8; 4], port: u16) -> Option<bool> {
        (port == PORT).then_some(false)
    }

    fn serve(&mut self, _: u64, is_open: &mut bool, input: &[u8], output: &mut Output) -> Served {
        *is_open = true;
        // Not all at once, so that input waits.
        let taken = input.len().min(1000);
        output.write(&input[..taken]);
        Served { taken, close: input[..taken].contains(&b'!') }
    }

    fn serve_datagram(&mut self, _: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        // As often as its first byte says.
        (0..datagram.first().copied().unwrap_or(1)).filter(|_| port == PORT).for_each(|_| answer(datagram));
        port == PORT
    }

    fn opened(&mut self, _: &bool) {
        self.open += 1;
    }

    fn closed(&mut self, _: bool) {
        self.open -= 1;
    }
}

pub const CONFIG: Config = Config { mac: MAC, address: ADDRESS, max_connections: MAX_CONNECTIONS, secret: [3, 4] };

pub fn stack() -> Stack<Echo> {
    Stack::new(CONFIG, Echo::default(), 0)
}

/// What a stack sends.
#[derive(Default)]
pub struct Sent {
    pub frames: VecDeque<Vec<u8>>,
    /// No further frame is taken when there are so many.
    pub room: Option<usize>,
}

impl Transmit for Sent {
    fn completes_checksums(&self) -> bool {
        false
    }

    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        assert!(checksum.is_none());
        if self.room.is_some_and(|room| self.frames.len() >= room) {
            return false;
        }
        let mut frame = vec![0xEE; len];
        write(&mut frame);
        self.frames.push_back(frame);
        true
    }

    fn flush(&mut self) {}
}

pub fn receive(stack: &mut Stack<Echo>, now_us: u64, bytes: &[u8], sent: &mut Sent) {
    stack.receive(now_us, Frame { bytes, checksum_is_right: false }, sent);
}
