//! A connection to a memcached of its own, as tests have it.

extern crate std;
use std::vec::Vec;

use libos_net::service::{Output, Service as _};
use libos_net::tcp::Queue;

use super::{Memcached, Session};

pub(super) struct Client {
    pub(super) server: Memcached,
    pub(super) session: Session,
    pub(super) kept: Vec<u8>,
    pub(super) now_us: u64,
    pub(super) is_closed: bool,
}

impl Client {
    pub(super) fn new() -> Client {
        let server = Memcached::new(8 << 20, 1_000_000_000, 1, 1, 1000);
        Client { server, session: Session::default(), kept: Vec::new(), now_us: 0, is_closed: false }
    }

    /// What a connection does: gives what was not taken again, with more behind it.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut answer = Vec::new();
        self.kept.extend_from_slice(bytes);
        while !self.is_closed {
            let mut queue = Queue::default();
            let served = self.server.serve(self.now_us, &mut self.session, &self.kept, &mut Output::new(&mut queue));
            self.kept.drain(..served.taken);
            answer.extend_from_slice(queue.bytes());
            self.is_closed |= served.close;
            if served.taken == 0 || self.kept.is_empty() {
                break;
            }
        }
        answer
    }
}
