//! Datagram by datagram, and the frames that answer them.

mod support;

use proptest::prelude::*;

use libos_net::wire::ethernet::{self, EtherType};
use libos_net::wire::udp::{self, Datagram};
use libos_net::wire::{Checksum, ipv4};
use support::{ADDRESS, MAC, PORT, Sent, receive, stack};

const THEIR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const THEIR_ADDRESS: [u8; 4] = [10, 0, 0, 9];
const THEIR_PORT: u16 = 40_000;
const START: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

fn frame(source: [u8; 4], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let [source_port, destination_port] = ports;
    let mut frame = vec![0; START + udp::HEADER_LEN + payload.len()];
    let header = ethernet::Header { destination: MAC, source: THEIR_MAC, kind: EtherType::Ipv4 };
    ethernet::write(&header, &mut frame);
    let ip = ipv4::Header { source, destination: ADDRESS, protocol: ipv4::UDP };
    ipv4::write(&ip, udp::HEADER_LEN + payload.len(), &mut frame[ethernet::HEADER_LEN..]);
    udp::write(&Datagram { source_port, destination_port, payload }, &mut frame[START..]);
    udp::write_checksum(&mut frame[START..], source, ADDRESS, false);
    frame
}

/// All frames that answer one.
fn answers(frame: &[u8]) -> Vec<Vec<u8>> {
    let (mut stack, mut sent) = (stack(), Sent::default());
    receive(&mut stack, 0, frame, &mut sent);
    assert_eq!((stack.connections(), stack.next_us()), (0, u64::MAX), "nothing is kept");
    sent.frames.into()
}

fn packet_of(frame: &[u8]) -> (ipv4::Header, &[u8]) {
    let (ethernet, packet) = ethernet::parse(frame).unwrap();
    assert_eq!((ethernet.source, ethernet.destination), (MAC, THEIR_MAC));
    let (ip, payload) = ipv4::parse(packet, false).expect("a right checksum");
    assert_eq!((ip.source, ip.destination), (ADDRESS, THEIR_ADDRESS));
    (ip, payload)
}

#[test]
fn a_datagram_is_answered_by_as_many_as_the_service_says() {
    for count in [0, 1, 7] {
        let payload = [count, b'x'];
        let answers = answers(&frame(THEIR_ADDRESS, [THEIR_PORT, PORT], &payload));
        assert_eq!(answers.len(), usize::from(count));
        for answer in answers {
            let (ip, bytes) = packet_of(&answer);
            assert_eq!(ip.protocol, ipv4::UDP);
            let datagram = udp::parse(bytes, ip.source, ip.destination, false);
            let expected = Datagram { source_port: PORT, destination_port: THEIR_PORT, payload: &payload };
            assert_eq!(datagram, Some(expected));
        }
    }
}

#[test]
fn the_longest_datagram_fits_into_a_frame() {
    let longest = [1; udp::MAX_PAYLOAD_LEN];
    let answers = answers(&frame(THEIR_ADDRESS, [THEIR_PORT, PORT], &longest));
    assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [ethernet::HEADER_LEN + 1500]);
}

#[test]
fn who_asks_a_port_that_takes_none_is_told_by_what_he_sent() {
    for payload in [&b""[..], &[9; 1000]] {
        let asked = frame(THEIR_ADDRESS, [THEIR_PORT, PORT + 1], payload);
        let [answer] = &answers(&asked)[..] else { panic!("one answer") };
        let (ip, message) = packet_of(answer);
        assert_eq!((ip.protocol, &message[..2]), (ipv4::ICMP, &[3, 3][..]));
        assert!(Checksum::default().with(message).is_right());
        assert_eq!(
            (&message[4..8], &message[8..]),
            (&[0; 4][..], &asked[ethernet::HEADER_LEN..START + udp::HEADER_LEN])
        );
    }
}

