//! Packets and their answers, whole and in pieces.

use proptest::prelude::*;

use super::super::Session;
use super::super::client::Client;
use super::super::store::MAX_VALUE_LEN;
use super::*;

extern crate std;

#[derive(Debug, Eq, PartialEq)]
struct Answer {
    opcode: u8,
    status: u16,
    extras: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
    opaque: u32,
    unique: u64,
}

impl Client {
    fn asks(&mut self, opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<Answer> {
        self.asks_if(opcode, 0, extras, key, value)
    }

    fn asks_if(&mut self, opcode: u8, unique: u64, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<Answer> {
        answers(&self.send(&packet(opcode, unique, extras, key, value)))
    }

    /// The status of the one answer.
    fn status(&mut self, opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> u16 {
        let answers = self.asks(opcode, extras, key, value);
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers[0].status
    }
}

fn packet(opcode: u8, unique: u64, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = std::vec![REQUEST, opcode];
    bytes.extend((key.len() as u16).to_be_bytes());
    bytes.extend([extras.len() as u8, 0, 0, 0]);
    bytes.extend(((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
    bytes.extend(0xDEAD_BEEF_u32.to_be_bytes());
    bytes.extend(unique.to_be_bytes());
    [&bytes, extras, key, value].concat()
}

fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<24>() {
        assert_eq!((header[0], header[5]), (0x81, 0));
        let key_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let body_len = u32::from_be_bytes(header[8..12].try_into().unwrap()) as usize;
        let (body, next) = rest.split_at(body_len);
        let (extras, body) = body.split_at(usize::from(header[4]));
        let (key, value) = body.split_at(key_len);
        answers.push(Answer {
            opcode: header[1],
            status: u16::from_be_bytes([header[6], header[7]]),
            extras: extras.to_vec(),
            key: key.to_vec(),
            value: value.to_vec(),
            opaque: u32::from_be_bytes(header[12..16].try_into().unwrap()),
            unique: u64::from_be_bytes(header[16..].try_into().unwrap()),
        });
        bytes = next;
    }
    assert!(bytes.is_empty());
    answers
}

fn storing(flags: u32, time_s: u32) -> Vec<u8> {
    [flags.to_be_bytes(), time_s.to_be_bytes()].concat()
}

fn adding(delta: u64, first: u64, time_s: u32) -> Vec<u8> {
    [&delta.to_be_bytes()[..], &first.to_be_bytes(), &time_s.to_be_bytes()].concat()
}

#[test]
fn an_item_is_stored_and_shown() {
    let mut client = Client::new();
    let answer = |opcode, extras: &[u8], key: &[u8], value: &[u8], unique| {
        let (extras, key, value) = (extras.to_vec(), key.to_vec(), value.to_vec());
        std::vec![Answer { opcode, status: 0, extras, key, value, opaque: 0xDEAD_BEEF, unique }]
    };
    assert_eq!(client.asks(0x01, &storing(5, 0), b"a", b"abc"), answer(0x01, b"", b"", b"", 1));
    assert_eq!(client.asks(0x00, b"", b"a", b""), answer(0x00, &[0, 0, 0, 5], b"", b"abc", 1));
    assert_eq!(client.asks(0x0D, b"", b"a", b""), answer(0x0D, &[0, 0, 0, 5], b"a", b"abc", 1));
    let missing = client.asks(0x0C, b"", b"b", b"");
    assert_eq!((missing[0].status, &missing[0].key[..], &missing[0].value[..]), (1, &b"b"[..], &b""[..]));
    assert_eq!(client.asks(0x00, b"", b"b", b"")[0].value, b"Not found");
}

#[test]
fn who_is_quiet_hears_of_what_is_not_as_expected_alone() {
    let mut client = Client::new();
    assert_eq!(client.asks(0x09, b"", b"a", b""), []);
    assert_eq!(client.asks(0x11, &storing(0, 0), b"a", b"1"), []);
    assert_eq!(client.status(0x12, &storing(0, 0), b"a", b"2"), 2);
    assert_eq!(client.asks(0x15, &adding(2, 0, 0), b"a", b""), []);
    assert_eq!(client.asks(0x09, b"", b"a", b"")[0].value, b"3");
    assert_eq!(client.asks(0x14, b"", b"a", b""), []);
    assert_eq!(client.status(0x14, b"", b"a", b""), 1);
    assert_eq!(client.asks(0x18, b"", b"", b""), []);
    assert_eq!(client.asks(0x17, b"", b"", b""), []);
    assert!(client.is_closed);
}

#[test]
fn each_verb_says_what_it_found() {
    let mut client = Client::new();
    assert_eq!(client.status(0x03, &storing(0, 0), b"a", b"x"), 1);
    assert_eq!(client.status(0x0E, b"", b"a", b"x"), 5);
    assert_eq!(client.status(0x02, &storing(0, 0), b"a", b"x"), 0);
    assert_eq!(client.status(0x02, &storing(0, 0), b"a", b"x"), 2);
    assert_eq!(client.status(0x0E, b"", b"a", b"y"), 0);
    assert_eq!(client.status(0x0F, b"", b"a", b"-"), 0);
    assert_eq!(client.asks(0x00, b"", b"a", b"")[0].value, b"-xy");
    assert_eq!(client.status(0x05, &adding(1, 0, 0), b"a", b""), 6);
    assert_eq!(client.status(0x04, b"", b"a", b""), 0);
    assert_eq!(client.asks(0x0B, b"", b"", b"")[0].value, VERSION.as_bytes());
    assert_eq!(client.status(0x0A, b"", b"", b""), 0);
    assert_eq!(client.status(0x55, b"xx", b"k", b"v"), 0x81);
    assert_eq!(client.status(0x0A, b"", b"", b""), 0);
}

#[test]
fn a_unique_number_is_a_condition_of_every_change() {
    let mut client = Client::new();
    let unique = client.asks(0x01, &storing(0, 0), b"a", b"1")[0].unique;
    for (opcode, extras) in [(0x01, storing(0, 0)), (0x0E, std::vec![]), (0x05, adding(1, 0, 0)), (0x04, std::vec![])] {
        let value: &[u8] = if matches!(opcode, 0x01 | 0x0E) { b"2" } else { b"" };
        assert_eq!(client.asks_if(opcode, unique + 9, &extras, b"a", value)[0].status, 2, "{opcode}");
    }
    let sum = client.asks_if(0x05, unique, &adding(4, 0, 0), b"a", b"");
    assert_eq!((sum[0].status, &sum[0].value[..]), (0, &5_u64.to_be_bytes()[..]));
    assert_eq!(client.asks_if(0x04, sum[0].unique, b"", b"a", b"")[0].status, 0);
    assert_eq!(client.asks_if(0x01, 3, &storing(0, 0), b"a", b"x")[0].status, 1);
}

#[test]
fn a_number_that_is_not_there_is_made_unless_its_expiry_says_no() {
    let mut client = Client::new();
    assert_eq!(client.status(0x05, &adding(1, 7, u32::MAX), b"n", b""), 1);
    assert_eq!(client.asks(0x06, &adding(1, 7, 0), b"n", b"")[0].value, 7_u64.to_be_bytes());
    assert_eq!(client.asks(0x06, &adding(9, 7, 0), b"n", b"")[0].value, 0_u64.to_be_bytes());
}

#[test]
fn items_are_gone_when_their_time_has_come() {
    let mut client = Client::new();
    client.asks(0x01, &storing(3, 5), b"a", b"x");
    let touched = client.asks(0x1C, &60_u32.to_be_bytes(), b"a", b"");
    assert_eq!((touched[0].status, &touched[0].extras[..]), (0, &[0, 0, 0, 3][..]));
    client.now_us = 50_000_000;
    assert_eq!(client.asks(0x1D, &100_u32.to_be_bytes(), b"a", b"")[0].value, b"x");
    client.now_us = 149_000_000;
    assert_eq!(client.status(0x00, b"", b"a", b""), 0);
    assert_eq!(client.status(0x08, &10_u32.to_be_bytes(), b"", b""), 0);
    client.now_us = 160_000_000;
    assert_eq!(client.asks(0x1E, &1_u32.to_be_bytes(), b"a", b""), []);
    assert_eq!(client.status(0x1C, &1_u32.to_be_bytes(), b"a", b""), 1);
}

#[test]
fn statistics_end_with_an_empty_answer() {
    let mut client = Client::new();
    client.asks(0x01, &storing(0, 0), b"a", b"x");
    let stats = client.asks(0x10, b"", b"", b"");
    assert!(stats.iter().any(|stat| stat.key == b"curr_items" && stat.value == b"1"));
    assert!(stats.last().is_some_and(|last| last.key.is_empty() && last.value.is_empty()));
    let settings = client.asks(0x10, b"", b"settings", b"");
    assert!(settings.iter().any(|stat| stat.key == b"cas_enabled" && stat.value == b"yes"));
    assert_eq!(client.asks(0x10, b"", b"items", b"").len(), 1, "there are no slab classes");
    assert_eq!(client.status(0x10, b"", b"nothing", b""), 1);
    assert_eq!(client.status(0x10, b"", b"reset", b""), 0);
}

#[test]
fn wrong_lengths_end_the_connection() {
    for wrong in [
        packet(0x00, 0, b"xxxx", b"k", b""),
        packet(0x00, 0, b"", b"", b""),
        packet(0x01, 0, b"", b"k", b"v"),
        packet(0x04, 0, b"", b"k", b"v"),
        packet(0x0A, 0, b"", b"k", b""),
        packet(0x00, 0, b"", &[b'k'; 251], b""),
    ] {
        let mut client = Client::new();
        assert_eq!(answers(&client.send(&wrong))[0].status, 4, "{wrong:?}");
        assert!(client.is_closed);
    }
    let mut client = Client::new();
    assert_eq!(client.status(0x0A, b"", b"", b""), 0);
    assert_eq!(client.send(&[b'g'; 24]), b"");
    assert!(client.is_closed);
}

#[test]
fn a_value_that_is_too_large_is_passed_over() {
    let mut client = Client::new();
    let largest = std::vec![b'v'; MAX_VALUE_LEN];
    assert_eq!(client.status(0x01, &storing(0, 0), b"a", &largest), 0);
    assert_eq!(client.asks(0x00, b"", b"a", b"")[0].value, largest);
    assert_eq!(client.status(0x01, &storing(0, 0), b"a", &[&largest[..], b"x"].concat()), 3);
    assert_eq!(client.status(0x00, b"", b"a", b""), 1);
    for opcode in [0x02, 0x03, 0x0E, 0x0F] {
        assert_eq!(client.status(0x01, &storing(0, 0), b"a", b"v"), 0);
        let extras: &[u8] = if opcode < 0x0E { &storing(0, 0) } else { b"" };
        assert_eq!(client.status(opcode, extras, b"a", &[&largest[..], b"x"].concat()), 3);
        assert_eq!(client.asks(0x00, b"", b"a", b"")[0].value, b"v", "{opcode:#x}");
    }
}

#[test]
fn an_announcement_alone_reserves_little() {
    let mut client = Client::new();
    client.send(&packet(0x01, 0, &storing(0, 0), b"a", &std::vec![b'v'; MAX_VALUE_LEN])[..100]);
    let Session(super::super::Protocol::Binary(Expects::Body(partial))) = &client.session else {
        panic!("{:?}", client.session)
    };
    assert!(partial.body.capacity() <= RESERVED_BYTES, "{}", partial.body.capacity());
}

fn packets() -> impl Strategy<Value = Vec<u8>> {
    let key = prop::collection::vec(b'a'..b'd', 1..3);
    let one = prop_oneof![
        (
            prop::sample::select(&[0x01_u8, 0x02, 0x03, 0x11][..]),
            key.clone(),
            prop::collection::vec(any::<u8>(), 0..300)
        )
            .prop_map(|(opcode, key, value)| packet(opcode, 0, &storing(1, 0), &key, &value)),
        (prop::sample::select(&[0x00_u8, 0x09, 0x0C, 0x0D, 0x04, 0x14][..]), key.clone())
            .prop_map(|(opcode, key)| packet(opcode, 0, b"", &key, b"")),
        (prop::sample::select(&[0x05_u8, 0x06, 0x15][..]), key.clone(), any::<u64>())
            .prop_map(|(opcode, key, delta)| packet(opcode, 0, &adding(delta, 3, 0), &key, b"")),
        (any::<u8>(), key).prop_map(|(opcode, key)| packet(opcode, 0, b"", &key, b"")),
        Just(packet(0x0A, 0, b"", b"", b"")),
        Just(packet(0x0E, 0, b"", b"a", &[b'v'; 70_000])),
    ];
    prop::collection::vec(one, 0..12).prop_map(|packets| packets.concat())
}

proptest! {
    #[test]
    fn pieces_are_answered_like_the_whole(
        input in packets(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let whole = Client::new().send(&input);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let mut client = Client::new();
        let pieces: Vec<u8> = cuts.windows(2).flat_map(|ends| client.send(&input[ends[0]..ends[1]])).collect();
        prop_assert_eq!(pieces, whole);
    }

    #[test]
    fn foreign_bytes_are_answered(input in prop::collection::vec(any::<u8>(), 0..4000)) {
        let mut client = Client::new();
        client.send(&[&[REQUEST], &input[..]].concat());
        prop_assert!(client.is_closed || client.kept.len() <= WHOLE_LEN + HEADER_LEN);
    }
}

#[test]
fn numbers_are_read_as_by_the_text_protocol() {
    let mut client = Client::new();
    for (value, sum) in [(&b" 1"[..], 2_u64), (b"+5", 6), (b"1                     ", 2)] {
        assert_eq!(client.status(0x01, &storing(0, 0), b"a", value), 0);
        assert_eq!(client.asks(0x05, &adding(1, 0, 0), b"a", b"")[0].value, sum.to_be_bytes());
    }
}

#[test]
fn a_value_that_would_grow_too_large_is_not_stored() {
    let mut client = Client::new();
    let half = std::vec![b'v'; MAX_VALUE_LEN / 2 + 1];
    assert_eq!(client.status(0x01, &storing(0, 0), b"a", &half), 0);
    assert_eq!([0x0E, 0x0F].map(|opcode| client.status(opcode, b"", b"a", &half)), [5, 5]);
    assert_eq!(client.asks(0x00, b"", b"a", b"")[0].value, half);
}
