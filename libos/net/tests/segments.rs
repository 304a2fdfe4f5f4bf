//! Segment by segment: what no well-meaning TCP sends.

mod support;

use std::ops::Range;

use proptest::prelude::*;

use libos_net::stack::Stack;
use libos_net::tcp::Sequence;
use libos_net::wire::ethernet::{self, EtherType};
use libos_net::wire::tcp::{self, Flags, Segment};
use libos_net::wire::{arp, ipv4};
use support::{ADDRESS, Echo, MAC, MAX_CONNECTIONS, PORT, Sent, receive, stack};

const THEIR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const START: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
const FIRST: Sequence = Sequence(u32::MAX - 5);
const SECOND_US: u64 = 1_000_000;

/// A client that says whatever it is told to.
struct Client {
    address: [u8; 4],
    port: u16,
    is_selective: bool,
    /// The number of what it says with `has`.
    next: Sequence,
    now_us: u64,
    stack: Stack<Echo>,
    sent: Sent,
}

/// What a stack sent, without its headers below TCP.
#[derive(Debug, PartialEq)]
struct Answer {
    port: u16,
    sequence: Sequence,
    acknowledgment: Sequence,
    flags: Flags,
    window: u16,
    selected: Vec<Range<Sequence>>,
    payload: Vec<u8>,
}

impl Client {
    fn new() -> Client {
        Client {
            address: [10, 0, 0, 9],
            port: 1000,
            is_selective: false,
            next: FIRST + 1,
            now_us: 0,
            stack: stack(),
            sent: Sent::default(),
        }
    }

    fn says(&mut self, flags: Flags, sequence: Sequence, acknowledgment: Sequence, payload: &[u8]) -> Vec<Answer> {
        self.says_with_window(flags, sequence, acknowledgment, payload, 60_000)
    }

    fn says_with_window(
        &mut self,
        flags: Flags,
        sequence: Sequence,
        acknowledgment: Sequence,
        payload: &[u8],
        window: u16,
    ) -> Vec<Answer> {
        self.sends(Segment { window, ..self.segment(flags, sequence, acknowledgment, payload) })
    }

    /// Has all before `acknowledgment`, and these ranges.
    fn has(&mut self, acknowledgment: Sequence, ranges: &[Range<Sequence>]) -> Vec<Answer> {
        let mut blocks = vec![[0; tcp::BLOCK_LEN]; ranges.len()];
        for (block, range) in blocks.iter_mut().zip(ranges) {
            tcp::write_block(range, block);
        }
        let segment = self.segment(Flags::ACK, self.next, acknowledgment, &[]);
        self.sends(Segment { blocks: blocks.as_flattened(), ..segment })
    }

    fn segment<'a>(
        &self,
        flags: Flags,
        sequence: Sequence,
        acknowledgment: Sequence,
        payload: &'a [u8],
    ) -> Segment<'a> {
        Segment {
            source_port: self.port,
            destination_port: PORT,
            sequence,
            acknowledgment,
            flags,
            window: 60_000,
            max_segment_size: flags.has(Flags::SYN).then_some(1000),
            window_scale: None,
            is_selective: flags.has(Flags::SYN) && self.is_selective,
            blocks: &[],
            payload,
        }
    }

    fn sends(&mut self, segment: Segment) -> Vec<Answer> {
        let len = segment.header_len() + segment.payload.len();
        let mut frame = vec![0; START + len];
        let header = ethernet::Header { destination: MAC, source: THEIR_MAC, kind: EtherType::Ipv4 };
        ethernet::write(&header, &mut frame);
        let ip = ipv4::Header { source: self.address, destination: ADDRESS, protocol: ipv4::TCP };
        ipv4::write(&ip, len, &mut frame[ethernet::HEADER_LEN..]);
        tcp::write(&segment, &mut frame[START..]);
        tcp::write_checksum(&mut frame[START..], self.address, ADDRESS, false);
        receive(&mut self.stack, self.now_us, &frame, &mut self.sent);
        self.answers()
    }

    /// Lets time pass, timer by timer.
    fn waits(&mut self, duration_us: u64) -> Vec<Answer> {
        let end_us = self.now_us + duration_us;
        while self.stack.next_us() <= end_us {
            self.now_us = self.stack.next_us();
            self.stack.expire(self.now_us, &mut self.sent);
        }
        self.now_us = end_us;
        self.answers()
    }

    fn answers(&mut self) -> Vec<Answer> {
        let frames: Vec<_> = self.sent.frames.drain(..).collect();
        let answer = |frame: &Vec<u8>| {
            let (ethernet, packet) = ethernet::parse(frame).unwrap();
            let (ip, payload) = ipv4::parse(packet, false).unwrap();
            let segment = tcp::parse(payload, ip.source, ip.destination, false).expect("a right checksum");
            assert_eq!((ethernet.destination, segment.source_port), (THEIR_MAC, PORT));
            Answer {
                port: segment.destination_port,
                sequence: segment.sequence,
                acknowledgment: segment.acknowledgment,
                flags: segment.flags,
                window: segment.window,
                selected: segment.selected().collect(),
                payload: segment.payload.to_vec(),
            }
        };
        frames.iter().map(answer).collect()
    }

    /// Opens a connection. Returns the number that our side begins with, after its SYN.
    fn opens(&mut self) -> Sequence {
        let [syn] = &self.says(Flags::SYN, FIRST, Sequence(0), &[])[..] else { panic!("one answer") };
        assert_eq!((syn.flags, syn.acknowledgment), (Flags::SYN | Flags::ACK, FIRST + 1));
        let first = syn.sequence + 1;
        assert_eq!(self.says(Flags::ACK, FIRST + 1, first, &[]), []);
        first
    }
}

