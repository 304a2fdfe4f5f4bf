//! Headers of HTTP requests: what is taken, and why the others are not.

use bayop_load::header::Header;
use proptest::prelude::*;

fn refusal(text: &str) -> String {
    text.parse::<Header>().expect_err(text).to_string()
}

#[test]
fn a_header_is_a_name_and_a_value_without_the_blanks_around_it() {
    for (text, header) in [
        ("Accept: text/html", "Accept: text/html"),
        ("X-A:b", "X-A: b"),
        ("X_!#$%&'*+.^`|~9:\t a:b\tc \t", "X_!#$%&'*+.^`|~9: a:b\tc"),
        ("Name: caf\u{e9}", "Name: caf\u{e9}"),
        ("Empty:", "Empty: "),
    ] {
        assert_eq!(text.parse::<Header>().unwrap().to_string(), header);
    }
}

#[test]
fn what_is_no_header_is_refused() {
    assert!(refusal("Accept").contains("a header must be a name, a colon and a value"));
    for text in [": v", "two words: v", "Name : v", " Name: v", "N\u{e9}: v", "N\r\nX: v", "(a): v"] {
        assert!(refusal(text).contains("the name of a header must be letters, digits and"), "{text}");
    }
    for text in ["A: b\r\nHost: x", "A: b\n", "A: \0", "A: \u{7f}", "A: \u{85}"] {
        assert!(refusal(text).contains("the value of a header must have no line breaks"), "{text}");
    }
}

#[test]
fn headers_that_frame_the_message_are_the_generators() {
    for (text, why) in [
        ("Content-Length: 5", "leave the length of the body to the generator"),
        ("TRANSFER-ENCODING: chunked", "leave the length of the body to the generator"),
        ("connection: close", "leave it to the generator which connections are kept"),
        ("Expect: 100-continue", "not ask for an interim response"),
    ] {
        assert!(refusal(text).contains(why), "{text}: {}", refusal(text));
    }
}

proptest! {
    #[test]
    fn a_header_that_is_taken_is_one_line(text in any::<String>()) {
        if let Ok(header) = text.parse::<Header>() {
            let line = header.to_string();
            prop_assert!(!line.contains(['\r', '\n', '\0']));
            prop_assert_eq!(line.parse::<Header>(), Ok(header));
        }
    }
}
