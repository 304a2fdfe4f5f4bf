//! The agent's main loop: connections, the clock, the signals.

mod connection;
mod tls;
mod unix;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use bayop_knobs::Host;
use sd_notify::NotifyState;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::agent::Agent;
use crate::api::{lock, router};
use crate::config::{Config, Tls};
use crate::lock::Lock;
use crate::log;
use crate::messages::Released;
use bayop_core::{Error, Result, reason};
use connection::Gate;

/// How often the agent looks at the clock, at its sensors and at what it holds.
const TICK: Duration = Duration::from_secs(1);

/// Serves until a signal, then restores the machine. Returns what became of it.
///
/// # Errors
/// The state folder, the socket or the certificates can't be used, or a request panicked (after restoring).
pub fn serve(config: Config, host: Host) -> Result<Released> {
    let _lock = Lock::take(&config.state_dir)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Error::unsupported(format!("cannot wait for requests: {}", reason(&error))))?;
    runtime.block_on(run(config, host))
}

/// Refuses certificates that can't be used, as [`serve`] would.
///
/// # Errors
/// A file can't be read or is not what it should be.
pub fn check_tls(files: &Tls) -> Result<()> {
    tls::acceptor(files).map(drop)
}

async fn run(config: Config, host: Host) -> Result<Released> {
    let mut stop = [SignalKind::terminate(), SignalKind::interrupt()]
        .map(|kind| signal(kind).expect("the runtime has just enabled signals"));
    let [terminate, interrupt] = &mut stop;
    // Before anybody can connect: an earlier process may have left the machine changed.
    let agent = Arc::new(Mutex::new(Agent::start(config.clone(), host)?));
    let tcp = match &config.tls {
        Some(files) => Some((tls::acceptor(files)?, tls::listen(files).await?)),
        None => None,
    };
    let socket = unix::Socket::bind(&config.socket, &config.group)?;
    let listen = config.tls.as_ref().map(|tls| tls.listen.to_string()).unwrap_or_default();
    log::event("ready", &[("mode", &config.mode), ("socket", &config.socket.display()), ("tls", &listen)]);
    notify(&[NotifyState::Ready]);

    let router = router(agent.clone());
    // One gate each: strangers who occupy the TCP port do not keep the local brain out.
    let (local, remote) = (Gate::default(), Gate::default());
    let mut connections = JoinSet::new();
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reason = loop {
        tokio::select! {
            _ = terminate.recv() => break "SIGTERM",
            _ = interrupt.recv() => break "SIGINT",
            _ = clock.tick() => {
                lock(&agent).tick();
                notify(&[NotifyState::Watchdog]);
            }
            (stream, pass) = accept_local(&socket, &local) => {
                connections.spawn(connection::serve(stream, router.clone(), pass));
            }
            (stream, pass) = accept_remote(tcp.as_ref().map(|(_, listener)| listener), &remote) => {
                let (acceptor, _) = tcp.as_ref().expect("a connection was accepted");
                connections.spawn(handshake(acceptor.clone(), stream, router.clone(), pass));
            }
            Some(ended) = connections.join_next() => if ended.is_err_and(|error| error.is_panic()) {
                break "panic";
            },
        }
    };
    notify(&[NotifyState::Stopping]);
    drop(socket);
    log::event("stopping", &[("reason", &reason)]);
    let released = lock(&agent).restore(reason);
    match reason {
        "panic" => Err(Error::unsupported("a request panicked").hint("this is a bug; the machine was restored")),
        _ => Ok(released),
    }
}

async fn accept_local(socket: &unix::Socket, gate: &Gate) -> (tokio::net::UnixStream, connection::Pass) {
    loop {
        let pass = gate.enter().await;
        match socket.listener.accept().await {
            Ok((stream, _)) => return (stream, pass),
            Err(error) => refused(&error).await,
        }
    }
}

async fn accept_remote(listener: Option<&TcpListener>, gate: &Gate) -> (tokio::net::TcpStream, connection::Pass) {
    let Some(listener) = listener else { return std::future::pending().await };
    loop {
        let pass = gate.enter().await;
        match listener.accept().await {
            Ok((stream, _)) => return (stream, pass),
            Err(error) => refused(&error).await,
        }
    }
}

/// An accept fails when the client is gone already, or no file descriptor is left: a pause lets some be closed.
async fn refused(error: &io::Error) {
    log::event("accept_failed", &[("error", &reason(error))]);
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn handshake(
    acceptor: tokio_rustls::TlsAcceptor,
    stream: tokio::net::TcpStream,
    router: Router,
    pass: connection::Pass,
) {
    match tokio::time::timeout(connection::HEADER_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => connection::serve(stream, router, pass).await,
        Ok(Err(error)) => log::event("tls_refused", &[("error", &error)]),
        Err(_elapsed) => log::event("tls_refused", &[("error", &"the handshake took too long")]),
    }
}

/// Tells systemd, when it asked to be told.
fn notify(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(false, states) {
        log::event("notify_failed", &[("error", &error)]);
    }
}
