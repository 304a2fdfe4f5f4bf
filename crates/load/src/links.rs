//! The connections of a thread: how they come up, and which of them takes the next request.

use std::io;
use std::net::SocketAddr;

use crate::clock::{SECOND_NS, now_ns};
use crate::connection::Connection;
use crate::link::{Link, State};
use crate::poller::Poller;
use crate::server::Server;
use bayop_core::{Error, reason};

/// How long a handshake may take, at the start after the one before: a server is busy with the TLS of many.
pub const HANDSHAKE_NS: u64 = 3 * SECOND_NS;
/// How often the handshakes at the start are looked at when none has ended.
const GLANCE_NS: u64 = SECOND_NS / 1000;
/// How often somebody may interrupt them.
const PATIENCE_NS: u64 = SECOND_NS / 20;

/// Links by their numbers.
pub struct Links {
    poller: Poller,
    /// Those that take requests, and after them those whose connections are being left.
    links: Vec<Link>,
    /// How many take requests.
    places: usize,
    /// Most requests under way on each.
    depth: usize,
    /// The link whose turn it is.
    cursor: usize,
}

impl Links {
    /// Connects to every server, once for each time that it is named, unless that is interrupted.
    ///
    /// # Errors
    /// A server can't be reached, or the machine has no socket left.
    pub fn connect(
        servers: impl Iterator<Item = Server>,
        depth: usize,
        interrupted: impl FnMut() -> bool,
    ) -> Result<Self, Error> {
        let exhausted = |error: io::Error| Error::unsupported(format!("cannot wait for answers: {}", reason(&error)));
        let poller = Poller::new().map_err(exhausted)?;
        let links: Vec<_> = servers.enumerate().map(|(index, server)| Link::new(server, index)).collect();
        let mut links = Self { poller, places: links.len(), links, depth, cursor: 0 };
        links.open_all(interrupted)?;
        Ok(links)
    }

    fn open_all(&mut self, mut interrupted: impl FnMut() -> bool) -> Result<(), Error> {
        let mut last_ns = now_ns();
        let mut asked_ns = last_ns;
        for link in &mut self.links {
            link.open(&self.poller, last_ns).map_err(|error| link.server.no_connection(&error))?;
        }
        let mut pending = self.links.len();
        let mut ready = Vec::new();
        while pending > 0 {
            self.poller.wait(GLANCE_NS, &mut ready);
            for &index in &ready {
                let link = &mut self.links[index];
                let is_open = link.opened(&self.poller).map_err(|error| link.server.no_connection(&error))?;
                if is_open {
                    pending -= 1;
                    last_ns = now_ns();
                }
            }
            let now = now_ns();
            if now > last_ns + HANDSHAKE_NS {
                let silent = self.links.iter().find(|link| matches!(link.state, State::Opening(..)));
                let link = silent.unwrap_or(&self.links[0]);
                return Err(link.server.no_connection(&io::ErrorKind::TimedOut.into()));
            }
            if now > asked_ns + PATIENCE_NS {
                if interrupted() {
                    return Ok(());
                }
                asked_ns = now;
            }
        }
        Ok(())
    }

