//! One HTTP/1.1 connection: bounded in headers, in silence and in age, and in its right to keep others waiting.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;

use crate::fault;
use crate::peer::Peer;

/// How long a request's head, or a TLS handshake, may take; and how long a connection may be idle.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may live: what does not read its answers ends here at the latest.
const GREATEST_AGE: Duration = Duration::from_secs(600);
/// How long the last request may take after that.
const GRACE: Duration = Duration::from_secs(5);
/// Connections at a time.
const GREATEST_CONNECTIONS: usize = 32;
/// The largest head of a request, in bytes.
const GREATEST_HEAD: usize = 16 * 1024;

/// Lets so many connections in at a time: one more, and the oldest has to go. A client makes a connection for each request,
/// so that the oldest is one that says nothing.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<VecDeque<Arc<Notify>>>>);

/// The right to be one of the connections, until another needs the place.
#[derive(Debug)]
pub struct Pass {
    gate: Gate,
    ended: Arc<Notify>,
}

impl Gate {
    /// Lets one in.
    pub fn enter(&self) -> Pass {
        let (mut guests, ended) = (self.guests(), Arc::new(Notify::new()));
        if guests.len() == GREATEST_CONNECTIONS {
            guests.pop_front().expect("there are some").notify_one();
        }
        guests.push_back(ended.clone());
        Pass { gate: self.clone(), ended }
    }

    fn guests(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Does what the connection is for, unless its place is needed before.
    pub async fn through<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.ended.notified() => None,
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.guests().retain(|guest| !Arc::ptr_eq(guest, &self.ended));
    }
}

/// Serves one connection of `peer` until it ends, is idle for too long, or is too old.
pub async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router, peer: Peer) {
    let router = router.layer(Extension(peer));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(fault::patience(HEADER_TIMEOUT))
        .max_buf_size(GREATEST_HEAD)
        .half_close(false);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    // How a connection ends is the client's business; there is nobody left to tell.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = tokio::time::sleep(GREATEST_AGE) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(GRACE, connection).await;
        }
    }
}
