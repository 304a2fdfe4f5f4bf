//! One HTTP/1.1 connection: bounded in headers, in silence and in age.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a request's head, or a TLS handshake, may take; and how long a connection may be idle.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may live: what does not read its answers ends here at the latest.
const GREATEST_AGE: Duration = Duration::from_secs(600);
/// How long the last request may take after that.
const GRACE: Duration = Duration::from_secs(5);
/// Connections at a time; more wait in the kernel's queue.
const GREATEST_CONNECTIONS: usize = 32;
/// The largest head of a request, in bytes.
const GREATEST_HEAD: usize = 16 * 1024;

/// The right to be one of the connections.
pub type Pass = OwnedSemaphorePermit;

/// Lets so many connections in at a time.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(GREATEST_CONNECTIONS)))
    }
}

impl Gate {
    /// Waits for a pass.
    pub async fn enter(&self) -> Pass {
        self.0.clone().acquire_owned().await.expect("the gate is never closed")
    }
}

/// Serves one connection until it ends, is idle for too long, or is too old.
pub async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router, _pass: Pass) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(GREATEST_HEAD).half_close(false);
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
