//! The agent's main loop: connections, the clock, the signals.

pub mod connection;
mod crl;
pub mod datagrams;
mod intake;
mod signals;
mod tls;
mod unix;
mod watchdog;

use std::io;
use std::net::IpAddr;
use std::panic::{self, AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use bayop_knobs::Host;
use nix::unistd::Uid;
use sd_notify::NotifyState;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

use crate::agent::{self, Agent};
use crate::api::{lock, router};
use crate::config::{Config, Mode, Tls};
use crate::devices::Devices;
use crate::journal::Journal;
use crate::lock::Lock;
use crate::messages::Released;
use crate::peer::Peer;
use crate::{fault, log};
use bayop_core::{Error, Result, reason};
use connection::Gate;
use datagrams::Datagrams;
use intake::Intake;
use signals::Endings;

/// How often the agent looks at the clock, at its sensors and at what it holds.
const TICK: Duration = Duration::from_secs(1);
/// How often it looks at the conditions of a hold.
const LOOK: Duration = Duration::from_millis(250);

/// Serves until a signal, then restores the machine. Returns what became of it.
///
/// # Errors
/// The state folder, the socket or the certificates can't be used, or the agent panicked (after restoring).
pub fn serve(config: Config, host: Host) -> Result<Released> {
    let _folder = Lock::folder(&config.state_dir)?;
    // What an earlier process left changed is restored in any mode, and may be anything.
    let has_left = !Journal::new(&config.state_dir).read()?.entries.is_empty();
    let _machine = match config.mode {
        _ if has_left => Lock::machine(&host, None)?,
        Mode::Apply => Lock::machine(&host, Some(&config.allow))?,
        Mode::Observe | Mode::Advise => Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Error::unsupported(format!("cannot wait for requests: {}", reason(&error))))?;
    panic::set_hook(Box::new(|panic| log::event("panic", &[("reason", panic)])));
    let devices = Devices::default();
    watchdog::watch(config.clone(), host.clone(), devices.clone());
    let served =
        panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(run(config.clone(), host.clone(), devices.clone()))));
    served.unwrap_or_else(|_panic| {
        let wrong = match agent::recover(&config, &host, &devices, "panic")?.latched.len() {
            0 => "the agent panicked, and restored the machine".to_owned(),
            count => format!("the agent panicked, and {count} knobs could not be restored"),
        };
        Err(Error::failed(wrong).hint("this is a bug: the log says where"))
    })
}

/// Refuses certificates that can't be used, as [`serve`] would.
///
/// # Errors
/// A file can't be read or is not what it should be.
pub fn check_tls(files: &Tls) -> Result<()> {
    tls::acceptor(files).map(drop)
}

async fn run(config: Config, host: Host, devices: Devices) -> Result<Released> {
    let mut endings = Endings::heed();
    // Before anybody can connect: an earlier process may have left the machine changed.
    let agent = Arc::new(Mutex::new(Agent::start(config.clone(), host, devices.clone())?));
    let tcp = match &config.tls {
        Some(files) => Some((tls::acceptor(files)?, tls::listen(files).await?)),
        None => None,
    };
    let socket = unix::Socket::bind(&config.socket, &config.group)?;
    let datagrams = Datagrams::bind(&config.socket, config.roles.has_local_pushers())?;
    let listen = config.tls.as_ref().map(|tls| tls.listen.to_string()).unwrap_or_default();
    log::event("ready", &[("mode", &config.mode), ("socket", &config.socket.display()), ("tls", &listen)]);
    notify(&[NotifyState::Ready]);

    let router = router(agent.clone());
    // One gate each: strangers who occupy the TCP port do not keep the local brain out.
    let (local, remote) = (Gate::default(), Gate::default());
    let [from_local, from_remote, from_datagrams] = std::array::from_fn(|_| Intake::default());
    let mut connections = JoinSet::new();
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reason = loop {
        tokio::select! {
            signal = endings.next() => break signal,
            _ = clock.tick() => {
                if let Some(signal) = endings.missed() {
                    break signal;
                }
                lock(&agent).tick();
                devices.go_on();
                notify(&[NotifyState::Watchdog]);
            }
            _ = looks.tick(), if lock(&agent).is_guarding() => lock(&agent).look(),
            (datagram, peer) = from_datagrams.next(|| datagrams.next()) => lock(&agent).hear_datagram(&datagram, peer.as_ref()),
            (stream, peer) = from_local.next(|| accept_local(&socket)), if local.has_room() => {
                let (pass, router) = (local.enter(peer.clone()), router.clone());
                connections.spawn(async move { pass.through(connection::serve(stream, router, peer)).await; });
            }
            (stream, address, acceptor) = from_remote.next(|| accept_remote(tcp.as_ref())), if remote.has_room() => {
                let (pass, secured) = (remote.enter(address), secure(acceptor, stream, router.clone()));
                connections.spawn(async move { pass.through(secured).await; });
            }
            Some(ended) = connections.join_next() => if let Some(panic) = ended.err().and_then(|e| e.try_into_panic().ok()) {
                resume_unwind(panic);
            },
        }
    };
    notify(&[NotifyState::Stopping]);
    drop((socket, datagrams));
    log::event("stopping", &[("reason", &reason)]);
    Ok(lock(&agent).restore(&reason))
}

async fn accept_local(socket: &unix::Socket) -> io::Result<(UnixStream, Peer)> {
    let (stream, _) = socket.listener.accept().await?;
    let uid = stream.peer_cred()?.uid();
    Ok((stream, Peer::User(Uid::from_raw(uid))))
}

async fn accept_remote(tcp: Option<&(TlsAcceptor, TcpListener)>) -> io::Result<(TcpStream, IpAddr, TlsAcceptor)> {
    let Some((acceptor, listener)) = tcp else { return std::future::pending().await };
    let (stream, address) = listener.accept().await?;
    Ok((stream, address.ip(), acceptor.clone()))
}

async fn secure(acceptor: TlsAcceptor, stream: TcpStream, router: Router) {
    match tokio::time::timeout(fault::patience(connection::HEADER_TIMEOUT), acceptor.accept(stream)).await {
        Ok(Ok(stream)) => {
            let peer = tls::peer(stream.get_ref().1);
            connection::serve(stream, router, peer).await;
        }
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
