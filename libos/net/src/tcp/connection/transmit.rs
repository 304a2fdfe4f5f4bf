//! What a connection sends: its SYN, its output as windows allow, its FIN, and acknowledgments.

use super::{Connection, KEEP_ALIVE_AGAIN_US, MAX_SEGMENT_SIZE, State, Timer, WINDOW_SCALE};
use crate::tcp::{NEVER, Sequence};
use crate::wire::tcp::{Flags, Segment};

impl Connection {
    /// Sends what may be sent now. `send` says whether there was room for a segment.
    #[inline]
    pub fn transmit(&mut self, now_us: u64, mut send: impl FnMut(&Segment) -> bool) {
        let is_sent = match self.state {
            State::Closed => return,
            State::SynReceived => self.transmit_syn(now_us, &mut send),
            _ => self.transmit_output(now_us, &mut send) && self.transmit_acknowledgment(now_us, &mut send),
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
            ..self.segment(self.una, &[], Flags::NONE)
        };
        if !send(&syn) {
            return false;
        }
        self.sent(now_us, 1);
        true
    }

    #[inline]
    fn transmit_output(&mut self, now_us: u64, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        if core::mem::take(&mut self.repeats) {
            self.round_trip.forget();
            let len = self.output.len().min(usize::from(self.max_segment_size));
            let is_last = self.closing && len == self.output.len();
            let flags = if is_last { Flags::FIN } else { Flags::NONE };
            if !send(&self.segment(self.una, &self.output.bytes()[..len], flags)) {
                return false;
            }
            self.due_us[Timer::Retransmit as usize] = now_us + self.round_trip.timeout_us();
        }
        loop {
            let in_flight = self.nxt.since(self.una) as usize;
            if in_flight > self.output.len() {
                return true; // the FIN, too
            }
            let unsent = self.output.len() - in_flight;
            let probe = usize::from(core::mem::take(&mut self.probes));
            let allowed = (self.window.min(self.congestion.window()) as usize).max(probe).saturating_sub(in_flight);
            let len = unsent.min(allowed).min(usize::from(self.max_segment_size));
            let fin = self.closing && len == unsent;
            // A small piece waits for a larger window, unless nothing else would ask for that (RFC 9293, 3.8.6.2.1).
            let is_silly = len < unsent && len < usize::from(self.max_segment_size) && in_flight > 0;
            if len == 0 && !fin || is_silly {
                return true;
            }
            let last = if len == unsent { Flags::PSH } else { Flags::NONE };
            let flags = if fin { Flags::FIN | last } else { last };
            if !send(&self.segment(self.nxt, &self.output.bytes()[in_flight..in_flight + len], flags)) {
                return false;
            }
            self.acknowledgment_sent();
            self.sent(now_us, len as u32 + u32::from(fin));
        }
    }

    #[inline]
    fn transmit_acknowledgment(&mut self, now_us: u64, send: &mut impl FnMut(&Segment) -> bool) -> bool {
        let asks = self.keep_alives > 0 && self.due_us(Timer::Idle) == now_us + KEEP_ALIVE_AGAIN_US;
        if !self.acknowledges && !asks {
            return true;
        }
        // What was acknowledged before is answered with an acknowledgment (RFC 9293, section 3.8.4).
        let number = if asks { self.una - 1 } else { self.max };
        if !send(&self.segment(number, &[], Flags::NONE)) {
            return false;
        }
        self.acknowledgment_sent();
        true
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
            payload,
        }
    }
}