#[test]
fn a_connection_from_syn_to_time_wait() {
    let mut client = Client::new();
    let first = client.opens();
    assert_eq!(client.stack.service().open, 1);
    let [echo] = &client.says(Flags::ACK | Flags::PSH, FIRST + 1, first, b"hello")[..] else { panic!("one answer") };
    assert_eq!((echo.sequence, echo.acknowledgment, &echo.payload[..]), (first, FIRST + 6, &b"hello"[..]));
    let fin = client.says(Flags::ACK, FIRST + 6, first + 5, b"!");
    assert_eq!(fin[0].flags, Flags::FIN | Flags::ACK | Flags::PSH);
    client.says(Flags::ACK | Flags::FIN, FIRST + 7, first + 7, &[]);
    assert_eq!((client.stack.connections(), client.stack.service().open), (1, 1), "it is remembered");
    client.waits(61 * SECOND_US);
    assert_eq!((client.stack.connections(), client.stack.service().open), (0, 0));
}

#[test]
fn what_is_not_acknowledged_is_sent_again_ever_later_and_then_given_up() {
    let mut client = Client::new();
    let first = client.opens();
    client.says(Flags::ACK, FIRST + 1, first, b"x");
    let again = client.waits(3600 * SECOND_US);
    assert_eq!(again.len(), 10);
    assert!(again.iter().all(|answer| answer.payload == b"x" && answer.sequence == first));
    assert_eq!(client.stack.connections(), 0);
}

#[test]
fn an_acknowledgment_waits_for_something_to_go_with_but_not_long() {
    let mut client = Client::new();
    let first = client.opens();
    // The client's window is closed: the echo can't leave.
    assert_eq!(client.says_with_window(Flags::ACK, FIRST + 1, first, b"x", 0), []);
    let late = client.waits(50_000);
    assert_eq!((late.len(), late[0].acknowledgment), (1, FIRST + 2));
    let probes = client.waits(10 * SECOND_US);
    assert!((2..=6).contains(&probes.len()), "{}", probes.len());
    assert!(probes.iter().all(|probe| probe.payload == b"x"));
}

#[test]
fn a_probe_that_was_refused_is_sent_again_when_the_window_opens() {
    let mut client = Client::new();
    let first = client.opens();
    assert_eq!(client.says_with_window(Flags::ACK, FIRST + 1, first, b"hello", 0), []);
    client.waits(50_000); // the acknowledgment
    let probes = client.waits(300_000);
    assert_eq!((probes.len(), probes[0].sequence, &probes[0].payload[..]), (1, first, &b"h"[..]));
    assert_eq!(client.says_with_window(Flags::ACK, FIRST + 6, first, &[], 0), []);
    let [echo] = &client.says(Flags::ACK, FIRST + 6, first, &[])[..] else { panic!("one answer") };
    assert_eq!((echo.sequence, &echo.payload[..]), (first, &b"hello"[..]));
    let again = client.waits(5 * SECOND_US);
    assert!(again[0].sequence == first && again[0].payload == b"hello", "a new timer runs for it");
    assert_eq!(client.says(Flags::ACK, FIRST + 6, first + 5, &[]), []);
    assert_eq!(client.waits(60 * SECOND_US), []);
}

#[test]
fn a_timer_that_never_comes_wakes_nobody() {
    let mut client = Client::new();
    client.opens();
    client.waits(2 * SECOND_US); // the one of the handshake
    let end_us = client.now_us + 600 * SECOND_US;
    let mut wakes = 0;
    while client.stack.next_us() <= end_us {
        client.waits(client.stack.next_us() - client.now_us);
        wakes += 1;
    }
    assert_eq!(wakes, 30, "the keep-alive's, once a minute, through three levels of the wheel");
}

