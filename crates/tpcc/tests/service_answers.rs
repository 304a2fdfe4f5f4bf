//! What is answered to which bytes.

mod common;

use bayop_tpcc::Scale;
use bayop_tpcc::service::protocol::{Garbage, MOST_BODY_BYTES, Request};
use bayop_tpcc::service::{Answered, Counts, Service, answer, populate};
use common::opcode::{GET, NOOP, QUIT, SET, STAT, VERSION};
use common::{Answer, answers, length, request};
use proptest::prelude::*;

const SCALE: Scale = Scale { warehouses: 1, customers: 1_000, items: 1_000 };
const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Has a service answer some bytes that come in pieces; its answers, how it ended, and what is left of the bytes.
fn answered<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Answer>, Answered, Vec<u8>) {
    let counts = Counts::default();
    let (database, mut terminals) = populate(SCALE, 1, 1, 0);
    let mut service = Service::new(&database, 0, terminals.remove(0), &counts, || panic!("nobody is in the way"));
    let (mut input, mut output, mut end) = (Vec::new(), Vec::new(), Answered::Nothing);
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            end = answer(&input, &mut service, 1, |bytes| output.extend_from_slice(bytes));
            let Answered::Request(len) = end else { break };
            input.drain(..len);
        }
        if end == Answered::Last {
            break;
        }
    }
    (answers(&output), end, input)
}

fn done(opcode: u8, opaque: u32, key: &str, value: &str) -> Answer {
    Answer { opcode, status: 0, opaque, key: key.to_owned(), value: value.to_owned() }
}

#[test]
fn each_get_is_a_transaction_and_statistics_count_them() {
    let gets: Vec<u8> = (0..2_000).flat_map(|opaque| request(GET, "any", opaque)).chain(request(STAT, "", 9)).collect();
    let (mut found, end, left) = answered([&gets[..]]);
    assert_eq!((end, &left[..]), (Answered::Nothing, &b""[..]));
    let stats = found.split_off(2_000);
    let ended = |kind: &str, how: &str| found.iter().filter(|answer| answer.value == format!("{kind} {how}")).count();
    for (opaque, answer) in (0..).zip(&found) {
        assert_eq!((answer.opcode, answer.status, answer.opaque, &answer.key[..]), (GET, 0, opaque, ""));
    }
    let rolled_back = ended("new_order", "rolled back");
    assert!((1..60).contains(&rolled_back), "clause 2.4.1.4: one new order in a hundred, of {rolled_back}");
    let mut rows: Vec<(&str, usize)> = KINDS.map(|kind| (kind, ended(kind, "committed"))).to_vec();
    rows[0].1 += rolled_back;
    assert_eq!(rows.iter().map(|row| row.1).sum::<usize>(), 2_000);
    assert!((800..1_000).contains(&rows[0].1), "clause 5.2.3: 45 % are new orders: {rows:?}");
    rows.extend([("rolled_back", rolled_back), ("conflicts", 0)]);
    let mut expected: Vec<Answer> = rows.iter().map(|(name, count)| done(STAT, 9, name, &count.to_string())).collect();
    expected.push(done(STAT, 9, "", ""));
    assert_eq!(stats, expected);
}

#[test]
fn who_asks_learns_whether_the_database_is_consistent() {
    let bytes: Vec<u8> = (0..500).flat_map(|opaque| request(GET, "any", opaque)).collect();
    let (found, _, _) = answered([&bytes[..], &request(STAT, "consistency", 9)]);
    assert_eq!(found[500..], [done(STAT, 9, "violations", "0"), done(STAT, 9, "", "")]);
}

#[test]
fn what_is_no_transaction_is_answered_too() {
    let bytes = [request(NOOP, "", 1), request(VERSION, "", 2), request(QUIT, "", 3), request(NOOP, "", 4)].concat();
    let (found, end, _) = answered([&bytes[..]]);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(found, [done(NOOP, 1, "", ""), done(VERSION, 2, "", version), done(QUIT, 3, "", "")]);
    assert_eq!(end, Answered::Last, "nothing is answered after a QUIT");
}

#[test]
fn what_is_refused_is_said_and_the_connection_goes_on_where_it_can() {
    let long = "k".repeat(251);
    let mut with_extras = request(GET, "k\0\0\0\0", 3);
    (with_extras[3], with_extras[4]) = (1, 4);
    let mut endless = request(SET, "", 6);
    endless[8..12].copy_from_slice(&(MOST_BODY_BYTES as u32 + 1).to_be_bytes());
    let bytes = [
        request(SET, "key", 0),
        request(GET, "", 1),
        request(GET, &long, 2),
        with_extras,
        request(NOOP, "key", 4),
        request(STAT, "slabs", 5),
        endless,
        request(NOOP, "", 7),
    ]
    .concat();
    let (found, end, _) = answered([&bytes[..]]);
    let refused = |answer: &Answer| (answer.opaque, answer.status, answer.value.clone());
    let expected = [
        (0, 0x81, "Unknown command"),
        (1, 0x04, "Invalid arguments"),
        (2, 0x04, "Invalid arguments"),
        (3, 0x04, "Invalid arguments"),
        (4, 0x04, "Invalid arguments"),
        (5, 0x04, "Invalid arguments"),
        (6, 0x03, "Too large"),
    ];
    let expected = expected.map(|(opaque, status, reason)| (opaque, status, reason.to_owned()));
    assert_eq!(found.iter().map(refused).collect::<Vec<_>>(), expected);
    assert_eq!(end, Answered::Last, "where the next request begins can not be told");
}

#[test]
fn garbage_ends_the_connection_after_the_answers_before_it() {
    let bytes = [request(NOOP, "", 1), b"get key\r\n".to_vec()].concat();
    let (found, end, _) = answered([&bytes[..]]);
    assert_eq!((&found[..], end), (&[done(NOOP, 1, "", "")][..], Answered::Last));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn answers_do_not_depend_on_how_the_bytes_arrive(
        requests in prop::collection::vec((prop::sample::select(vec![GET, NOOP, SET, STAT]), "[a-z]{0,3}"), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let bytes: Vec<u8> = (0..).zip(&requests).flat_map(|(opaque, (opcode, key))| request(*opcode, key, opaque)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).chain([0, bytes.len()]).collect();
        cuts.sort_unstable();
        let whole = answered([&bytes[..]]);
        prop_assert_eq!(answered(cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]])), whole);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_request_or_its_beginning_or_garbage(
        header in prop::collection::vec(any::<u8>(), 0..40),
        is_request in any::<bool>(),
        body_bytes in prop::option::of(0_u32..40),
    ) {
        let mut bytes = header;
        if is_request && !bytes.is_empty() {
            bytes[0] = 0x80;
        }
        if let Some((body_bytes, room)) = body_bytes.zip(bytes.get_mut(8..12)) {
            room.copy_from_slice(&body_bytes.to_be_bytes());
        }
        match Request::parse(&bytes) {
            Err(Garbage) => prop_assert_ne!(bytes[0], 0x80),
            Ok(None) => prop_assert!(bytes.first_chunk().is_none_or(|header| bytes.len() < length(header))),
            Ok(Some(request)) => {
                prop_assert!((24..=bytes.len()).contains(&request.len));
                prop_assert_eq!(Request::parse(&bytes[..request.len]), Ok(Some(request)));
                prop_assert!((1..24).all(|len| Request::parse(&bytes[..len]) == Ok(None)));
            }
        }
    }
}
