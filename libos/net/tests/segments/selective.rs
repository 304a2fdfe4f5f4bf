//! Selective acknowledgments: what came out of order is told, and only what is missing is sent again.

use std::ops::Range;

use libos_net::tcp::Sequence;
use libos_net::wire::tcp::Flags;

use crate::client::{Answer, Client, FIRST};

/// Of segments of a thousand bytes, which ones were sent.
fn segments(answers: &[Answer], first: Sequence) -> Vec<i32> {
    let data = answers.iter().filter(|answer| !answer.payload.is_empty());
    data.map(|answer| answer.sequence.since(first) / 1000).collect()
}

/// Segments `from` to `to` of the stream that begins with `first`.
fn range(first: Sequence, from: u32, to: u32) -> Range<Sequence> {
    first + 1000 * from..first + 1000 * to
}

/// A client with selective acknowledgments whose echo of 40,000 bytes fills the first window. Returns where it begins.
fn selective() -> (Client, Sequence) {
    let mut client = Client { is_selective: true, ..Client::new() };
    let first = client.opens();
    let echo = client.says(Flags::ACK, FIRST + 1, first, &[b'x'; 40_000]);
    assert_eq!(segments(&echo, first), Vec::from_iter(0..10));
    client.next = FIRST + 40_001;
    (client, first)
}

#[test]
fn what_came_out_of_order_is_told_and_the_latest_first() {
    let mut client = Client { is_selective: true, ..Client::new() };
    let first = client.opens();
    let next = FIRST + 1;
    let [told] = &client.says(Flags::ACK, next + 10, first, b"hello")[..] else { panic!("one answer") };
    assert_eq!((told.acknowledgment, &told.selected[..]), (next, &[next + 10..next + 15][..]));
    let [told] = &client.says(Flags::ACK, next + 30, first, b"there")[..] else { panic!("one answer") };
    assert_eq!(told.selected, [next + 30..next + 35, next + 10..next + 15]);
    let [echo, told] = &client.says(Flags::ACK, next, first, b"0123456789")[..] else { panic!("two answers") };
    assert_eq!((&echo.payload[..], &echo.selected[..]), (&b"0123456789hello"[..], &[][..]));
    assert_eq!((told.acknowledgment, &told.selected[..]), (next + 15, &[next + 30..next + 35][..]));
}

#[test]
fn a_client_that_does_not_ask_is_not_told() {
    let mut client = Client::new();
    let first = client.opens();
    let [told] = &client.says(Flags::ACK, FIRST + 11, first, b"hello")[..] else { panic!("one answer") };
    assert_eq!(told.selected, []);
}

#[test]
fn who_claims_what_was_never_sent_has_nothing() {
    let (mut client, first) = selective();
    let around = [first + (1 << 30)..first + u32::MAX, first + 0x7FFF_0000..first + 0xFFFE_FFFF, first + 1..first + 1];
    assert_eq!(client.has(first, &around), []);
    let answers = client.has(first, &[range(first, 1, 9)]);
    assert_eq!(segments(&answers, first)[0], 0, "what is missing in front of what has come goes on to be known");
}

#[test]
fn only_what_is_missing_is_sent_again() {
    let (mut client, first) = selective();
    let mut answers = Vec::new();
    for came in [1..2, 1..3, 4..5, 4..6, 4..7, 4..8, 4..9, 4..10] {
        let selected = [range(first, came.start, came.end), range(first, 1, 3)];
        answers.extend(client.has(first, &selected));
    }
    let sent = segments(&answers, first);
    assert_eq!(sent.iter().filter(|at| **at < 10).collect::<Vec<_>>(), [&0, &3]);
    let newer = client.has(first + 10_000, &[]);
    assert!(segments(&newer, first).iter().all(|at| *at >= 10), "the rest follows");
    assert!(!newer.is_empty());
}

#[test]
fn after_a_timeout_what_has_come_is_left_out() {
    let (mut client, first) = selective();
    assert_eq!(segments(&client.has(first, &[range(first, 4, 6)]), first), [10, 11], "two have left the network");
    assert_eq!(segments(&client.waits(300_000), first), [0]);
    assert_eq!(segments(&client.has(first + 1000, &[]), first), [1, 2]);
    assert_eq!(segments(&client.has(first + 3000, &[]), first), [3, 6, 7]);
}

#[test]
fn a_client_that_drops_what_it_had_gets_it_again() {
    let (mut client, first) = selective();
    client.has(first, &[range(first, 1, 10)]);
    client.has(first + 1000, &[]);
    let again = client.waits(300_000);
    assert_eq!(segments(&again, first), [1]);
}

#[test]
fn who_has_what_was_never_sent_is_not_believed() {
    for (start, end) in [(20_000, 30_000), (5000, 4000), (-3000, 5000), (0, 5000)] {
        let (mut client, first) = selective();
        let lie = first + start as u32..first + end as u32;
        assert_eq!(segments(&client.has(first, &[lie]), first), []);
        assert_eq!(segments(&client.waits(300_000), first), [0]);
        assert_eq!(segments(&client.has(first + 1000, &[]), first), [1, 2]);
    }
}

#[test]
fn what_comes_out_of_order_after_our_fin_counts_too() {
    let mut client = Client { is_selective: true, ..Client::new() };
    let first = client.opens();
    client.says(Flags::ACK, FIRST + 1, first, b"!");
    let (next, acknowledged) = (FIRST + 2, first + 2);
    let [told] = &client.says(Flags::ACK, next + 10, acknowledged, b"hello")[..] else { panic!("one answer") };
    assert_eq!((told.acknowledgment, &told.selected[..]), (next, &[next + 10..next + 15][..]));
    client.says(Flags::ACK | Flags::FIN, next + 20, acknowledged, b"");
    let [told] = &client.says(Flags::ACK, next, acknowledged, b"0123456789")[..] else { panic!("one answer") };
    assert_eq!((told.acknowledgment, &told.selected[..]), (next + 15, &[][..]));
    let [told] = &client.says(Flags::ACK, next + 15, acknowledged, b"there")[..] else { panic!("one answer") };
    assert_eq!((told.acknowledgment, &told.selected[..]), (next + 21, &[][..]));
}

#[test]
fn what_lies_beyond_a_fin_is_not_told() {
    let mut client = Client { is_selective: true, ..Client::new() };
    let first = client.opens();
    let next = FIRST + 1;
    client.says(Flags::ACK, next + 10, first, b"hello");
    let answers = client.says(Flags::ACK | Flags::FIN, next, first, b"");
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|told| told.acknowledgment == next + 1 && told.selected.is_empty()), "{answers:?}");
}