    /// Replaces `ready` by the links that have something to do; waits for the first at most `pause_ns`, below 1 s.
    #[inline]
    pub fn wait(&self, pause_ns: u64, ready: &mut Vec<usize>) {
        self.poller.wait(pause_ns, ready);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// What a link holds.
    pub fn state(&self, index: usize) -> &State {
        &self.links[index].state
    }

    /// The server of a link.
    pub fn address(&self, index: usize) -> SocketAddr {
        self.links[index].server.address
    }

    /// The connection of a link that is open.
    #[inline]
    pub fn connection(&mut self, index: usize) -> Option<&mut Connection> {
        match &mut self.links[index].state {
            State::Open(connection) => Some(connection),
            State::Opening(..) | State::Down(_) => None,
        }
    }

    /// Begins to connect a link that is down.
    ///
    /// # Errors
    /// No socket, or no way to the address.
    pub fn open(&mut self, index: usize, now_ns: u64) -> io::Result<()> {
        self.links[index].open(&self.poller, now_ns)
    }

    /// Goes on with the handshakes of a link; true once requests can be sent.
    ///
    /// # Errors
    /// They failed.
    pub fn opened(&mut self, index: usize) -> io::Result<bool> {
        self.links[index].opened(&self.poller)
    }

    /// Asks for word when a link has room to write, or no longer.
    ///
    /// # Errors
    /// epoll refuses.
    pub fn watch_output(&mut self, index: usize, on: bool) -> io::Result<()> {
        self.links[index].watch_output(&self.poller, on)
    }

    /// A link has brought an answer: its server serves.
    #[inline]
    pub fn answered(&mut self, index: usize) {
        let link = &mut self.links[index];
        link.has_answered = true;
        let origin = link.origin;
        self.links[origin].served();
    }

    /// Closes a link, whose end the server may have announced; it is tried again at once or later. The connection that it
    /// held, if it was open.
    pub fn close(&mut self, index: usize, now_ns: u64, announced: bool) -> Option<Box<Connection>> {
        let link = &mut self.links[index];
        let held = if index < self.places {
            link.close(now_ns, announced)
        } else {
            let (held, origin, has_answered) = (link.release(), link.origin, link.has_answered);
            if !has_answered {
                self.links[origin].back_off();
            }
            held
        };
        match held {
            State::Open(connection) => Some(connection),
            State::Opening(..) | State::Down(_) => None,
        }
    }

    /// Makes room for the next connection of a link where the server still answers what is under way on this one: that
    /// gets a link of its own, or has it already, which takes no requests. The number of that link.
    ///
    /// # Errors
    /// epoll refuses; the connection has its link all the same.
    pub fn leave(&mut self, index: usize, now_ns: u64) -> (usize, io::Result<()>) {
        if index >= self.places || self.connection(index).is_none() {
            return (index, Ok(()));
        }
        let is_free = |link: &Link| matches!(link.state, State::Down(_));
        let (places, left) = self.links.split_at(self.places);
        let other = self.places + left.iter().position(is_free).unwrap_or(left.len());
        if other == self.links.len() {
            self.links.push(Link::leaving(places[index].server.clone(), other));
        }
        let (places, left) = self.links.split_at_mut(self.places);
        (other, places[index].leave(&mut left[other - self.places], &self.poller, now_ns))
    }

    /// It is the next link's turn.
    pub fn turn(&mut self) {
        self.cursor = if self.cursor + 1 < self.places { self.cursor + 1 } else { 0 };
    }

    /// The link whose turn it is, or the next one that may take a request.
    pub fn with_room(&mut self) -> Option<usize> {
        for _ in 0..self.places {
            if self.room(self.cursor) > 0 {
                return Some(self.cursor);
            }
            self.turn();
        }
        None
    }

    /// How many requests a link may take.
    #[inline]
    pub fn room(&self, index: usize) -> usize {
        self.most_under_way(index).saturating_sub(self.links[index].under_way())
    }

    /// Most requests under way on a link: as many as are wanted and its server allows, none while it is not open.
    fn most_under_way(&self, index: usize) -> usize {
        match &self.links[index].state {
            State::Open(connection) => connection.most_under_way().min(self.depth),
            State::Opening(..) | State::Down(_) => 0,
        }
    }

    /// How many requests a closed loop gives a link: what is under way on the connections that it has left counts, too.
    pub fn free(&self, index: usize) -> usize {
        let left = self.links[self.places..].iter().filter(|link| link.origin == index);
        let under_way: usize = left.chain([&self.links[index]]).map(Link::under_way).sum();
        self.room(index).min(self.depth.saturating_sub(under_way))
    }

    /// Whether a closed loop has answers to half of what a link may have under way, or more.
    pub fn is_half_empty(&self, index: usize) -> bool {
        self.free(index) >= self.most_under_way(index).div_ceil(2)
    }

    /// Whether no link that takes requests is open or being opened.
    pub fn are_down(&self) -> bool {
        self.links[..self.places].iter().all(|link| matches!(link.state, State::Down(_)))
    }

    /// Whether nothing is under way.
    pub fn are_idle(&self) -> bool {
        self.links.iter().all(|link| link.under_way() == 0)
    }
}
