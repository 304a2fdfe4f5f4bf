//! The datagram socket at which anything on this machine says what clients see: who has the role `push`, by what the
//! kernel says of each datagram's sender. It takes nothing else, and answers nothing.

use std::fs;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net;
use std::path::Path;

use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, UnixCredentials, bind, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::unistd::Uid;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

use super::unix::{File, closed, remove_stale, unusable};
use crate::files::LATENCY_SOCKET;
use crate::peer::Peer;
use bayop_core::Result;

/// The longest datagram that is read to its end, in bytes: a line of a source of latency has some hundred.
pub const GREATEST: usize = 4096;

/// A datagram socket whose file goes when it is dropped.
#[derive(Debug)]
pub struct Datagrams {
    socket: UnixDatagram,
    #[expect(dead_code, reason = "held for its drop")]
    file: File,
}

impl Datagrams {
    /// Receives beside the agent's `socket`, which is there: from the same group, or from `anybody`, of whom only those
    /// with the role are heard.
    ///
    /// # Errors
    /// Something else is in its place, or somebody else receives there.
    pub fn bind(socket: &Path, anybody: bool) -> Result<Self> {
        let path = socket.with_file_name(LATENCY_SOCKET);
        remove_stale(&path, |path| net::UnixDatagram::unbound()?.connect(path))?;
        let make = || {
            let receiver = closed(|| receiver(&path))?;
            let file = File(path.clone());
            chown(&path, None, Some(fs::metadata(socket)?.gid()))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(if anybody { 0o666 } else { 0o660 }))?;
            Ok(Self { socket: UnixDatagram::from_std(receiver)?, file })
        };
        make().map_err(|error: io::Error| unusable(&path, &error))
    }

    /// The next datagram, and who sent it, where that is to be told.
    ///
    /// # Errors
    /// The kernel has no memory for it.
    pub async fn next(&self) -> io::Result<(Vec<u8>, Option<Peer>)> {
        self.socket.async_io(Interest::READABLE, || receive(&self.socket)).await
    }
}

/// A socket that is told its senders by the kernel (SO_PASSCRED, unix(7)) from the first datagram on.
fn receiver(path: &Path) -> io::Result<net::UnixDatagram> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let receiver: OwnedFd = socket(AddressFamily::Unix, SockType::Datagram, flags, None)?;
    setsockopt(&receiver, sockopt::PassCred, &true)?;
    bind(receiver.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(receiver.into())
}

/// One datagram, as far as there is room for it. For file descriptors that come with it there is no room: the kernel closes
/// them, and the datagram is from nobody.
fn receive(socket: &UnixDatagram) -> io::Result<(Vec<u8>, Option<Peer>)> {
    let mut bytes = vec![0; GREATEST];
    let mut control = nix::cmsg_space!(UnixCredentials);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let descriptor = socket.as_fd().as_raw_fd();
    let message = recvmsg::<()>(descriptor, &mut parts, Some(&mut control), MsgFlags::MSG_CMSG_CLOEXEC)?;
    // An error where not all had room.
    let sender = message.cmsgs().ok().into_iter().flatten().find_map(|part| match part {
        ControlMessageOwned::ScmCredentials(credentials) => Some(Peer::User(Uid::from_raw(credentials.uid()))),
        _ => None,
    });
    let length = message.bytes;
    bytes.truncate(length);
    Ok((bytes, sender))
}
