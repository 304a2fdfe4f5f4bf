//! Segment by segment: what no well-meaning TCP sends.

mod client;
mod cut;
mod moving;
mod selective;
mod simultaneous;
#[path = "../support/mod.rs"]
mod support;

use proptest::prelude::*;

use client::{Client, FIRST, SECOND_US, START, THEIR_MAC};
use libos_net::stack::Stack;
use libos_net::tcp::Sequence;
use libos_net::wire::ethernet::{self, EtherType};
use libos_net::wire::tcp::Flags;
use libos_net::wire::{arp, ipv4};
use support::{ADDRESS, CONFIG, Echo, MAC, MAX_CONNECTIONS, Sent, receive, stack};

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
fn a_connection_too_many_is_told_so_and_closed_whatever_it_says() {
    let mut client = Client::new();
    client.stack = Stack::new(CONFIG, Echo { is_full: true, ..Echo::default() }, 0);
    let [syn] = &client.says(Flags::SYN, FIRST, Sequence(0), &[])[..] else { panic!("one answer") };
    let first = syn.sequence + 1;
    let [told] = &client.says(Flags::ACK, FIRST + 1, first, b"hello")[..] else { panic!("one answer") };
    assert_eq!((told.sequence, &told.payload[..]), (first, &b"full"[..]));
    assert!(told.flags.has(Flags::FIN));
    client.says(Flags::ACK | Flags::FIN, FIRST + 6, first + 5, &[]);
    client.waits(61 * SECOND_US);
    assert_eq!((client.stack.connections(), client.stack.service().open), (0, 0));
}

#[test]
fn a_fin_that_has_come_is_not_said_again() {
    let mut client = Client::new();
    let first = client.opens();
    let fin = client.says(Flags::ACK, FIRST + 1, first, b"!");
    assert_eq!(fin[0].flags, Flags::FIN | Flags::ACK | Flags::PSH);
    for _ in 0..3 {
        assert_eq!(client.says(Flags::ACK, FIRST + 2, first + 2, &[]), []);
    }
    let last = client.says(Flags::ACK | Flags::FIN, FIRST + 2, first + 2, &[]);
    assert_eq!(last.iter().map(|each| (each.flags, each.sequence)).collect::<Vec<_>>(), [(Flags::ACK, first + 2)]);
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
fn an_acknowledgment_older_than_a_window_is_not_believed() {
    let mut client = Client::new();
    let first = client.opens();
    let [echo] = &client.says(Flags::ACK | Flags::PSH, FIRST + 1, first, b"hi")[..] else { panic!("an echo") };
    assert_eq!(echo.payload, b"hi");
    let una = first + 2;
    assert_eq!(client.says(Flags::ACK, FIRST + 3, una, &[]), []);
    let window = 60_000;
    let [challenge] = &client.says(Flags::ACK | Flags::PSH, FIRST + 3, una - (window + 1), b"evil")[..] else {
        panic!("an acknowledgment")
    };
    assert_eq!((challenge.acknowledgment, &challenge.payload[..]), (FIRST + 3, &b""[..]));
    let [echo] = &client.says(Flags::ACK | Flags::PSH, FIRST + 3, una - window, b"late")[..] else { panic!("an echo") };
    assert_eq!(echo.payload, b"late");
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

/// A frame that asks who has our address, by which station its question and its header say it is from.
fn who_has(sender: [u8; 6], source: [u8; 6]) -> Vec<u8> {
    let question = arp::Message { is_request: true, sender: (sender, [10, 0, 0, 9]), target: ([0; 6], ADDRESS) };
    let header = ethernet::Header { destination: ethernet::BROADCAST, source, kind: EtherType::Arp };
    let mut frame = vec![0; ethernet::HEADER_LEN + arp::LEN];
    ethernet::write(&header, &mut frame);
    arp::write(&question, &mut frame[ethernet::HEADER_LEN..]);
    frame
}

/// A frame with an echo request from an address.
fn ping(address: [u8; 4], source: [u8; 6], destination: [u8; 6]) -> Vec<u8> {
    // An echo request, its checksum, identifier 1, sequence 2.
    let mut ping = [8, 0, 0, 0, 0, 1, 0, 2, 0x68, 0x68];
    let sum = libos_net::wire::Checksum::default().with(&ping).bytes();
    ping[2..4].copy_from_slice(&sum);
    let mut frame = vec![0; START];
    ethernet::write(&ethernet::Header { destination, source, kind: EtherType::Ipv4 }, &mut frame);
    let ip = ipv4::Header { source: address, destination: ADDRESS, protocol: ipv4::ICMP };
    ipv4::write(&ip, ping.len(), &mut frame[ethernet::HEADER_LEN..]);
    frame.extend(ping);
    frame
}

#[test]
fn who_has_our_address_is_told_and_who_pings_hears_an_echo() {
    let (mut stack, mut sent) = (stack(), Sent::default());
    receive(&mut stack, 0, &who_has(THEIR_MAC, THEIR_MAC), &mut sent);
    let answer = arp::parse(&sent.frames.pop_front().unwrap()[ethernet::HEADER_LEN..]).unwrap();
    assert_eq!((answer.is_request, answer.sender, answer.target.0), (false, (MAC, ADDRESS), THEIR_MAC));

    let ping = ping([10, 0, 0, 9], THEIR_MAC, MAC);
    receive(&mut stack, 0, &ping, &mut sent);
    let pong = &sent.frames.pop_front().unwrap()[START..];
    assert_eq!((pong[0], &pong[4..]), (0, &ping[START + 4..]));
    assert!(libos_net::wire::Checksum::default().with(pong).is_right());
}

#[test]
fn who_cannot_be_a_host_is_not_answered() {
    let nobody =
        [[255; 4], [224, 0, 0, 5], [239, 1, 1, 1], [0; 4], [0, 0, 0, 9], [127, 0, 0, 1], ADDRESS, [10, 0, 0, 255]];
    for address in nobody {
        let mut client = Client { address, ..Client::new() };
        assert_eq!(client.says(Flags::SYN, FIRST, Sequence(0), &[]), [], "{address:?}");
        assert_eq!(client.says(Flags::ACK, FIRST, Sequence(77), b"what"), [], "{address:?}");
        let mut sent = Sent::default();
        receive(&mut stack(), 0, &ping(address, THEIR_MAC, MAC), &mut sent);
        assert!(sent.frames.is_empty(), "{address:?}");
    }
    let group = [THEIR_MAC[0] | 1, 0, 0, 0, 0, 9];
    for macs in [[group, MAC], [ethernet::BROADCAST, MAC], [THEIR_MAC, ethernet::BROADCAST]] {
        let mut client = Client { macs, ..Client::new() };
        assert_eq!(client.says(Flags::SYN, FIRST, Sequence(0), &[]), [], "{macs:?}");
        let mut sent = Sent::default();
        receive(&mut stack(), 0, &ping([10, 0, 0, 9], macs[0], macs[1]), &mut sent);
        assert!(sent.frames.is_empty(), "{macs:?}");
    }
    for [sender, source] in [[group, THEIR_MAC], [THEIR_MAC, group]] {
        let mut sent = Sent::default();
        receive(&mut stack(), 0, &who_has(sender, source), &mut sent);
        assert!(sent.frames.is_empty(), "{sender:?} {source:?}");
    }
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
