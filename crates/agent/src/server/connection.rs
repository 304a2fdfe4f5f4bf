//! One HTTP/1.1 connection: bounded in headers, in silence and in age, and in its right to keep others waiting.

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

/// Lets so many connections in at a time: for one more, the oldest of those of whom most are there has to go, and is
/// waited for. A client makes a connection for each request, so that the oldest is one that says nothing; and a crowd
/// drives out only its own.
#[derive(Debug)]
pub struct Gate<Origin>(Arc<Mutex<Guests<Origin>>>);

type Guests<Origin> = Vec<(Origin, Arc<Notify>)>;

/// The right to be one of the connections, until another needs the place.
#[derive(Debug)]
pub struct Pass<Origin> {
    gate: Gate<Origin>,
    ended: Arc<Notify>,
}

impl<Origin> Default for Gate<Origin> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<Origin: PartialEq> Gate<Origin> {
    /// Whether one may be let in: the one that had to go for the last is gone, and so is its file descriptor.
    pub fn has_room(&self) -> bool {
        self.guests().len() <= GREATEST_CONNECTIONS
    }

    /// Lets one in.
    pub fn enter(&self, origin: Origin) -> Pass<Origin> {
        let (mut guests, ended) = (self.guests(), Arc::new(Notify::new()));
        guests.push((origin, ended.clone()));
        if guests.len() > GREATEST_CONNECTIONS {
            let crowd = |origin: &Origin| guests.iter().filter(|(other, _)| other == origin).count();
            // Of equals, the last is taken.
            let leaving = guests.iter().rev().max_by_key(|(origin, _)| crowd(origin));
            leaving.expect("one has come").1.notify_one();
        }
        Pass { gate: Self(self.0.clone()), ended }
    }
}

impl<Origin> Gate<Origin> {
    fn guests(&self) -> MutexGuard<'_, Guests<Origin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Origin> Pass<Origin> {
    /// Does what the connection is for, unless its place is needed before. What has come by then is still answered.
    pub async fn through<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.ended.notified() => None,
        }
    }
}

impl<Origin> Drop for Pass<Origin> {
    fn drop(&mut self) {
        self.gate.guests().retain(|(_, guest)| !Arc::ptr_eq(guest, &self.ended));
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

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    async fn is_ended(pass: &Pass<&str>) -> bool {
        tokio::time::timeout(Duration::from_millis(1), pass.through(pending::<()>())).await.is_ok()
    }

    #[tokio::test]
    async fn the_oldest_of_the_crowd_makes_room_and_is_waited_for() {
        let gate = Gate::default();
        let other = gate.enter("other");
        let mut crowd: Vec<_> = (1..GREATEST_CONNECTIONS).map(|_| gate.enter("crowd")).collect();
        assert!(gate.has_room() && !is_ended(&crowd[0]).await);
        for newcomer in ["crowd", "third"] {
            let entered = gate.enter(newcomer);
            assert!(!gate.has_room(), "the one that has to go is there still");
            assert!(is_ended(&crowd[0]).await);
            drop(crowd.remove(0));
            assert!(gate.has_room() && !is_ended(&entered).await);
            crowd.push(entered);
        }
        assert!(!is_ended(&other).await && !is_ended(&crowd[0]).await);
    }

    #[tokio::test]
    async fn what_is_ready_is_done_even_then() {
        let gate = Gate::default();
        let passes: Vec<_> = (0..=GREATEST_CONNECTIONS).map(|_| gate.enter("one")).collect();
        assert_eq!(passes[0].through(ready(7)).await, Some(7));
    }
}
