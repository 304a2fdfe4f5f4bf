//! The agent's files: where the first one is, who may have changed them, and how they are read.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bayop_core::{Error, Result, open_regular};

/// Where the configuration is unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/bayop/agent.toml";
/// The datagram socket beside the agent's.
pub const LATENCY_SOCKET: &str = "latency.sock";
/// More than any file of the agent has: the journal of a machine with a thousand processors has some MB.
const GREATEST_BYTES: u64 = 64 << 20;

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

/// The bytes of a regular file, at once. What has no end, or may never come, is [`ErrorKind::InvalidData`]: a pipe, a
/// device, a folder, a link to itself, and what is longer than any file of the agent.
///
/// # Errors
/// There is no such file, it can't be read, or it is no regular one.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if open_regular(path)?.take(GREATEST_BYTES + 1).read_to_end(&mut bytes)? as u64 > GREATEST_BYTES {
        let wrong = format!("it has more than {} MiB", GREATEST_BYTES >> 20);
        return Err(io::Error::new(ErrorKind::InvalidData, wrong));
    }
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// As of [`read`], or it is no text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| ErrorKind::InvalidData.into())
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn what_has_no_end_or_never_comes_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink(at("loop"), at("loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for irregular in [at("pipe"), at("loop"), at("socket"), folder.path().into(), "/dev/zero".into()] {
            let error = read(&irregular).unwrap_err();
            assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::InvalidData, "it is no regular file"));
        }
        File::create(at("long")).unwrap().set_len(GREATEST_BYTES + 1).unwrap();
        assert_eq!(read(&at("long")).unwrap_err().to_string(), "it has more than 64 MiB");
        assert_eq!(read(&at("absent")).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(at("bytes"), [0xff]).unwrap();
        assert_eq!(read(&at("bytes")).unwrap(), [0xff]);
        assert_eq!(bayop_core::reason(&text(&at("bytes")).unwrap_err()), "it is not text in UTF-8");
    }
}