#[test]
fn options_of_ip_come_back_too() {
    let mut asked = frame(THEIR_ADDRESS, [THEIR_PORT, PORT + 1], b"data");
    asked.splice(START..START, [1, 1, 1, 0]); // three that do nothing, and the end
    asked[ethernet::HEADER_LEN] = 0x46;
    let len = (asked.len() - ethernet::HEADER_LEN) as u16;
    asked[ethernet::HEADER_LEN + 2..ethernet::HEADER_LEN + 4].copy_from_slice(&len.to_be_bytes());
    asked[ethernet::HEADER_LEN + 10..ethernet::HEADER_LEN + 12].fill(0);
    let sum = Checksum::default().with(&asked[ethernet::HEADER_LEN..START + 4]).bytes();
    asked[ethernet::HEADER_LEN + 10..ethernet::HEADER_LEN + 12].copy_from_slice(&sum);
    let [answer] = &answers(&asked)[..] else { panic!("one answer") };
    let (_, message) = packet_of(answer);
    assert_eq!(message[8..], asked[ethernet::HEADER_LEN..START + 4 + udp::HEADER_LEN]);
}

#[test]
fn what_may_be_an_answer_has_none() {
    for source_port in [0, 7, 1023] {
        for port in [PORT, PORT + 1] {
            assert!(answers(&frame(THEIR_ADDRESS, [source_port, port], b"\x01")).is_empty(), "{source_port}");
        }
    }
    assert!(answers(&frame(THEIR_ADDRESS, [THEIR_PORT, THEIR_PORT], b"\x01")).is_empty());
    assert_eq!(answers(&frame(THEIR_ADDRESS, [1024, PORT], b"\x01")).len(), 1);
}

#[test]
fn who_cannot_be_a_host_is_not_answered() {
    for source in [[255; 4], [224, 0, 0, 5], [0; 4], [127, 0, 0, 1], ADDRESS, [10, 0, 0, 255]] {
        for port in [PORT, PORT + 1] {
            assert!(answers(&frame(source, [THEIR_PORT, port], b"\x01")).is_empty(), "{source:?}");
        }
    }
    let mut to_all = frame(THEIR_ADDRESS, [THEIR_PORT, PORT + 1], b"\x01");
    to_all[..6].copy_from_slice(&ethernet::BROADCAST);
    assert!(answers(&to_all).is_empty());
}

#[test]
fn a_wrong_checksum_is_dropped_and_none_is_not() {
    for port in [PORT, PORT + 1] {
        let mut asked = frame(THEIR_ADDRESS, [THEIR_PORT, port], b"\x01data");
        let checksum = START + udp::CHECKSUM_OFFSET;
        asked[checksum + 1] ^= 1;
        assert!(answers(&asked).is_empty());
        asked[checksum..checksum + 2].fill(0);
        assert_eq!(answers(&asked).len(), 1);
    }
}

#[test]
fn what_there_is_no_room_for_is_lost() {
    let (mut stack, mut sent) = (stack(), Sent { room: Some(2), ..Sent::default() });
    receive(&mut stack, 0, &frame(THEIR_ADDRESS, [THEIR_PORT, PORT], b"\x05"), &mut sent);
    assert_eq!(sent.frames.len(), 2);
    sent.room = None;
    receive(&mut stack, 0, &frame(THEIR_ADDRESS, [THEIR_PORT, PORT], b"\x01"), &mut sent);
    assert_eq!(sent.frames.len(), 3);
}

proptest! {
    #[test]
    fn a_frame_has_what_it_has(at in any::<prop::sample::Index>(), byte: u8, len in 0usize..80) {
        let mut asked = frame(THEIR_ADDRESS, [THEIR_PORT, PORT], b"\x01data");
        let at = at.index(asked.len());
        asked[at] = byte;
        asked.resize(len, 0xEE);
        let (mut stack, mut sent) = (stack(), Sent::default());
        receive(&mut stack, 0, &asked, &mut sent);
        prop_assert!(sent.frames.iter().all(|frame| frame.len() <= 100), "no answer is much longer");
    }
}
