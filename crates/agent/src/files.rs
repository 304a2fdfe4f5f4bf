//! The agent's files: where the first one is, and who may have changed them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bayop_core::{Error, Result};

/// Where the configuration is unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/bayop/agent.toml";
/// The datagram socket beside the agent's.
pub const LATENCY_SOCKET: &str = "latency.sock";

/// Refuses a path that somebody else than root and this user could lead elsewhere: every folder and link on the way must
/// be theirs. A folder where everybody may write is fine where nobody may take away what is another's (`/tmp`).
///
/// # Errors
/// A part of the path is another user's, or others may replace what is in it.
pub fn trusted(path: &Path) -> Result<()> {
    const STICKY: u32 = 0o1000;
    let resolved = fs::canonicalize(path).ok();
    for part in path.ancestors().chain(resolved.iter().flat_map(|path| path.ancestors())) {
        // What is not there yet is made by this user, in a folder that is checked.
        let Ok(metadata) = fs::symlink_metadata(part) else { continue };
        let is_on_the_way = part != path && resolved.as_deref() != Some(part);
        if metadata.is_symlink() || (is_on_the_way && metadata.is_dir() && metadata.mode() & STICKY != 0) {
            owner(part, &metadata)?;
        } else {
            owned(part, &metadata)?;
        }
    }
    Ok(())
}

fn owned(path: &Path, metadata: &Metadata) -> Result<()> {
    owner(path, metadata)?;
    if metadata.mode() & 0o022 != 0 {
        return Err(Error::forbidden(format!("{} has mode {:04o}", path.display(), metadata.mode() & 0o7777))
            .rule("only its owner must be able to write it")
            .hint(format!("chmod go-w {}", path.display())));
    }
    Ok(())
}

fn owner(path: &Path, metadata: &Metadata) -> Result<()> {
    let user = nix::unistd::geteuid().as_raw();
    if [0, user].contains(&metadata.uid()) {
        return Ok(());
    }
    Err(Error::forbidden(format!("{} belongs to user {}", path.display(), metadata.uid()))
        .rule("it must belong to root, or to the user who runs the agent")
        .hint(format!("chown root {}", path.display())))
}
