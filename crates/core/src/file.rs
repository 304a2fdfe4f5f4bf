//! Errors of files, worded alike everywhere.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::Error;

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
