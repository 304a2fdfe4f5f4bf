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
                _ if character.is_control() => write!(text, "\\x{:02x}", u32::from(character))?,
                _ => text.push(character),
            }
        }
        text.push(quote);
        f.write_str(&text)
    }
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
            ("", "''"),
        ] {
            assert_eq!(Quoted(text).to_string(), quoted);
        }
    }
}
