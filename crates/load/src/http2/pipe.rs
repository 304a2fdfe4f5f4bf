//! The socket that h2 sees: bytes in memory, which the timing loop moves from and to the real one.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::input::Input;

/// What was received and not yet read, and what was written and not yet sent.
pub(super) struct Bytes {
    pub(super) received: Input,
    pub(super) written: Vec<u8>,
}

/// Two handles of the same bytes: one is h2's.
#[derive(Clone)]
pub(super) struct Pipe(Arc<Mutex<Bytes>>);

impl Pipe {
    /// Nothing has come or gone.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Bytes { received: Input::new(), written: Vec::new() })))
    }

    /// The bytes, which a connection's thread alone asks for.
    pub(super) fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Pipe {
    /// Nobody is woken when more has come: the timing loop polls then.
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let received = &mut self.bytes().received;
        let taken = received.bytes().len().min(buffer.remaining());
        if taken == 0 {
            return Poll::Pending;
        }
        buffer.put_slice(&received.bytes()[..taken]);
        received.consume(taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.bytes().written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