#[test]
fn a_client_that_has_gone_is_asked_and_then_forgotten() {
    let mut client = Client::new();
    let first = client.opens();
    assert_eq!(client.waits(7190 * SECOND_US), []);
    let asked = client.waits(15 * SECOND_US + 9 * 75 * SECOND_US + SECOND_US);
    assert_eq!(asked.len(), 9);
    assert!(asked.iter().all(|answer| answer.sequence == first - 1 && answer.flags == Flags::ACK));
    assert_eq!(client.stack.connections(), 0);
}

#[test]
fn a_client_that_answers_stays() {
    let mut client = Client::new();
    let first = client.opens();
    for _ in 0..3 {
        assert_eq!(client.waits(7201 * SECOND_US).len(), 1);
        assert_eq!(client.says(Flags::ACK, FIRST + 1, first, &[]), []);
    }
    assert_eq!(client.stack.connections(), 1);
}

#[test]
fn a_reset_is_believed_at_the_next_number_only() {
    let mut client = Client::new();
    let first = client.opens();
    let doubt = client.says(Flags::RST, FIRST + 2, Sequence(0), &[]);
    assert_eq!((doubt.len(), doubt[0].flags, doubt[0].acknowledgment), (1, Flags::ACK, FIRST + 1));
    assert_eq!(client.says(Flags::RST, FIRST + 1 + (1 << 20), Sequence(0), &[]), []);
    let doubt = client.says(Flags::SYN, FIRST + 1, first, &[]);
    assert_eq!((doubt.len(), doubt[0].flags), (1, Flags::ACK));
    assert_eq!(client.stack.connections(), 1);
    client.says(Flags::RST, FIRST + 1, Sequence(0), &[]);
    assert_eq!((client.stack.connections(), client.stack.service().open), (0, 0));
}

#[test]
fn a_stranger_is_reset_and_never_a_reset() {
    let mut client = Client::new();
    let reset = client.says(Flags::ACK, FIRST, Sequence(77), b"what");
    assert_eq!((reset[0].flags, reset[0].sequence), (Flags::RST, Sequence(77)));
    let reset = client.says(Flags::FIN, FIRST, Sequence(0), b"what");
    assert_eq!((reset[0].flags, reset[0].acknowledgment), (Flags::RST | Flags::ACK, FIRST + 5));
    assert_eq!(client.says(Flags::RST | Flags::ACK, FIRST, Sequence(77), &[]), []);
    assert_eq!(client.stack.connections(), 0);
}

#[test]
fn a_flood_of_syns_does_not_lock_others_out() {
    let mut client = Client::new();
    for number in 0..20_000u32 {
        client.address = (0x0B00_0000 + number).to_be_bytes();
        assert_eq!(client.says(Flags::SYN, FIRST, Sequence(0), &[]).len(), 1);
    }
    assert!(client.stack.connections() <= 1025, "{}", client.stack.connections());
    client.address = [10, 0, 0, 9];
    let first = client.opens();
    assert_eq!(client.says(Flags::ACK, FIRST + 1, first, b"x").len(), 1);
    client.waits(120 * SECOND_US);
    assert_eq!(client.stack.service().open, 1);
}

#[test]
fn there_are_only_so_many_connections() {
    let mut client = Client::new();
    for port in 0..MAX_CONNECTIONS as u16 + 10 {
        client.port = port;
        if client.stack.connections() < MAX_CONNECTIONS {
            client.opens();
        } else {
            assert_eq!(client.says(Flags::SYN, FIRST, Sequence(0), &[]), []);
        }
    }
    client.port = 3;
    client.says(Flags::RST, FIRST + 1, Sequence(0), &[]);
    client.opens();
}

#[test]
fn a_port_is_used_again_after_its_last_connection() {
    let mut client = Client::new();
    for _ in 0..50 {
        let first = client.opens();
        client.says(Flags::ACK, FIRST + 1, first, b"!");
        client.says(Flags::ACK | Flags::FIN, FIRST + 2, first + 2, &[]);
        assert_eq!(client.stack.connections(), 1);
    }
}

