//! Files that survive a power cut: after one, a file is the old one or the new one, never half of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::libc;

use crate::fault;

/// Replaces the file by `bytes`: a temporary file beside it is written and synced, then renamed over it, then the
/// folder is synced. When this fails, the old file stands.
///
/// # Errors
/// The disk is full or the folder can't be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("new");
    fault::point("file.before_write");
    let written = write_synced(&temporary, bytes).and_then(|()| {
        fault::point("file.before_rename");
        fs::rename(&temporary, path)
    });
    if let Err(error) = written {
        // Best effort: it is overwritten by the next attempt in any case, and the reason to report is the first.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    fault::point("file.after_rename");
    sync_folder(path)?;
    fault::point("file.after_folder_sync");
    Ok(())
}

/// Removes the file for good; an absent file is as good.
///
/// # Errors
/// The folder can't be written.
pub fn remove(path: &Path) -> io::Result<()> {
    fault::point("file.before_remove");
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fault::point("file.after_remove"),
    }
    sync_folder(path)?;
    fault::point("file.after_remove_sync");
    Ok(())
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        // A pipe in its place is an error, after which it is gone, and not a wait for who reads it.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let (first, second) = bytes.split_at(bytes.len() / 2);
    file.write_all(first)?;
    fault::point("file.half_written");
    file.write_all(second)?;
    fault::point("file.before_sync");
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
