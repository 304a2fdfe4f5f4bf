//! Words of a command's line, and numbers in them.

use super::super::store::gone_s;

/// The end of a word: a space, or the line feed that ends a line. A carriage return is a byte like others.
#[inline]
pub(super) fn word_end(bytes: &[u8]) -> Option<usize> {
    find::<0x21>(bytes, is_word_end)
}

/// The line feed that ends a line.
#[inline]
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    find::<0x0B>(bytes, |byte| byte == b'\n')
}

/// The first byte that `is_it`, all of which are below `LIMIT`.
#[inline]
fn find<const LIMIT: u64>(bytes: &[u8], is_it: fn(u8) -> bool) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    // Eight at a time: the high bit of each byte below the limit (Anderson, Bit Twiddling Hacks: hasless).
    while let Some(word) = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes) {
        let below = word.wrapping_sub(ONES * LIMIT) & !word & (ONES << 7);
        if below == 0 {
            at += 8;
            continue;
        }
        at += below.trailing_zeros() as usize / 8;
        if is_it(bytes[at]) {
            return Some(at);
        }
        at += 1;
    }
    bytes[at..].iter().position(|byte| is_it(*byte)).map(|rest| at + rest)
}

#[inline]
fn is_word_end(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n')
}

/// The words of a line, at most `N` of them: the last is what is left. Returns how many there are.
#[inline]
pub(super) fn split<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    let mut words: [&[u8]; N] = [&[]; N];
    let mut found = 0;
    for word in line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).take(N) {
        words[found] = word;
        found += 1;
    }
    (words, found)
}

/// A number in decimal digits, no more than `max`.
#[inline]
pub fn number(word: &[u8], max: u64) -> Option<u64> {
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    let mut number: u64 = 0;
    for byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (number <= max).then_some(number)
}

/// When an item is gone, from a word: as [`gone_s`] has it, and a negative number is at once.
pub(super) fn expires_s(word: &[u8], now_s: u32) -> Option<u32> {
    if let Some(word) = word.strip_prefix(b"-") {
        return number(word, u64::from(u32::MAX)).map(|_| 1);
    }
    number(word, u64::from(u32::MAX)).map(|time_s| gone_s(time_s as u32, now_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_ends_at_the_first_end(
            bytes in prop::collection::vec(prop_oneof![8 => any::<u8>(), 1 => Just(b' '), 1 => Just(b'\n')], 0..60),
        ) {
            prop_assert_eq!(word_end(&bytes), bytes.iter().position(|byte| is_word_end(*byte)));
            prop_assert_eq!(line_end(&bytes), bytes.iter().position(|byte| *byte == b'\n'));
        }

        #[test]
        fn a_number_is_rusts(text in "[0-9]{1,21}|[a-z0-9+-]{0,4}") {
            let rusts = text.parse::<u64>().ok().filter(|_| text.len() <= 20 && !text.starts_with('+'));
            prop_assert_eq!(number(text.as_bytes(), u64::MAX), rusts);
        }
    }

    #[test]
    fn expiry_is_a_delay_or_a_date() {
        for (word, expected) in [
            ("0", Some(0)),
            ("5", Some(1005)),
            ("-1", Some(1)),
            ("2592000", Some(2_593_000)),
            ("2592001", Some(2_592_001)),
            ("x", None),
            ("-", None),
        ] {
            assert_eq!(expires_s(word.as_bytes(), 1000), expected, "{word}");
        }
    }
}