#[test]
fn a_device_without_room_is_tried_again() {
    let mut client = Client::new();
    let first = client.opens();
    client.sent.room = Some(0);
    assert_eq!(client.says(Flags::ACK, FIRST + 1, first, b"x"), []);
    assert_eq!(client.waits(5_000), []);
    client.sent.room = None;
    assert_eq!(client.waits(5_000).len(), 1);
}

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
fn who_has_our_address_is_told_and_who_pings_hears_an_echo() {
    let (mut stack, mut sent) = (stack(), Sent::default());
    let question = arp::Message { is_request: true, sender: (THEIR_MAC, [10, 0, 0, 9]), target: ([0; 6], ADDRESS) };
    let header = ethernet::Header { destination: ethernet::BROADCAST, source: THEIR_MAC, kind: EtherType::Arp };
    let mut frame = vec![0; ethernet::HEADER_LEN + arp::LEN];
    ethernet::write(&header, &mut frame);
    arp::write(&question, &mut frame[ethernet::HEADER_LEN..]);
    receive(&mut stack, 0, &frame, &mut sent);
    let answer = arp::parse(&sent.frames.pop_front().unwrap()[ethernet::HEADER_LEN..]).unwrap();
    assert_eq!((answer.is_request, answer.sender, answer.target.0), (false, (MAC, ADDRESS), THEIR_MAC));

    // An echo request, its checksum, identifier 1, sequence 2.
    let mut ping = [8, 0, 0, 0, 0, 1, 0, 2, 0x68, 0x68];
    let sum = libos_net::wire::Checksum::default().with(&ping).bytes();
    ping[2..4].copy_from_slice(&sum);
    let mut frame = vec![0; START];
    ethernet::write(&ethernet::Header { destination: MAC, kind: EtherType::Ipv4, ..header }, &mut frame);
    let ip = ipv4::Header { source: [10, 0, 0, 9], destination: ADDRESS, protocol: ipv4::ICMP };
    ipv4::write(&ip, ping.len(), &mut frame[ethernet::HEADER_LEN..]);
    frame.extend(ping);
    receive(&mut stack, 0, &frame, &mut sent);
    let pong = &sent.frames.pop_front().unwrap()[START..];
    assert_eq!((pong[0], &pong[4..]), (0, &ping[4..]));
    assert!(libos_net::wire::Checksum::default().with(pong).is_right());
}

fn flags() -> impl Strategy<Value = Flags> {
    let one = prop_oneof![
        Just(Flags::SYN),
        Just(Flags::ACK),
        Just(Flags::FIN),
        Just(Flags::RST),
        Just(Flags::PSH),
        Just(Flags::NONE)
    ];
    (one.clone(), one, prop::bool::weighted(0.8)).prop_map(|(a, b, ack)| if ack { a | b | Flags::ACK } else { a | b })
}

proptest! {
    /// Numbers near the right ones reach every state; nothing panics, and everything ends.
    #[test]
    fn any_conversation_ends(
        steps in prop::collection::vec(
            (
                (flags(), prop::collection::vec((-9i32..40, -9i32..40), 0..=4)),
                (-3i32..40, -3i32..40),
                prop::collection::vec(33u8..40, 0..30),
                0u16..50,
                0u64..400_000,
            ),
            1..60,
        ),
        is_selective: bool,
    ) {
        let mut client = Client { is_selective, ..Client::new() };
        let first = client.opens();
        let (mut next, mut acknowledged) = (FIRST + 1, first);
        for ((flags, selected), (ahead, acked), payload, window, pause_us) in steps {
            let near = |from: Sequence, by: i32| from + by as u32;
            let (sequence, acknowledgment) = (near(next, ahead / 4), near(acknowledged, acked / 4));
            let mut answers = client.says_with_window(flags, sequence, acknowledgment, &payload, window);
            if !selected.is_empty() {
                client.next = next;
                let range = |(start, end): &(i32, i32)| near(acknowledged, *start)..near(acknowledged, *end);
                answers.extend(client.has(acknowledgment, &selected.iter().map(range).collect::<Vec<_>>()));
            }
            for answer in answers.iter().chain(&client.waits(pause_us)) {
                if answer.flags.has(Flags::ACK) && !answer.flags.has(Flags::RST) {
                    next = answer.acknowledgment;
                    let fin = u32::from(answer.flags.has(Flags::FIN));
                    acknowledged = answer.sequence + answer.payload.len() as u32 + fin;
                }
            }
        }
        client.waits(3 * 3600 * SECOND_US);
        prop_assert_eq!((client.stack.connections(), client.stack.service().open), (0, 0));
    }

    #[test]
    fn foreign_frames_are_dropped(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..2) {
        let (mut stack, mut sent) = (stack(), Sent::default());
        let kind = if kind == 0 { EtherType::Ipv4 } else { EtherType::Arp };
        let mut frame = vec![0; ethernet::HEADER_LEN];
        ethernet::write(&ethernet::Header { destination: MAC, source: THEIR_MAC, kind }, &mut frame);
        frame.extend(bytes);
        receive(&mut stack, 0, &frame, &mut sent);
        prop_assert!(stack.connections() <= 1);
    }
}
