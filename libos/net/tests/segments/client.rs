//! A client of which a test says every segment.

use std::ops::Range;

use libos_net::stack::Stack;
use libos_net::tcp::Sequence;
use libos_net::wire::ethernet::{self, EtherType};
use libos_net::wire::ipv4;
use libos_net::wire::tcp::{self, Flags, Segment};

use crate::support::{ADDRESS, Echo, MAC, PORT, Sent, receive, stack};

pub const THEIR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
pub const START: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
pub const FIRST: Sequence = Sequence(u32::MAX - 5);
pub const SECOND_US: u64 = 1_000_000;

/// A client that says whatever it is told to.
pub struct Client {
    pub address: [u8; 4],
    pub port: u16,
    /// From which station to which one its frames go.
    pub macs: [[u8; 6]; 2],
    pub is_selective: bool,
    /// The number of what it says with `has`.
    pub next: Sequence,
    pub now_us: u64,
    pub stack: Stack<Echo>,
    pub sent: Sent,
}

/// What a stack sent, without its headers below TCP.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub port: u16,
    pub sequence: Sequence,
    pub acknowledgment: Sequence,
    pub flags: Flags,
    pub window: u16,
    pub selected: Vec<Range<Sequence>>,
    pub payload: Vec<u8>,
}

impl Answer {
    pub fn of(frame: &[u8]) -> Answer {
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
    }
}

impl Client {
    pub fn new() -> Client {
        Client {
            address: [10, 0, 0, 9],
            port: 1000,
            macs: [THEIR_MAC, MAC],
            is_selective: false,
            next: FIRST + 1,
            now_us: 0,
            stack: stack(),
            sent: Sent::default(),
        }
    }

    pub fn says(&mut self, flags: Flags, sequence: Sequence, acknowledgment: Sequence, payload: &[u8]) -> Vec<Answer> {
        self.says_with_window(flags, sequence, acknowledgment, payload, 60_000)
    }

    pub fn says_with_window(
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
    pub fn has(&mut self, acknowledgment: Sequence, ranges: &[Range<Sequence>]) -> Vec<Answer> {
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

    /// What `says` brings, for whoever brings it.
    pub fn frame_of(&self, flags: Flags, sequence: Sequence, acknowledgment: Sequence, payload: &[u8]) -> Vec<u8> {
        self.frame(&self.segment(flags, sequence, acknowledgment, payload))
    }

    fn sends(&mut self, segment: Segment) -> Vec<Answer> {
        let frame = self.frame(&segment);
        receive(&mut self.stack, self.now_us, &frame, &mut self.sent);
        self.answers()
    }

    fn frame(&self, segment: &Segment) -> Vec<u8> {
        let len = segment.header_len() + segment.payload.len();
        let mut frame = vec![0; START + len];
        let [source, destination] = self.macs;
        ethernet::write(&ethernet::Header { destination, source, kind: EtherType::Ipv4 }, &mut frame);
        let ip = ipv4::Header { source: self.address, destination: ADDRESS, protocol: ipv4::TCP };
        ipv4::write(&ip, len, &mut frame[ethernet::HEADER_LEN..]);
        tcp::write(segment, &mut frame[START..]);
        tcp::write_checksum(&mut frame[START..], self.address, ADDRESS, false);
        frame
    }

    /// Lets time pass, timer by timer.
    pub fn waits(&mut self, duration_us: u64) -> Vec<Answer> {
        let end_us = self.now_us + duration_us;
        while self.stack.next_us() <= end_us {
            self.now_us = self.stack.next_us();
            self.stack.expire(self.now_us, &mut self.sent);
        }
        self.now_us = end_us;
        self.answers()
    }

    fn answers(&mut self) -> Vec<Answer> {
        self.sent.frames.drain(..).map(|frame| Answer::of(&frame)).collect()
    }

    /// Opens a connection. Returns the number that our side begins with, after its SYN.
    pub fn opens(&mut self) -> Sequence {
        let [syn] = &self.says(Flags::SYN, FIRST, Sequence(0), &[])[..] else { panic!("one answer") };
        assert_eq!((syn.flags, syn.acknowledgment), (Flags::SYN | Flags::ACK, FIRST + 1));
        let first = syn.sequence + 1;
        assert_eq!(self.says(Flags::ACK, FIRST + 1, first, &[]), []);
        first
    }
}
