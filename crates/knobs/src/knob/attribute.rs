//! Kernel files that hold one number, or words.

use crate::host::Host;
use crate::value::Value;
use bayop_core::{Error, Result};

/// The whole number that a kernel file holds.
///
/// # Errors
/// The file is absent or refuses, or holds something else.
pub(super) fn number(host: &Host, path: &str) -> Result<u64> {
    let text = host.read(path)?;
    parse(&text).ok_or_else(|| no_number(&text).at(format!("/{path}")))
}

/// The whole number that kernel text is: digits and nothing else.
pub(super) fn parse(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

pub(super) fn no_number(text: &str) -> Error {
    Error::malformed(text.chars().take(40).collect::<String>(), "the attribute must be a whole number")
}

/// The words of a kernel file, such as `scaling_available_governors`.
///
/// # Errors
/// The file is absent or refuses, or holds no word.
pub(super) fn words(host: &Host, path: &str) -> Result<Vec<String>> {
    let words: Vec<String> = host.read(path)?.split_ascii_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Err(Error::unsupported(format!("/{path} is empty")));
    }
    Ok(words)
}

/// The names in a folder that are `prefix` and a number, by that number: `cpu2` before `cpu10`.
pub(super) fn numbered(host: &Host, folder: &str, prefix: &str) -> Vec<String> {
    let mut entries: Vec<(u64, String)> =
        host.names(folder).into_iter().filter_map(|name| Some((parse(name.strip_prefix(prefix)?)?, name))).collect();
    entries.sort();
    entries.into_iter().map(|(_, name)| name).collect()
}

/// The number that a plan is asked for; its domain has checked that it is one.
pub(super) fn as_number(value: &Value) -> Result<f64> {
    match value {
        Value::Number(number) => Ok(*number),
        Value::Word(word) => Err(Error::cannot_use(word, "the value must be a number")),
    }
}

/// The word that a plan is asked for; its domain has checked that it is one.
pub(super) fn as_word(value: &Value) -> Result<&str> {
    match value {
        Value::Word(word) => Ok(word),
        Value::Number(number) => Err(Error::cannot_use(number, "the value must be a word")),
    }
}

/// `on` for true.
pub(super) fn switch(on: bool) -> Value {
    Value::from(if on { "on" } else { "off" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_number_is_digits_and_nothing_else(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = String::from_utf8_lossy(&bytes);
            let expected = text.parse().ok().filter(|_| !text.starts_with('+'));
            prop_assert_eq!(parse(&text), expected);
        }

        #[test]
        fn a_file_of_any_bytes_is_a_number_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
            let root = tempfile::tempdir().unwrap();
            std::fs::write(root.path().join("file"), &bytes).unwrap();
            let host = Host::recorded(root.path());
            if let Ok(number) = number(&host, "file") {
                prop_assert_eq!(String::from_utf8(bytes.clone()).unwrap().trim_end().parse(), Ok(number));
            }
            if let Ok(words) = words(&host, "file") {
                prop_assert!(!words.is_empty());
            }
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "+1", "-1", "1.5", "0x10", "1 2", "<unsupported>", "18446744073709551616", "٣"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let root = tempfile::tempdir().unwrap();
        for name in ["cpu10", "cpu2", "cpu", "cpufreq", "cpu1"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        assert_eq!(numbered(&Host::recorded(root.path()), "", "cpu"), ["cpu1", "cpu2", "cpu10"]);
    }
}
