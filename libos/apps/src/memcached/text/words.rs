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

/// The first `N` words of a line. Returns how many there are of these.
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

/// A sign and the number behind it, as memcached has C's `strtoull` read them: white space may be in front, and
/// whatever white space or a zero byte parts from the digits may be behind, which is not looked at.
#[inline]
fn sign_and_number<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> Option<(bool, u64)> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut bytes = bytes.into_iter().copied();
    let first = bytes.find(|byte| !is_space(byte))?;
    let mut next = if matches!(first, b'+' | b'-') { bytes.next() } else { Some(first) };
    next.filter(u8::is_ascii_digit)?;
    let mut number: u64 = 0;
    while let Some(digit @ b'0'..=b'9') = next {
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        next = bytes.next();
    }
    next.is_none_or(|byte| byte == 0 || is_space(&byte)).then_some((first == b'-', number))
}

/// A number of 64 bits. What follows a minus is negated, and refused where that has the highest bit set: `-1` is no
/// number, but `-18446744073709551615` is 1.
#[inline]
pub fn number<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> Option<u64> {
    let (is_negative, number) = sign_and_number(bytes)?;
    let value = if is_negative { number.wrapping_neg() } else { number };
    (!is_negative || i64::try_from(value).is_ok()).then_some(value)
}

/// A number of 64 bits with a sign, of which memcached keeps the lower 32.
#[inline]
pub(super) fn signed(word: &[u8]) -> Option<i32> {
    let (is_negative, number) = sign_and_number(word)?;
    let number = if is_negative { 0_i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() };
    number.map(|number| number as i32)
}

/// When an item is gone, from a word: as [`gone_s`] has it, and a negative number is at once.
pub(super) fn expires_s(word: &[u8], now_s: u32) -> Option<u32> {
    signed(word).map(|time_s| u32::try_from(time_s).map_or(1, |time_s| gone_s(time_s, now_s)))
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
        fn a_number_is_rusts(
            space in "[ \t\n]{0,2}",
            text in "-?[0-9]{1,21}|-?(9223372036854775|18446744073709551)[0-9]{3}|[a-z0-9+-]{0,4}",
            rest in "([ \t\r\0][a-z ]{0,3})?",
        ) {
            let bytes = [space, text.clone(), rest].concat();
            let rusts = text.parse::<i128>().ok();
            let is_negative = text.starts_with('-');
            let wraps = rusts.filter(|number| number.unsigned_abs() <= u128::from(u64::MAX)).map(|number| number as u64);
            let expected = wraps.filter(|value| !is_negative || *value <= i64::MAX as u64);
            prop_assert_eq!(number(bytes.as_bytes()), expected);
            let signs = rusts.and_then(|number| i64::try_from(number).ok());
            prop_assert_eq!(signed(bytes.as_bytes()), signs.map(|number| number as i32));
        }
    }

    #[test]
    fn expiry_is_a_delay_or_a_date() {
        for (word, expected) in [
            ("0", Some(0)),
            ("5", Some(1005)),
            ("+5", Some(1005)),
            ("-1", Some(1)),
            ("-0", Some(0)),
            ("2592000", Some(2_593_000)),
            ("2592001", Some(2_592_001)),
            ("2147483648", Some(1)),
            ("4294967301", Some(1005)),
            ("9223372036854775808", None),
            ("x", None),
            ("-", None),
            ("1x", None),
        ] {
            assert_eq!(expires_s(word.as_bytes(), 1000), expected, "{word}");
        }
    }
}
