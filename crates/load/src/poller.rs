//! epoll, by the numbers of links.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;

/// Links that are reported at once: few, so that what becomes due meanwhile is sent soon.
const EVENTS: usize = 16;

/// Tells which links have something to do.
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// No file descriptor is left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Watches a new socket, which closing it ends.
    ///
    /// # Errors
    /// No memory is left.
    pub fn add(&self, socket: impl AsFd, link: usize, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(link as u64), flags)?)
    }

    /// Watches a socket for something else.
    ///
    /// # Errors
    /// No memory is left.
    pub fn modify(&self, socket: impl AsFd, link: usize, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(link as u64), flags)?)
    }

    /// Replaces `ready` by the links that have something to do; waits for the first at most `pause_ns`, below 1 s.
    #[inline]
    pub fn wait(&self, pause_ns: u64, ready: &mut Vec<usize>) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: pause_ns as i64 };
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        ready.clear();
        // epoll_pwait2, which takes ns and not ms: rustix uses it with its feature linux_5_11.
        // The one error that can happen is a signal, after which there is nothing to do yet.
        if let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            ready.extend(events.iter().map(|event| event.data.u64() as usize));
        }
    }
}
