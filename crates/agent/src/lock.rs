//! One writer at a time: of a state folder, and of a machine.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bayop_knobs::Host;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;

use crate::allow_list::AllowList;
use crate::files::trusted;
use bayop_core::{Error, Result};

/// Where the writers of the live machine meet, whatever their state folders are.
const MEETING: &str = "/run/bayop";
/// The mode of a file that is locked.
const OWNERS: u32 = 0o600;

/// Something that one process has at a time; the kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its drop")] Flock<File>);

impl Lock {
    /// Takes a state folder, which is made when it is absent. One that can't be written any more can still be restored
    /// from.
    ///
    /// # Errors
    /// Another process has it, it can't be made or read, or others may write it or lead it elsewhere.
    pub fn folder(folder: &Path) -> Result<Self> {
        make(folder, 0o700)?;
        Self::take(&folder.join("lock"), |process| {
            Error::conflict(format!("process {process} uses {}", folder.display()))
                .rule("one agent at a time must use a state folder")
        })
    }

    /// Takes what the allow-list lets be written of a machine: its processors, or the devices of this network namespace;
    /// without a list, all. A user who is not root writes nothing of a live machine.
    ///
    /// # Errors
    /// Another agent has it.
    pub fn machine(host: &Host, allow: Option<&AllowList>) -> Result<Vec<Self>> {
        if host.is_live() && !nix::unistd::geteuid().is_root() {
            return Ok(Vec::new());
        }
        let taken = |process: &str| {
            Error::conflict(format!("process {process} writes this machine, with a state folder of its own"))
                .rule("one agent at a time must write a machine")
        };
        meetings(host, allow)?.iter().map(|path| Self::take(path, taken)).collect()
    }

    fn take(path: &Path, taken: impl FnOnce(&str) -> Error) -> Result<Self> {
        let unusable = |error: io::Error| unwritable(path, &error);
        match Flock::lock(open(path).map_err(unusable)?, FlockArg::LockExclusiveNonblock) {
            Ok(mut file) => {
                // For the one who is refused; a folder, or a disk that takes no more, has no room for it.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Self(file))
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut process = String::new();
                let _ = file.read_to_string(&mut process);
                Err(taken(if process.is_empty() { "of another agent" } else { &process })
                    .hint("the agent is running: stop it (which restores), or POST /v1/restore to its socket"))
            }
            Err((_, error)) => Err(unusable(error.into())),
        }
    }
}

/// The files to lock. A recorded machine is its folder.
fn meetings(host: &Host, allow: Option<&AllowList>) -> Result<Vec<PathBuf>> {
    if !host.is_live() {
        return Ok(vec![host.path("")]);
    }
    make(Path::new(MEETING), 0o755)?;
    let is_network = |id: &String| id.starts_with("nic.") || id.starts_with("napi.");
    let writes = |network: bool| allow.is_none_or(|allow| allow.0.keys().any(|id| is_network(id) == network));
    let mut names = Vec::new();
    if writes(true) {
        names.push(host.network_namespace()?);
    }
    if writes(false) {
        names.push("processors".to_owned());
    }
    Ok(names.into_iter().map(|name| Path::new(MEETING).join(format!("{name}.lock"))).collect())
}

fn make(folder: &Path, mode: u32) -> Result<()> {
    match DirBuilder::new().mode(mode).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !folder.is_dir() => Err(unwritable(folder, &error)),
        _ => trusted(folder),
    }
}

/// A file or folder that can't be written; root's can't where the service's sandbox ends.
fn unwritable(path: &Path, error: &io::Error) -> Error {
    let refused = Error::unwritable(path, error);
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            refused.hint("docs/security.md says how another folder is opened to the service bayop-agent")
        }
        _ => refused,
    }
}

/// Opens a file to lock it, made where it is absent, and to write it where that is possible. Who may open it may lock it,
/// if only for reading: it is closed to others, also where an earlier version left it open.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).mode(OWNERS).custom_flags(libc::O_NOFOLLOW);
    let writable = options.clone().write(true).create(true).truncate(false).open(path);
    let closed = writable.inspect(|file| {
        let _ = file.set_permissions(Permissions::from_mode(OWNERS));
    });
    closed.or_else(|error| options.open(path).map_err(|_| error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_and_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::folder(folder.path()).unwrap();
        let refused = Lock::folder(folder.path()).unwrap_err();
        assert!(refused.to_string().starts_with(&format!("process {} uses ", std::process::id())), "{refused}");
        drop(first);
        assert!(Lock::folder(folder.path()).is_ok());
    }

    #[test]
    fn whoever_may_not_write_is_told_about_the_sandbox() {
        let hint = |code| unwritable(Path::new("/srv/bayop"), &io::Error::from_raw_os_error(code)).hint;
        for refused in [libc::EACCES, libc::EROFS] {
            assert!(hint(refused).unwrap().contains("the service"), "{refused}");
        }
        assert_eq!(hint(libc::ENOSPC), None);
    }

    #[test]
    fn a_machine_has_one_writer_whatever_its_state_folder_is() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::recorded(folder.path());
        let first = Lock::machine(&host, None).unwrap();
        let refused = Lock::machine(&host, None).unwrap_err();
        assert!(refused.to_string().contains("writes this machine, with a state folder of its own"), "{refused}");
        drop(first);
        assert!(Lock::machine(&host, None).is_ok());
    }
}
