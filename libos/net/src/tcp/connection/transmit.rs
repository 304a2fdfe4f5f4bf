//! What a connection sends: its SYN, what was lost, its output as windows allow, its FIN, and acknowledgments.

use core::ops::Range;

use super::{Connection, KEEP_ALIVE_AGAIN_US, MAX_SEGMENT_SIZE, State, Timer, WINDOW_SCALE};
use crate::tcp::{NEVER, Sequence};
use crate::wire::tcp::{BLOCK_LEN, Flags, MAX_BLOCKS, Segment, write_block};

impl Connection {
    /// Sends what may be sent now. `send` says whether there was room for a segment; it cuts one that has more payload
    /// than the largest.
    #[inline]
    pub fn transmit(&mut self, now_us: u64, mut send: impl FnMut(&Segment) -> bool) {
        let is_sent = match self.state {
            State::Closed => return,
            State::SynReceived => self.transmit_syn(now_us, &mut send),
            _ => {
                (!self.repeats && self.scoreboard.is_empty() || self.transmit_lost(now_us, &mut send))
                    && self.transmit_output(now_us, &mut send)
                    && self.transmit_acknowledgment(now_us, &mut send)
            }
        };
        let retransmit = &mut self.due_us[Timer::Retransmit as usize];
        if !is_sent {
            *retransmit = now_us;
            self.is_blocked = true;
        } else if *retransmit == NEVER && (self.nxt != self.una || !self.output.is_empty()) {
            *retransmit = now_us + self.round_trip.timeout_us();
        }
    }

    fn transmit_syn(&mut self, now_us: u64, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        if self.nxt != self.una {
            return true;
        }
        let syn = Segment {
            flags: Flags::SYN | Flags::ACK,
            window: self.room().min(usize::from(u16::MAX)) as u16,
            max_segment_size: Some(MAX_SEGMENT_SIZE),
            window_scale: self.window_scale.map(|_| WINDOW_SCALE),
            is_selective: self.is_selective,
            ..self.segment(self.una, &[], Flags::NONE)
        };
        if !send(&syn) {
            return false;
        }
        self.sent(now_us, 1);
        true
    }

    /// Sends the first segment again when that was advised, and what selective acknowledgments say is lost.
    #[cold]
    fn transmit_lost(&mut self, now_us: u64, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        if core::mem::take(&mut self.repeats) {
            if let Some(hole) = self.scoreboard.hole(self.una..self.max) {
                if !self.transmit_again(now_us, hole, send) {
                    return false;
                }
            }
        }
        while let Some(hole) = self.next_hole() {
            if !self.transmit_again(now_us, hole, send) {
                return false;
            }
        }
        true
    }

    /// Sends a segment again from the beginning of what is missing.
    fn transmit_again(&mut self, now_us: u64, hole: Range<Sequence>, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        self.round_trip.forget();
        let missing = hole.end.since(hole.start) as usize;
        let bytes = &self.output.bytes()[hole.start.since(self.una) as usize..];
        let len = bytes.len().min(missing).min(self.max_segment_size());
        // Of a closing connection the last number is the FIN's.
        let is_last = self.closing && len == bytes.len() && missing > len;
        let flags = if is_last { Flags::FIN } else { Flags::NONE };
        if !send(&self.segment(hole.start, &bytes[..len], flags)) {
            return false;
        }
        self.repaired = hole.start + len as u32 + u32::from(is_last);
        self.due_us[Timer::Retransmit as usize] = now_us + self.round_trip.timeout_us();
        true
    }

    /// What to send again next, if selective acknowledgments say so and the network has room for it (RFC 6675,
    /// section 4, NextSeg): what is lost, or when everything was sent once, whatever is missing.
    fn next_hole(&self) -> Option<Range<Sequence>> {
        if self.scoreboard.is_empty() || !self.congestion.is_recovering() || self.nxt != self.max {
            return None;
        }
        let is_all_sent = self.nxt.since(self.una) as usize >= self.output.len();
        let end = if is_all_sent { self.scoreboard.end() } else { self.scoreboard.lost_end(self.max_segment_size) };
        let has_room = self.on_the_way() + u32::from(self.max_segment_size) <= self.congestion.window();
        self.scoreboard.hole(self.repaired..end?).filter(|_| has_room)
    }

    /// How many bytes the network holds (RFC 6675, section 4, SetPipe).
    #[inline]
    fn on_the_way(&self) -> u32 {
        if self.scoreboard.is_empty() { self.nxt.since(self.una) as u32 } else { self.selected_on_the_way() }
    }

    #[cold]
    fn selected_on_the_way(&self) -> u32 {
        let lost_end = self.scoreboard.lost_end(self.max_segment_size).filter(|_| self.nxt == self.max);
        let lost = lost_end.map_or(0, |end| self.scoreboard.missing(self.repaired..end));
        self.scoreboard.missing(self.una..self.nxt) - lost
    }

