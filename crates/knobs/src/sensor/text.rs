//! What kernel text holds.

use crate::error::{Error, Result};

/// How much of a file an error quotes, in characters.
const QUOTED: usize = 80;

/// The whole number that kernel text holds.
///
/// # Errors
/// The text is something else.
pub(super) fn number(text: &[u8]) -> Result<u64> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim_ascii().parse().ok())
        .ok_or_else(|| Error::unsupported("the file holds a whole number").value(quote(&String::from_utf8_lossy(text))))
}

/// The beginning of `text`, as an error quotes it.
pub(super) fn quote(text: &str) -> String {
    text.trim().chars().take(QUOTED).collect()
}
