//! One agent, or one `restore`, per state folder.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::files::owned;
use bayop_core::{Error, Result};

/// The state folder, exclusively; the kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its drop")] Flock<File>);

impl Lock {
    /// Takes the folder, which is made when it is absent.
    ///
    /// # Errors
    /// Another process has it, it can't be made, or others may write it.
    pub fn take(folder: &Path) -> Result<Self> {
        let unusable = |error| Error::unwritable(folder, &error);
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(error)),
            _ => owned(folder, &fs::metadata(folder).map_err(unusable)?)?,
        }
        let path = folder.join("lock");
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        match Flock::lock(file.map_err(unusable)?, FlockArg::LockExclusiveNonblock) {
            Ok(mut file) => {
                file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(unusable)?;
                Ok(Self(file))
            }
            Err((mut file, Errno::EWOULDBLOCK)) => {
                let mut process = String::new();
                file.read_to_string(&mut process).map_err(unusable)?;
                Err(Error::conflict(format!("process {process} uses {}", folder.display()))
                    .rule("one agent at a time must use a state folder")
                    .hint("the agent is running: stop it (which restores), or POST /v1/restore to its socket"))
            }
            Err((_, error)) => Err(unusable(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_and_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        let refused = Lock::take(folder.path()).unwrap_err();
        assert!(refused.to_string().starts_with(&format!("process {} uses ", std::process::id())), "{refused}");
        drop(first);
        assert!(Lock::take(folder.path()).is_ok());
    }
}