    #[inline]
    fn transmit_output(&mut self, now_us: u64, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        let segment_size = self.max_segment_size();
        loop {
            let mut piece = segment_size;
            if self.nxt != self.max && !self.scoreboard.is_empty() {
                piece = piece.min(self.skip_selected());
            }
            let in_flight = self.nxt.since(self.una) as usize;
            if in_flight > self.output.len() {
                return true; // the FIN, too
            }
            let unsent = self.output.len() - in_flight;
            let piece = piece.min(unsent);
            let probe = usize::from(core::mem::take(&mut self.probes));
            let window = (self.window as usize).max(probe).saturating_sub(in_flight);
            let room = self.congestion.window().saturating_sub(self.on_the_way()) as usize;
            let mut len = piece.min(window).min(room);
            if len == segment_size && self.max_cut_payload > len && self.nxt == self.max {
                // Of what is new more goes along: all of it, or whole segments.
                let most = unsent.min(self.max_cut_payload).min(window).min(room);
                len = if most == unsent { most } else { most - most % segment_size };
            }
            let fin = self.closing && len == unsent;
            // A small piece waits for a larger window, unless nothing else would ask for that (RFC 9293, 3.8.6.2.1).
            let is_silly = len < piece && in_flight > 0;
            if len == 0 && !fin || is_silly {
                return true;
            }
            let last = if len == unsent { Flags::PSH } else { Flags::NONE };
            let flags = if fin { Flags::FIN | last } else { last };
            if !send(&self.segment(self.nxt, &self.output.bytes()[in_flight..in_flight + len], flags)) {
                return false;
            }
            // What came out of order is said by itself: of what comes with data, TCPs don't count repetitions
            // (RFC 5681, section 2), and it has no room for blocks.
            if self.reassembly.is_empty() {
                self.acknowledgment_sent();
            }
            if len > segment_size {
                self.round_trip.sent(self.nxt + segment_size as u32, now_us); // the first of them
            }
            self.sent(now_us, len as u32 + u32::from(fin));
        }
    }

    /// After a timeout: leaves out what has come. Returns how much is missing then.
    #[cold]
    fn skip_selected(&mut self) -> usize {
        let hole = self.scoreboard.hole(self.nxt..self.max).unwrap_or(self.max..self.max);
        self.nxt = hole.start;
        if hole.end == self.max { usize::MAX } else { hole.end.since(hole.start) as usize }
    }

    #[inline]
    fn transmit_acknowledgment(&mut self, now_us: u64, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        let asks = self.keep_alives > 0 && self.due_us(Timer::Idle) == now_us + KEEP_ALIVE_AGAIN_US;
        if !self.acknowledges && !asks {
            return true;
        }
        // What was acknowledged before is answered with an acknowledgment (RFC 9293, section 3.8.4).
        let number = if asks { self.una - 1 } else { self.max };
        let segment = self.segment(number, &[], Flags::NONE);
        let is_sent = if self.is_selective && !self.reassembly.is_empty() {
            self.send_selective(segment, send)
        } else {
            send(&segment)
        };
        if is_sent {
            self.acknowledgment_sent();
        }
        is_sent
    }

    /// Sends an acknowledgment that says what came out of order.
    #[cold]
    fn send_selective(&self, segment: Segment, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        let mut blocks = [[0; BLOCK_LEN]; MAX_BLOCKS];
        let mut len = 0;
        for (block, range) in blocks.iter_mut().zip(self.reassembly.ranges()) {
            write_block(&range, block);
            len += 1;
        }
        send(&Segment { blocks: blocks[..len].as_flattened(), ..segment })
    }

    #[inline]
    fn acknowledgment_sent(&mut self) {
        self.acknowledges = false;
        self.unacknowledged = 0;
        self.due_us[Timer::Acknowledge as usize] = NEVER;
        self.edge = self.next + self.room() as u32;
    }

    #[inline]
    fn sent(&mut self, now_us: u64, len: u32) {
        self.nxt = self.nxt + len;
        if self.nxt.since(self.max) > 0 {
            self.max = self.nxt;
            self.round_trip.sent(self.nxt, now_us);
        }
    }

    #[inline]
    fn segment<'a>(&self, sequence: Sequence, payload: &'a [u8], flags: Flags) -> Segment<'a> {
        let scale = if self.window_scale.is_some() { WINDOW_SCALE } else { 0 };
        Segment {
            source_port: self.local_port,
            destination_port: self.peer.port,
            sequence,
            acknowledgment: self.next,
            flags: flags | Flags::ACK,
            window: (self.room() >> scale).min(usize::from(u16::MAX)) as u16,
            max_segment_size: None,
            window_scale: None,
            is_selective: false,
            blocks: &[],
            payload,
        }
    }
}
