//! The workers, and who gives them their connections.

use std::io::{ErrorKind, Result};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use bayop_tpcc::service::{Counts, Service};
use bayop_tpcc::{Database, Terminal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::worker::{self, Door};

/// How long nothing is accepted after that failed: a descriptor may be free by then.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves with a worker for each group of terminals, until there is something to read from `stop`, or it is closed.
///
/// Connections are given to the workers in turn. What was received by then is answered, and they are closed.
///
/// # Errors
/// The system gives no thread or file descriptor for a worker, or the listener does not listen.
pub fn serve(
    listener: &TcpListener,
    stop: &UnixStream,
    database: &Database,
    terminals: Vec<Vec<Terminal>>,
    counts: &Counts,
) -> Result<()> {
    thread::scope(|scope| {
        let mut doors = Vec::new();
        for (number, terminals) in (0..).zip(terminals) {
            let (door, inbox) = worker::door()?;
            let service = Service::new(database, number, terminals, counts, thread::yield_now);
            let name = format!("worker-{number}");
            thread::Builder::new().name(name).spawn_scoped(scope, move || worker::run(inbox, service))?;
            doors.push(door);
        }
        accept(listener, stop, &doors)
    })
}

fn accept(listener: &TcpListener, stop: &UnixStream, doors: &[Door]) -> Result<()> {
    listener.set_nonblocking(true)?;
    for door in doors.iter().cycle() {
        let stream = loop {
            let mut ready = [PollFd::new(listener, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if !ready[1].revents().is_empty() {
                return Ok(());
            }
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => thread::sleep(PAUSE),
            }
        };
        door.hand_over(stream)?;
    }
    Ok(())
}
