//! A stack with a service that echoes, and what its frames go through.

use std::collections::VecDeque;

use libos_net::device::{Cut, Frame, PartialChecksum, Transmit};
use libos_net::service::{Output, Served, Service};
use libos_net::stack::{Config, Stack};
use libos_net::wire::{Checksum, ethernet, ipv4, tcp};

pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub const ADDRESS: [u8; 4] = [10, 0, 0, 1];
pub const PORT: u16 = 7;
pub const MAX_CONNECTIONS: usize = 2000;

/// Gives back what it gets, and closes after an exclamation mark.
#[derive(Default)]
pub struct Echo {
    /// Of several cores' services the sum counts.
    pub open: isize,
    /// Every connection is one too many.
    pub is_full: bool,
}

impl Service for Echo {
    type Session = bool;

    fn accept(&self, _: [u8; 4], port: u16) -> Option<bool> {
        (port == PORT).then_some(false)
    }

    fn serve(&mut self, _: u64, is_open: &mut bool, input: &[u8], output: &mut Output) -> Served {
        *is_open = true;
        // Not all at once, so that input waits.
        let taken = input.len().min(1000);
        output.write(&input[..taken]);
        Served { taken, close: input[..taken].contains(&b'!') }
    }

    fn serve_datagram(&mut self, _: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        // As often as its first byte says.
        (0..datagram.first().copied().unwrap_or(1)).filter(|_| port == PORT).for_each(|_| answer(datagram));
        port == PORT
    }

    fn opened(&mut self, _: &bool, output: &mut Output) -> bool {
        if self.is_full {
            output.write(b"full");
        } else {
            self.open += 1;
        }
        !self.is_full
    }

    fn closed(&mut self, _: bool) {
        self.open -= 1;
    }
}

pub const CONFIG: Config = Config { mac: MAC, address: ADDRESS, max_connections: MAX_CONNECTIONS, secret: [3, 4] };

pub fn stack() -> Stack<Echo> {
    Stack::new(CONFIG, Echo::default(), 0)
}

/// What a stack sends.
#[derive(Default)]
pub struct Sent {
    pub frames: VecDeque<Vec<u8>>,
    /// No further frame is taken when there are so many.
    pub room: Option<usize>,
    /// How long a frame may be that is cut, as virtio's device does it; its checksums are then completed, too.
    pub max_cut_len: usize,
    /// How many frames were cut.
    pub cut: usize,
}

impl Transmit for Sent {
    fn completes_checksums(&self) -> bool {
        self.max_cut_len > 0
    }

    fn max_cut_len(&self) -> usize {
        self.max_cut_len
    }

    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool {
        assert!(checksum.is_none() || self.completes_checksums());
        if self.room.is_some_and(|room| self.frames.len() >= room) {
            return false;
        }
        let mut frame = vec![0xEE; len];
        write(&mut frame);
        match checksum {
            Some(PartialChecksum { start, offset, cut }) => {
                assert_eq!((start, offset), (PAYLOAD_START, tcp::CHECKSUM_OFFSET));
                assert_eq!(frame[start + offset..][..2], pseudo_header(&frame).partial_bytes());
                assert!(len <= if cut.is_some() { self.max_cut_len } else { MAX_FRAME_LEN });
                self.cut += usize::from(cut.is_some());
                self.frames.extend(segments(&frame, cut));
            }
            None => self.frames.push_back(frame),
        }
        true
    }

    fn flush(&mut self) {}
}

pub const PAYLOAD_START: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
const MAX_FRAME_LEN: usize = 1514;

/// What virtio's device makes of a frame of TCP (section 5.1.6.2): its segments, with all that was left to the device.
fn segments(frame: &[u8], cut: Option<Cut>) -> Vec<Vec<u8>> {
    let Cut { header_len, payload_len } = cut.unwrap_or(Cut { header_len: frame.len(), payload_len: 0 });
    let (headers, payload) = frame.split_at(header_len);
    assert!(cut.is_none() || payload.len() > payload_len, "what is one segment must not be cut");
    let mut segments: Vec<_> = payload.chunks(payload_len.max(1)).map(|part| [headers, part].concat()).collect();
    if segments.is_empty() {
        segments.push(headers.to_vec());
    }
    let last = segments.len() - 1;
    for (at, segment) in segments.iter_mut().enumerate() {
        let number = segment[PAYLOAD_START + 4..].first_chunk_mut().unwrap();
        *number = u32::from_be_bytes(*number).wrapping_add((at * payload_len) as u32).to_be_bytes();
        if at < last {
            segment[PAYLOAD_START + 13] &= !9; // FIN and PSH
        }
        let identification = segment[ethernet::HEADER_LEN + 4..].first_chunk_mut().unwrap();
        *identification = u16::from_be_bytes(*identification).wrapping_add(at as u16).to_be_bytes();
        complete(segment);
    }
    segments
}

fn pseudo_header(frame: &[u8]) -> Checksum {
    let address = |at: usize| *frame[ethernet::HEADER_LEN + at..].first_chunk().unwrap();
    Checksum::default().with_pseudo_header(address(12), address(16), ipv4::TCP, (frame.len() - PAYLOAD_START) as u16)
}

/// Makes the lengths and the checksums of a frame of TCP right.
pub fn complete(frame: &mut [u8]) {
    let len = (frame.len() - ethernet::HEADER_LEN) as u16;
    let ip = &mut frame[ethernet::HEADER_LEN..PAYLOAD_START];
    ip[2..4].copy_from_slice(&len.to_be_bytes());
    ip[10..12].fill(0);
    let checksum = Checksum::default().with(ip).bytes();
    ip[10..12].copy_from_slice(&checksum);
    let at = PAYLOAD_START + tcp::CHECKSUM_OFFSET;
    frame[at..at + 2].fill(0);
    let checksum = pseudo_header(frame).with(&frame[PAYLOAD_START..]).bytes();
    frame[at..at + 2].copy_from_slice(&checksum);
}

pub fn receive(stack: &mut Stack<Echo>, now_us: u64, bytes: &[u8], sent: &mut Sent) {
    stack.receive(now_us, Frame { bytes, checksum_is_right: false }, sent);
}
