//! The Unix socket: who may open the file may use the agent.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, chown};
use std::os::unix::net;
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, umask};
use nix::unistd::Group;
use tokio::net::UnixListener;

use crate::files::trusted;
use bayop_core::{Error, Result, reason};

/// A listening socket whose file goes when it is dropped.
#[derive(Debug)]
pub struct Socket {
    /// Accepts the connections.
    pub listener: UnixListener,
    #[expect(dead_code, reason = "held for its drop")]
    file: File,
}

impl Socket {
    /// Listens at `path`, for root and the members of `group`.
    ///
    /// # Errors
    /// The group is unknown, the folder is not safe, or somebody answers there already.
    pub fn bind(path: &Path, group: &str) -> Result<Self> {
        let unusable = |error: io::Error| unusable(path, &error);
        let group = Group::from_name(group).map_err(|error| unusable(error.into()))?.ok_or_else(|| {
            Error::input(format!("there is no group {group}, to which the socket would belong"))
                .value(group)
                .at("group")
                .hint(format!("groupadd --system {group}, or name another group in the configuration"))
        })?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::metadata(folder)
            .map_err(|error| unusable(error).hint(format!("mkdir --mode 0755 {}", folder.display())))?;
        trusted(folder)?;
        remove_stale(path, |path| net::UnixStream::connect(path).map(drop))?;
        let listener = closed(|| UnixListener::bind(path)).map_err(unusable)?;
        let socket = Self { listener, file: File(path.to_owned()) };
        chown(path, None, Some(group.gid.as_raw())).map_err(unusable)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(unusable)?;
        Ok(socket)
    }
}

/// The file of a socket, which goes when it is dropped.
#[derive(Debug)]
pub(super) struct File(pub(super) PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        // A file that stays is found stale at the next start.
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes a socket that is closed to everybody until it belongs to the group.
pub(super) fn closed<T>(bind: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mask = umask(Mode::from_bits_truncate(0o177));
    let bound = bind();
    umask(mask);
    bound
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> Error {
    Error::unsupported(format!("cannot make the socket {}: {}", path.display(), reason(error)))
}

/// Removes a socket at which nobody answers.
pub(super) fn remove_stale(path: &Path, connect: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(path, &error)),
        Ok(metadata) => metadata,
    };
    if !metadata.file_type().is_socket() {
        return Err(Error::conflict(format!("{} is there and is no socket", path.display())));
    }
    match connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| Error::unwritable(path, &error))
        }
        _ => Err(Error::conflict(format!("somebody else listens at {}", path.display()))
            .hint("stop the agent that runs: systemctl stop bayop-agent")),
    }
}
