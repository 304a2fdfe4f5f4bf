//! A place for a connection: open, being opened, or down until the next attempt.

use std::io;

use rustix::event::epoll::EventFlags;

use crate::clock::SECOND_NS;
use crate::connection::Connection;
use crate::poller::Poller;
use crate::server::Server;

const FIRST_BACKOFF_NS: u64 = SECOND_NS / 100;
const LONGEST_BACKOFF_NS: u64 = SECOND_NS;
/// When a place is opened again that is not for new connections.
const NEVER_NS: u64 = u64::MAX;

/// What the place holds.
pub enum State {
    /// Requests can be sent.
    Open(Box<Connection>),
    /// The handshake is under way since this time.
    Opening(Box<Connection>, u64),
    /// The next attempt is due at this time.
    Down(u64),
}

/// A connection to one server that comes back when it breaks.
pub struct Link {
    /// The server.
    pub server: Server,
    /// What it holds.
    pub state: State,
    /// The number of the link that takes requests for its connection: its own, or of the one that has left it.
    pub origin: usize,
    /// The connection has brought an answer.
    pub has_answered: bool,
    /// Its number among the links of a thread, by which epoll names it.
    index: usize,
    /// When the last attempt began.
    began_ns: u64,
    /// Least time from it to the next one; none since an answer has come.
    backoff_ns: u64,
    watches_output: bool,
}

impl Link {
    /// Not yet connected.
    pub fn new(server: Server, index: usize) -> Self {
        Self {
            server,
            state: State::Down(0),
            origin: index,
            has_answered: false,
            index,
            began_ns: 0,
            backoff_ns: 0,
            watches_output: false,
        }
    }

    /// A place for connections that are being left.
    pub fn leaving(server: Server, index: usize) -> Self {
        Self { state: State::Down(NEVER_NS), ..Self::new(server, index) }
    }

    /// Leaves its connection, whose end the server has announced, to another link, until what is under way on it is
    /// answered. Nothing has failed: the next attempt is due when that of the last one allows it.
    ///
    /// # Errors
    /// epoll refuses; the other link holds the connection all the same.
    pub fn leave(&mut self, other: &mut Link, poller: &Poller, now_ns: u64) -> io::Result<()> {
        let retry_ns = now_ns.max(self.began_ns + self.backoff_ns);
        other.server = self.server.clone();
        other.origin = self.index;
        other.has_answered = self.has_answered;
        other.state = std::mem::replace(&mut self.state, State::Down(retry_ns));
        let State::Open(connection) = &other.state else { return Ok(()) };
        other.watches_output = connection.has_output();
        let flags = if other.watches_output { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        poller.modify(&**connection, other.index, flags)
    }

    /// How many requests are under way on it.
    pub fn under_way(&self) -> usize {
        match &self.state {
            State::Open(connection) => connection.under_way.len(),
            State::Opening(..) | State::Down(_) => 0,
        }
    }

    /// Closes the connection that was held.
    pub fn release(&mut self) -> State {
        std::mem::replace(&mut self.state, State::Down(NEVER_NS))
    }

    /// Begins to connect.
    ///
    /// # Errors
    /// No socket, or no way to the address.
    pub fn open(&mut self, poller: &Poller, now_ns: u64) -> io::Result<()> {
        self.began_ns = now_ns;
        self.has_answered = false;
        let connection = Connection::begin(&self.server)?;
        poller.add(&connection, self.index, EventFlags::OUT)?;
        self.state = State::Opening(Box::new(connection), now_ns);
        Ok(())
    }

    /// Goes on with the handshakes of TCP and TLS; true once requests can be sent.
    ///
    /// # Errors
    /// They failed.
    pub fn opened(&mut self, poller: &Poller) -> io::Result<bool> {
        let State::Opening(connection, _) = &mut self.state else { return Ok(false) };
        let is_open = connection.connected()?;
        let output = if is_open || !connection.has_output() { EventFlags::empty() } else { EventFlags::OUT };
        poller.modify(&**connection, self.index, EventFlags::IN | output)?;
        if !is_open {
            return Ok(false);
        }
        if let State::Opening(connection, _) = std::mem::replace(&mut self.state, State::Down(0)) {
            self.state = State::Open(connection);
        }
        self.watches_output = false;
        Ok(true)
    }

    /// Asks epoll for room to write, or no longer.
    ///
    /// # Errors
    /// epoll refuses.
    pub fn watch_output(&mut self, poller: &Poller, on: bool) -> io::Result<()> {
        if let (State::Open(connection), true) = (&self.state, on != self.watches_output) {
            let flags = if on { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            poller.modify(&**connection, self.index, flags)?;
            self.watches_output = on;
        }
        Ok(())
    }

    /// An answer has come of a connection that it has or had: the server serves.
    #[inline]
    pub fn served(&mut self) {
        self.backoff_ns = 0;
    }

    /// A connection that it has or had has failed.
    pub fn back_off(&mut self) {
        self.backoff_ns = (2 * self.backoff_ns).clamp(FIRST_BACKOFF_NS, LONGEST_BACKOFF_NS);
    }

    /// Closes the connection. The next attempt is due at once when the server has announced the end of one that had
    /// lasted, or had answered, and later and later when attempts fail, or end soon without any answer.
    pub fn close(&mut self, now_ns: u64, announced: bool) -> State {
        let wait_ns = self.backoff_ns.max(FIRST_BACKOFF_NS);
        let has_served = self.has_answered || now_ns >= self.began_ns + wait_ns;
        let retry_ns = match announced {
            true if has_served => now_ns,
            true => now_ns.max(self.began_ns + self.backoff_ns),
            false => now_ns + wait_ns,
        };
        if announced && has_served {
            self.served();
        } else {
            self.back_off();
        }
        std::mem::replace(&mut self.state, State::Down(retry_ns))
    }
}
