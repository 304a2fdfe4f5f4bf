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
    /// Its number among the links of a thread, by which epoll names it.
    index: usize,
    /// When the last attempt began.
    began_ns: u64,
    /// Least time from it to the next one; none when it has brought an answer.
    backoff_ns: u64,
    watches_output: bool,
}

impl Link {
    /// Not yet connected.
    pub fn new(server: Server, index: usize) -> Self {
        Self { server, state: State::Down(0), index, began_ns: 0, backoff_ns: 0, watches_output: false }
    }

    /// A place for connections that are being left.
    pub fn leaving(server: Server, index: usize) -> Self {
        Self { state: State::Down(NEVER_NS), ..Self::new(server, index) }
    }

    /// Holds a connection of this server until what is under way on it is answered.
    ///
    /// # Errors
    /// epoll refuses; it holds the connection all the same.
    pub fn hold(&mut self, connection: Box<Connection>, server: Server, poller: &Poller) -> io::Result<()> {
        self.server = server;
        self.watches_output = connection.has_output();
        let flags = if self.watches_output { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let watched = poller.modify(&*connection, self.index, flags);
        self.state = State::Open(connection);
        watched
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

    /// The connection has brought an answer.
    #[inline]
    pub fn answered(&mut self) {
        self.backoff_ns = 0;
    }

    /// Closes the connection. The next attempt is due at once when the server has announced the end of one that had lasted,
    /// and later and later when attempts fail, or end soon without any answer.
    pub fn close(&mut self, now_ns: u64, announced: bool) -> State {
        let wait_ns = self.backoff_ns.max(FIRST_BACKOFF_NS);
        let has_lasted = now_ns >= self.began_ns + wait_ns;
        let retry_ns = match announced {
            true if has_lasted => now_ns,
            true => now_ns.max(self.began_ns + self.backoff_ns),
            false => now_ns + wait_ns,
        };
        let longer_ns = (2 * self.backoff_ns).clamp(FIRST_BACKOFF_NS, LONGEST_BACKOFF_NS);
        self.backoff_ns = if announced && has_lasted { 0 } else { longer_ns };
        std::mem::replace(&mut self.state, State::Down(retry_ns))
    }
}
