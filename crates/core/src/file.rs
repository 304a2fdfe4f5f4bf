//! Files: what is read of them no pipe holds up, and errors are worded alike everywhere.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::Error;

/// Of Linux, on every processor that BayOp runs on (asm-generic/fcntl.h and errno.h): libc is none of this crate's.
const O_NONBLOCK: i32 = 0o4000;
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;
const ELOOP: i32 = 40;

impl Error {
    /// A file that can't be read.
    pub fn unreadable(path: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::input(format!("cannot read {}: {}", path.as_ref().display(), reason(error)))
    }

    /// A file or folder that can't be written.
    pub fn unwritable(path: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::unsupported(format!("cannot write {}: {}", path.as_ref().display(), reason(error)))
    }
}

/// A regular file, to be read. What has no end, or may never come, is [`ErrorKind::InvalidData`]: a pipe, a device, a
/// folder, a link to itself.
///
/// # Errors
/// There is no such file, it can't be read, or it is no regular one.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let irregular = || io::Error::new(ErrorKind::InvalidData, "it is no regular file");
    // Opening a pipe waits for its other end otherwise.
    let opened = File::options().read(true).custom_flags(O_NONBLOCK).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(ELOOP | ENXIO | ENODEV) => irregular(),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// Why something failed, in a few words ("no such file").
pub fn reason(error: &io::Error) -> String {
    // What the standard library says of text that is none.
    let is_text = error.kind() != ErrorKind::InvalidData || error.get_ref().is_some();
    match error.kind() {
        ErrorKind::NotFound if error.raw_os_error().is_some() => "no such file".to_owned(),
        _ if !is_text && error.raw_os_error().is_none() => "it is not text in UTF-8".to_owned(),
        _ => {
            // Without the error's number, of which the words say all.
            let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
            let words = error.to_string().replace(number.as_deref().unwrap_or("\0"), "");
            // A name such as SCRAM stays as it is.
            if words.chars().nth(1).is_some_and(|second| !second.is_lowercase() && second != ' ') {
                return words;
            }
            let mut letters = words.chars();
            letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_can_not_be_used_is_named_with_the_reason() {
        let absent = std::fs::read("/nonexistent").unwrap_err();
        assert_eq!(Error::unreadable("/nonexistent", &absent).to_string(), "cannot read /nonexistent: no such file");
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(Error::unwritable("/x", &denied).to_string(), "cannot write /x: permission denied");
        assert_eq!(reason(&ErrorKind::PermissionDenied.into()), "permission denied");
        assert_eq!(reason(&io::Error::other("the driver says no")), "the driver says no");
        assert_eq!(reason(&io::Error::other("No answer")), "no answer");
        assert_eq!(reason(&io::Error::other("SCRAM needs more")), "SCRAM needs more");
        let binary = std::io::read_to_string(&b"\xff"[..]).unwrap_err();
        assert_eq!(reason(&binary), "it is not text in UTF-8");
    }
}
