//! Reading from a socket, and when what is read came in.
//!
//! An answer that has come waits while the thread is busy with other connections. The kernel has stamped it before
//! (SO_TIMESTAMPNS in the kernel's Documentation/networking/timestamping.rst), when it came from the device, on
//! `CLOCK_REALTIME`; of what one read takes, it tells the stamp of the last segment in sequence. Where one before that was
//! lost and sent again, which takes a round trip or TCP's timeout, what waited for it seems to have come that much earlier.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};

use crate::clock::{now_ns, real_ns, timespec_ns};

/// Has the kernel tell when what is read came in, where it can.
pub(crate) fn ask_for_timestamps(stream: &TcpStream) {
    // Where it can't, the time of reading counts, and the report says of how many answers.
    let _ = setsockopt(stream, ReceiveTimestampns, &true);
}

/// What one read took.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// How many bytes; 0 when nothing was there.
    pub bytes: usize,
    /// When they were read.
    pub read_ns: u64,
    /// When the last of them came in; none where the kernel does not tell.
    arrived_ns: Option<u64>,
}

impl Received {
    /// When an answer came in whose last byte is among them, as the kernel tells; none where it does not, and where the
    /// request had not been sent by then: somebody has set the clock.
    #[inline]
    pub fn arrived_after(&self, sent_ns: u64) -> Option<u64> {
        self.arrived_ns.filter(|&arrived_ns| arrived_ns >= sent_ns)
    }
}

/// Room for the one control message that was asked for: `struct cmsghdr` and `struct timespec`, aligned as they are.
#[repr(align(8))]
struct Control([u8; 32]);

/// Reads once.
///
/// # Errors
/// The server closed the connection (`UnexpectedEof`), or it is broken.
#[inline]
pub(crate) fn read(stream: &TcpStream, room: &mut [u8]) -> io::Result<Received> {
    let mut control = Control([0; 32]);
    let mut parts = [IoSliceMut::new(room)];
    let taken = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut control.0), MsgFlags::empty());
    // In this order: when the thread is interrupted in between, an answer seems to come later, not earlier.
    let real_ns = real_ns();
    let read_ns = now_ns();
    let taken = match taken {
        Ok(taken) if taken.bytes == 0 => return Err(closed()),
        Ok(taken) => taken,
        Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Received { bytes: 0, read_ns, arrived_ns: None }),
        Err(error) => return Err(error.into()),
    };
    let stamp = taken.cmsgs().ok().and_then(|mut messages| {
        messages.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(timespec_ns(stamp.tv_sec(), stamp.tv_nsec())),
            _ => None,
        })
    });
    let waited_ns = stamp.and_then(|stamp| real_ns.checked_sub(stamp));
    let arrived_ns = waited_ns.and_then(|waited_ns| read_ns.checked_sub(waited_ns));
    Ok(Received { bytes: taken.bytes, read_ns, arrived_ns })
}

/// Why nothing more comes.
pub(crate) fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::clock::SECOND_NS;

    const MS_NS: u64 = SECOND_NS / 1000;

    #[test]
    fn what_is_read_late_came_in_when_the_kernel_says() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        ask_for_timestamps(&stream);
        // The kernel begins to stamp in a work of its own.
        thread::sleep(Duration::from_millis(100));
        let (mut server, _) = listener.accept().unwrap();
        let mut room = [0; 16];
        for _ in 0..20 {
            let before_ns = now_ns();
            server.write_all(b"hello").unwrap();
            let after_ns = now_ns();
            thread::sleep(Duration::from_millis(20));
            let received = read(&stream, &mut room).unwrap();
            let arrived_ns = received.arrived_after(0).expect("over loopback the kernel tells");
            assert_eq!(received.bytes, 5);
            // Nobody sets the clock, but a busy kernel may take it from the device after the write.
            assert!((before_ns..after_ns + 15 * MS_NS).contains(&arrived_ns), "{before_ns} {arrived_ns} {after_ns}");
            assert!(received.read_ns >= after_ns + 20 * MS_NS);
        }
    }

    #[test]
    fn nothing_and_the_end_are_told_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nonblocking(true).unwrap();
        let (server, _) = listener.accept().unwrap();
        let received = read(&stream, &mut [0; 16]).unwrap();
        assert_eq!((received.bytes, received.arrived_after(0)), (0, None));
        drop(server);
        let deadline_ns = now_ns() + SECOND_NS;
        let end = loop {
            match read(&stream, &mut [0; 16]) {
                Ok(_) if now_ns() < deadline_ns => thread::sleep(Duration::from_millis(1)),
                end => break end.unwrap_err(),
            }
        };
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn nothing_is_answered_before_it_is_asked() {
        let received = Received { bytes: 5, read_ns: 300, arrived_ns: Some(200) };
        assert_eq!((received.arrived_after(200), received.arrived_after(201)), (Some(200), None));
    }
}
