//! Whatever frames come to the library OS's stack, and whenever: what a service is given is what was sent, in its order,
//! and every frame that answers is a right one for who asked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use libos_net::device::{Frame, PartialChecksum, Transmit};
use libos_net::service::{Output, Served, Service};
use libos_net::stack::{Config, Stack};
use libos_net::tcp::Sequence;
use libos_net::wire::ethernet::{self, EtherType};
use libos_net::wire::{Checksum, arp, ipv4, tcp, udp};

const OUR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OURS: [u8; 4] = [10, 0, 0, 1];
const PORT: u16 = 7;
const THEIR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const THEIRS: [u8; 4] = [10, 0, 0, 9];
const MAX_CONNECTIONS: usize = 8;
/// The number of a client's SYN; its numbers wrap around soon.
const FIRST: Sequence = Sequence(u32::MAX - 99);
const HOUR_US: u64 = 3_600_000_000;

fuzz_target!(|bytes: &[u8]| {
    let config = Config { mac: OUR_MAC, address: OURS, max_connections: MAX_CONNECTIONS, secret: [1, 2] };
    let mut side = Side { stack: Stack::new(config, Mirror, 0), sent: Sent { next: Sequence(0) }, now_us: 0 };
    let mut script = Script(bytes);
    while let Some(step) = script.byte() {
        match step % 8 {
            0 => side.receive(script.some(usize::from(step)).to_vec()),
            1 => side.wait(1 << (step / 8)),
            2 => side.receive(packet(ipv4::UDP, &datagram(&mut script))),
            3 => side.receive(packet(ipv4::ICMP, script.some(usize::from(step / 8)))),
            _ => {
                let segment = side.segment(&mut script);
                side.receive(packet(ipv4::TCP, &segment));
            }
        }
    }
    // Nothing is waited for without an end.
    for _ in 0..100 {
        side.wait(HOUR_US);
    }
    assert_eq!(side.stack.connections(), 0, "a connection whose client is silent for days");
});

/// Bytes as numbers; zero where there are none left.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn number(&mut self) -> u16 {
        u16::from_le_bytes([self.byte().unwrap_or(0), self.byte().unwrap_or(0)])
    }

    fn some(&mut self, len: usize) -> &'a [u8] {
        let (some, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        some
    }
}

/// The byte at a place of what clients say.
fn byte_at(place: u32) -> u8 {
    (place.wrapping_mul(0x9E37_79B9) >> 24) as u8
}

/// Says back what it is given, which must be what clients say. Its sessions are how much that was.
struct Mirror;

impl Service for Mirror {
    type Session = u32;

    fn accept(&self, _: [u8; 4], port: u16) -> Option<u32> {
        (port == PORT).then_some(0)
    }

    fn serve(&mut self, _: u64, place: &mut u32, input: &[u8], output: &mut Output) -> Served {
        let taken = input.len().min(1000);
        for &byte in &input[..taken] {
            assert_eq!(byte, byte_at(*place), "what came to the service at {place} was not sent there");
            *place += 1;
        }
        output.write(&input[..taken]);
        Served { taken, close: *place > 100_000 }
    }

    fn serve_datagram(&mut self, _: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        if port == PORT {
            answer(datagram);
        }
        port == PORT
    }
}

struct Side {
    stack: Stack<Mirror>,
    sent: Sent,
    now_us: u64,
}

impl Side {
    fn receive(&mut self, bytes: Vec<u8>) {
        self.stack.receive(self.now_us, Frame { bytes: &bytes, checksum_is_right: false }, &mut self.sent);
        assert!(self.stack.connections() <= MAX_CONNECTIONS);
    }

    fn wait(&mut self, us: u64) {
        self.now_us += us;
        self.stack.expire(self.now_us, &mut self.sent);
        assert!(self.stack.next_us() > self.now_us, "a timer that is due is not served");
    }

    /// A segment of one of some clients, in the window more often than not, and with data as clients say them.
    fn segment(&mut self, script: &mut Script) -> Vec<u8> {
        let kind = script.byte().unwrap_or(0);
        let port = 40_000 + u16::from(script.byte().unwrap_or(0) % 16);
        let place = u32::from(script.number());
        let payload_len = if kind & 0x40 == 0 { 0 } else { usize::from(script.number() % 1460) };
        let (number, place) = if kind & 2 == 0 { (FIRST + 1 + place, place) } else { (FIRST, 0) };
        let payload: Vec<u8> = (place..).take(payload_len).map(byte_at).collect();
        let asked = if kind & 0x80 == 0 { self.sent.next } else { self.sent.next + u32::from(script.number()) };
        let options_len = 4 * usize::from(script.byte().unwrap_or(0) % 11);
        let options = script.some(options_len);
        let mut bytes = [&port.to_be_bytes()[..], &PORT.to_be_bytes()].concat();
        bytes.extend(number.0.to_be_bytes());
        bytes.extend(asked.0.to_be_bytes());
        bytes.extend([((5 + options.len().div_ceil(4)) << 4) as u8, kind & 0x1F]);
        bytes.extend(script.number().to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(payload);
        tcp::write_checksum(&mut bytes, THEIRS, OURS, false);
        bytes
    }
}

fn datagram(script: &mut Script) -> Vec<u8> {
    let [source_port, destination_port] = [script.number(), PORT + u16::from(script.byte().unwrap_or(0) % 2)];
    let len = usize::from(script.byte().unwrap_or(0));
    let payload = script.some(len);
    let mut bytes = vec![0; udp::HEADER_LEN + payload.len()];
    udp::write(&udp::Datagram { source_port, destination_port, payload }, &mut bytes);
    udp::write_checksum(&mut bytes, THEIRS, OURS, false);
    bytes
}

fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; ethernet::HEADER_LEN + ipv4::HEADER_LEN];
    let header = ethernet::Header { destination: OUR_MAC, source: THEIR_MAC, kind: EtherType::Ipv4 };
    ethernet::write(&header, &mut bytes);
    let ip = ipv4::Header { source: THEIRS, destination: OURS, protocol };
    ipv4::write(&ip, payload.len(), &mut bytes[ethernet::HEADER_LEN..]);
    bytes.extend(payload);
    bytes
}

/// Looks at every frame; `next` is what the last segment's receiver would acknowledge.
struct Sent {
    next: Sequence,
}

impl Transmit for Sent {
    fn completes_checksums(&self) -> bool {
        false
    }

    fn send(&mut self, len: usize, _: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        assert!(len <= 1514);
        let mut frame = vec![0xEE; len];
        write(&mut frame);
        let (header, payload) = ethernet::parse(&frame).expect("a frame");
        assert_eq!(header.source, OUR_MAC);
        match header.kind {
            EtherType::Arp => assert_eq!(arp::parse(payload).expect("an answer").sender, (OUR_MAC, OURS)),
            EtherType::Ipv4 => self.look_at(payload),
        }
        true
    }

    fn flush(&mut self) {}
}

impl Sent {
    fn look_at(&mut self, packet: &[u8]) {
        let (header, payload) = ipv4::parse(packet, false).expect("a packet with a right sum");
        assert_eq!(header.source, OURS);
        match header.protocol {
            ipv4::TCP => {
                let segment = tcp::parse(payload, OURS, header.destination, false).expect("a segment with a right sum");
                self.next = segment.sequence + segment.len();
            }
            ipv4::UDP => {
                udp::parse(payload, OURS, header.destination, false).expect("a datagram with a right sum");
            }
            ipv4::ICMP => assert!(Checksum::default().with(payload).is_right()),
            protocol => panic!("no protocol of ours: {protocol}"),
        }
    }
}
