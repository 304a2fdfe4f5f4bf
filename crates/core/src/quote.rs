//! A text as Python's `repr` shows it, so that a text reads alike wherever its error was made.

use alloc::string::String;
use core::fmt::{self, Write};

/// A text that displays in quotes, with what can't be seen escaped.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('\'') && !self.0.contains('"') { '"' } else { '\'' };
        let mut text = String::with_capacity(self.0.len() + 2);
        text.push(quote);
        for character in self.0.chars() {
            match character {
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                _ if character == quote || character == '\\' => text.extend(['\\', character]),
                _ if is_printable(character) => text.push(character),
                ..='\u{ff}' => write!(text, "\\x{:02x}", u32::from(character))?,
                ..='\u{ffff}' => write!(text, "\\u{:04x}", u32::from(character))?,
                _ => write!(text, "\\U{:08x}", u32::from(character))?,
            }
        }
        text.push(quote);
        f.write_str(&text)
    }
}

/// Whether a character can be seen, and changes nothing of how others are shown: no control, no line's end, nothing that
/// turns the direction of text.
pub(crate) fn is_printable(character: char) -> bool {
    // Behind a letter, so that a mark above or below one is none of these.
    matches!(character, '\'' | '"' | '\\') || String::from_iter(['a', character]).escape_debug().nth(2).is_none()
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::Quoted;

    #[test]
    fn texts_are_quoted_as_python_does() {
        for (text, quoted) in [
            ("nope.csv", "'nope.csv'"),
            ("it's", "\"it's\""),
            ("'\"", "'\\'\"'"),
            ("a\\b\n\u{1b}", "'a\\\\b\\n\\x1b'"),
            ("µs", "'µs'"),
            ("u\u{308}", "'u\u{308}'"),
            ("\u{a0}\u{202e}\u{e0001}", "'\\xa0\\u202e\\U000e0001'"),
            ("", "''"),
        ] {
            assert_eq!(Quoted(text).to_string(), quoted);
        }
    }
}
