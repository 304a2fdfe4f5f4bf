//! A thread with its connections.

use std::collections::HashMap;
use std::io::{Read as _, Result, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Instant, UNIX_EPOCH};

use bayop_tpcc::service::Service;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use crate::connection::{Connection, Next, READ_BYTES};

/// Connections that are reported at once.
const EVENTS: usize = 64;

/// Where connections are handed to a worker, which ends with it.
pub struct Door {
    sender: Sender<TcpStream>,
    /// A byte for each connection.
    bell: UnixStream,
}

/// Where a worker waits.
pub struct Inbox {
    receiver: Receiver<TcpStream>,
    bell: UnixStream,
    epoll: OwnedFd,
}

/// A door, and the inbox behind it.
///
/// # Errors
/// No file descriptor is left.
pub fn door() -> Result<(Door, Inbox)> {
    let (sender, receiver) = channel();
    let (bell, heard) = UnixStream::pair()?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &heard, EventData::new_u64(heard.as_raw_fd() as u64), EventFlags::IN)?;
    Ok((Door { sender, bell }, Inbox { receiver, bell: heard, epoll }))
}

impl Door {
    /// Hands over a connection.
    ///
    /// # Errors
    /// The worker has ended.
    pub fn hand_over(&self, stream: TcpStream) -> Result<()> {
        self.sender.send(stream).map_err(std::io::Error::other)?;
        (&self.bell).write_all(&[0])
    }
}

/// Serves the connections that come in until their door is closed.
pub fn run(mut inbox: Inbox, mut service: Service<'_>) {
    let clock = Clock::start();
    let mut connections: HashMap<RawFd, Connection> = HashMap::new();
    let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
    let mut buffer = [0; READ_BYTES];
    loop {
        // The one error that can happen is a signal, after which there is nothing to do yet.
        let Ok((ready, _)) = epoll::wait(&inbox.epoll, &mut events, None) else { continue };
        for event in ready {
            let fd = event.data.u64() as RawFd;
            if let Some(connection) = connections.get_mut(&fd) {
                let before = connection.waits_for();
                let next = connection.turn(&mut service, clock.now_us(), &mut buffer);
                if next != before && inbox.watch(connection, fd, next).is_none() {
                    connections.remove(&fd);
                }
            } else if inbox.take_in(&mut connections, &mut buffer).is_none() {
                return;
            }
        }
    }
}

impl Inbox {
    /// Takes in the connections that were handed over; `None` if the door is closed.
    fn take_in(&mut self, connections: &mut HashMap<RawFd, Connection>, buffer: &mut [u8]) -> Option<()> {
        let rings = self.bell.read(buffer).ok().filter(|&rings| rings > 0)?;
        for stream in self.receiver.try_iter().take(rings) {
            let fd = stream.as_raw_fd();
            // A client that has gone again is not missed.
            let Ok(connection) = Connection::new(stream) else { continue };
            if epoll::add(&self.epoll, &connection, EventData::new_u64(fd as u64), EventFlags::IN).is_ok() {
                connections.insert(fd, connection);
            }
        }
        Some(())
    }

    /// Waits for something else of a connection; `None` if there is nothing to wait for.
    fn watch(&self, connection: &Connection, fd: RawFd, next: Next) -> Option<()> {
        let flags = match next {
            Next::Read => EventFlags::IN,
            Next::Write => EventFlags::OUT,
            Next::Close => return None,
        };
        epoll::modify(&self.epoll, connection, EventData::new_u64(fd as u64), flags).ok()
    }
}

/// The time since 1970, which a change of the machine's clock does not turn back.
struct Clock {
    start: Instant,
    start_us: u64,
}

impl Clock {
    fn start() -> Self {
        let start_us = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64);
        Self { start: Instant::now(), start_us }
    }

    fn now_us(&self) -> u64 {
        self.start_us + self.start.elapsed().as_micros() as u64
    }
}
