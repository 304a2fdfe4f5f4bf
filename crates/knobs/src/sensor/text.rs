//! What kernel text holds.

use bayop_core::{Error, Result};

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
        .ok_or_else(|| Error::malformed(quote(&String::from_utf8_lossy(text)), "the file must hold a whole number"))
}

/// The beginning of `text`, as an error quotes it.
pub(super) fn quote(text: &str) -> String {
    text.trim().chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_read_back(value in any::<u64>()) {
            prop_assert_eq!(number(format!("{value}\n").as_bytes()), Ok(value));
        }

        #[test]
        fn anything_else_is_refused_and_quoted_in_short(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            prop_assume!(bytes.trim_ascii().is_empty() || !bytes.trim_ascii().iter().all(u8::is_ascii_digit));
            prop_assume!(!bytes.trim_ascii().starts_with(b"+"));
            let quoted = number(&bytes).unwrap_err().value.unwrap();
            prop_assert!(quoted.chars().count() <= QUOTED);
        }
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in ["", "-1", "1.5", "0x10", "18446744073709551616", "12 13", "<unknown>", "12\u{a0}"] {
            assert!(number(text.as_bytes()).is_err(), "{text}");
        }
    }
}
