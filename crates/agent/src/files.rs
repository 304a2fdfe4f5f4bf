//! The agent's files: where the first one is, and who may have changed them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bayop_core::{Error, Result};

/// Where the configuration is unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/bayop/agent.toml";

/// Refuses a file or folder that somebody else than its owner, and root or this user, could have changed.
///
/// # Errors
/// It belongs to another user, or its group or others may write it.
pub fn owned(path: &Path, metadata: &Metadata) -> Result<()> {
    let user = nix::unistd::geteuid().as_raw();
    if ![0, user].contains(&metadata.uid()) {
        return Err(Error::forbidden(format!("{} belongs to user {}", path.display(), metadata.uid()))
            .rule("it must belong to root, or to the user who runs the agent")
            .hint(format!("chown root {}", path.display())));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(Error::forbidden(format!("{} has mode {:04o}", path.display(), metadata.mode() & 0o7777))
            .rule("only its owner must be able to write it")
            .hint(format!("chmod go-w {}", path.display())));
    }
    Ok(())
}
