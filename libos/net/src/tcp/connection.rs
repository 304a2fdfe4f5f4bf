//! One connection that somebody opened to us (RFC 9293, section 3.10). The names are the RFC's.

mod transmit;

use super::congestion::Advice;
use super::{Congestion, Key, NEVER, Queue, Reassembly, RoundTrip, Scoreboard, Sequence};
use crate::wire::ethernet::MacAddress;
use crate::wire::ipv4::Address;
use crate::wire::tcp::{Flags, Segment};

/// What a connection holds of input that its service has not taken: the receive window.
pub const INPUT_LIMIT: usize = 128 << 10;
/// The largest payload of a frame of ours, and of those that we ask for.
const MAX_SEGMENT_SIZE: u16 = 1460;
/// What others take who don't say (RFC 9293, section 3.7.1).
const DEFAULT_SEGMENT_SIZE: u16 = 536;
/// Our windows are shifted by so many bits: `INPUT_LIMIT` fits.
const WINDOW_SCALE: u8 = 2;
/// For how long an acknowledgment waits for something to go with.
const ACKNOWLEDGE_US: u64 = 40_000;
/// How often something is sent again before the connection is given up.
const MAX_RETRIES: u8 = 10;
const MAX_SYN_RETRIES: u8 = 4;
/// After this time without a word from the other side, it is asked whether it is there (RFC 9293, section 3.8.4).
const KEEP_ALIVE_US: u64 = 2 * 3600 * 1_000_000;
const KEEP_ALIVE_AGAIN_US: u64 = 75_000_000;
const MAX_KEEP_ALIVES: u8 = 9;
/// For how long a closed connection is remembered, and for how long the other side may leave it half-closed.
const LINGER_US: u64 = 60_000_000;

/// The other side.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The station that its frames come from.
    pub mac: MacAddress,
    /// Its address.
    pub address: Address,
    /// Its port.
    pub port: u16,
}

/// RFC 9293, section 3.3.2, without those of who opens connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs)]
pub enum State {
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

/// What a segment brought.
#[derive(Debug, Eq, PartialEq)]
pub struct Arrival<'a> {
    /// Data in order that nothing waits in front of. Other data wait in the input.
    pub fresh: &'a [u8],
    /// The number of a reset to answer with.
    pub reset: Option<Sequence>,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// The other side.
    pub peer: Peer,
    local_port: u16,
    state: State,
    /// What is to be sent or was not acknowledged, from `una` on.
    pub(crate) output: Queue,
    /// What came in order and was not taken.
    pub(crate) input: Queue,
    reassembly: Reassembly,
    /// A FIN came whose number is this, in order or not yet.
    fin: Option<Sequence>,
    /// A FIN follows the output.
    closing: bool,

    una: Sequence,
    nxt: Sequence,
    /// The highest `nxt` that ever was: what is sent again comes before it.
    max: Sequence,
    window: u32,
    /// The widest that `window` ever was (MAX.SND.WND).
    max_window: u32,
    /// Number and acknowledgment of the segment that said the window (SND.WL1, SND.WL2).
    window_from: (Sequence, Sequence),
    window_scale: Option<u8>,
    max_segment_size: u16,
    /// What is sent at once at most: the device cuts it into segments.
    max_cut_payload: usize,
    /// Both sides read selective acknowledgments.
    is_selective: bool,
    /// What the other side has beyond `una`.
    scoreboard: Scoreboard,
    /// While a loss is repaired: what comes before this was sent again.
    repaired: Sequence,

    /// RCV.NXT.
    next: Sequence,
    /// The end of the window that the other side knows.
    edge: Sequence,

    congestion: Congestion,
    round_trip: RoundTrip,
    retries: u8,
    keep_alives: u8,
    /// One byte may be sent into a window of zero.
    probes: bool,
    /// The first segment is to be sent again.
    repeats: bool,
    /// The device had no room: what was to be sent is tried again at the next tick.
    is_blocked: bool,
    acknowledges: bool,
    /// Segments with data since our last acknowledgment.
    unacknowledged: u8,
    heard_us: u64,
    /// When the timers of this connection are due, by `Timer`.
    due_us: [u64; Timer::COUNT],
    /// The earliest moment that the wheel knows of each.
    pub(crate) set_us: [u64; Timer::COUNT],
}

/// A connection's timers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Timer {
    /// What was sent is lost, or a window of zero may have opened.
    Retransmit,
    /// An acknowledgment has waited long enough.
    Acknowledge,
    /// Nothing was heard for long.
    Idle,
}

impl Timer {
    pub const COUNT: usize = 3;
    pub const ALL: [Timer; Timer::COUNT] = [Timer::Retransmit, Timer::Acknowledge, Timer::Idle];
}

impl Connection {
    /// Answers a SYN; `first` is the number that our side begins with. So many bytes does the device cut into segments.
    pub fn accept(now_us: u64, peer: Peer, syn: &Segment, first: Sequence, max_cut_payload: usize) -> Connection {
        let max_segment_size = syn.max_segment_size.unwrap_or(DEFAULT_SEGMENT_SIZE).clamp(64, MAX_SEGMENT_SIZE);
        let next = syn.sequence + 1;
        let mut connection = Connection {
            peer,
            local_port: syn.destination_port,
            state: State::SynReceived,
            output: Queue::default(),
            input: Queue::default(),
            reassembly: Reassembly::default(),
            fin: None,
            closing: false,
            una: first,
            nxt: first,
            max: first,
            window: u32::from(syn.window),
            max_window: u32::from(syn.window),
            window_from: (syn.sequence, first),
            window_scale: syn.window_scale,
            max_segment_size,
            max_cut_payload,
            is_selective: syn.is_selective,
            scoreboard: Scoreboard::default(),
            repaired: first,
            next,
            edge: next,
            congestion: Congestion::new(max_segment_size, syn.is_selective),
            round_trip: RoundTrip::new(),
            retries: 0,
            keep_alives: 0,
            probes: false,
            repeats: false,
            is_blocked: false,
            acknowledges: false,
            unacknowledged: 0,
            heard_us: now_us,
            due_us: [NEVER; Timer::COUNT],
            set_us: [NEVER; Timer::COUNT],
        };
        connection.schedule_idle();
        connection
    }

    /// What tells it apart.
    pub(crate) fn key(&self) -> Key {
        Key::new(self.peer.address, self.peer.port, self.local_port)
    }

    /// The largest payload of a segment of ours.
    #[inline]
    pub fn max_segment_size(&self) -> usize {
        usize::from(self.max_segment_size)
    }

    /// Its state.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Keeps what a service did not take of what was fresh.
    #[inline]
    pub fn keep(&mut self, left: &[u8]) {
        self.input.push(left);
    }

    /// Lets the service's taking open the window again.
    #[inline]
    pub fn took(&mut self, len: usize) {
        self.input.take(len);
        if (self.next + self.room() as u32).since(self.edge) >= INPUT_LIMIT as i32 / 2 {
            self.acknowledges = true;
        }
    }

    /// Whether a service may be given input.
    #[inline]
    pub fn is_served(&self) -> bool {
        !self.closing && matches!(self.state, State::Established | State::CloseWait)
    }

    /// Whether the other side has said its last, and all of it has come.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.state == State::CloseWait
    }

    /// The moment of a timer.
    #[inline]
    pub(crate) fn due_us(&self, timer: Timer) -> u64 {
        self.due_us[timer as usize]
    }

    /// Sends what is in the output, then a FIN.
    pub fn close(&mut self) {
        let state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            _ => return,
        };
        self.closing = true;
        self.become_state(state);
        let len = self.input.len();
        self.input.take(len);
    }

    /// A segment came. After it, [`transmit`](Self::transmit) sends what is due.
    pub fn arrive<'a>(&mut self, now_us: u64, segment: &Segment<'a>) -> Arrival<'a> {
        const NOTHING: Arrival<'static> = Arrival { fresh: &[], reset: None };
        let offset = segment.sequence.since(self.next);
        if !self.is_acceptable(offset, segment.len()) {
            if self.state == State::SynReceived && segment.flags.has(Flags::SYN) {
                self.nxt = self.una; // ours was lost
            } else if !segment.flags.has(Flags::RST) {
                self.acknowledges = true;
            }
            return NOTHING;
        }
        if segment.flags.has(Flags::RST) || segment.flags.has(Flags::SYN) {
            // RFC 5961: only the very next number is believed, others are asked.
            if segment.flags.has(Flags::RST) && offset == 0 {
                self.state = State::Closed;
            } else {
                self.acknowledges = true;
            }
            return NOTHING;
        }
        if !segment.flags.has(Flags::ACK) {
            return NOTHING;
        }
        let acked = segment.acknowledgment.since(self.una);
        if self.state == State::SynReceived {
            if segment.acknowledgment != self.una + 1 || self.max == self.una {
                return Arrival { fresh: &[], reset: Some(segment.acknowledgment) };
            }
            self.establish(now_us, segment);
        } else if !(-(self.max_window as i32)..=self.max.since(self.una)).contains(&acked) {
            // Of what was never sent, or older than all that could be on its way (RFC 5961, section 5.2).
            self.acknowledges = true;
            return NOTHING;
        } else {
            self.acknowledged(now_us, segment, acked);
        }
        self.heard_us = now_us;
        self.keep_alives = 0;
        self.schedule_idle();
        Arrival { fresh: self.receive(now_us, segment, offset), reset: None }
    }

    /// RFC 9293, section 3.10.7.4, first step.
    #[inline]
    fn is_acceptable(&self, offset: i32, len: u32) -> bool {
        let room = self.room() as i32;
        let inside = |offset: i32| 0 <= offset && offset < room;
        // At a window of zero, what does not need it still counts: `receive` takes no data.
        offset == 0 || inside(offset) || len > 0 && inside(offset.wrapping_add(len as i32 - 1))
    }

    fn establish(&mut self, now_us: u64, segment: &Segment) {
        self.una = segment.acknowledgment;
        self.nxt = self.nxt.max(self.una);
        self.window_from = (segment.sequence, segment.acknowledgment);
        self.window = self.scaled(segment.window);
        self.max_window = self.max_window.max(self.window);
        self.round_trip.acknowledged(self.una, now_us);
        self.retries = 0;
        self.due_us[Timer::Retransmit as usize] = NEVER;
        self.become_state(State::Established);
    }

    #[inline]
    fn acknowledged(&mut self, now_us: u64, segment: &Segment, acked: i32) {
        let in_flight = self.max.since(self.una) as u32;
        let window = self.scaled(segment.window);
        if acked > 0 {
            let bytes = self.output.len().min(acked as usize);
            self.output.take(bytes);
            self.una = segment.acknowledgment;
            self.nxt = self.nxt.max(self.una);
            self.round_trip.acknowledged(self.una, now_us);
            self.scoreboard.acknowledged(self.una);
            let advice = self.congestion.acknowledged(acked as u32, in_flight, self.una);
            // What selective acknowledgments had us send again a moment ago is on its way.
            self.repeats |= advice == Advice::Repeat && self.una.since(self.repaired) >= 0;
            self.repaired = self.repaired.max(self.una);
            let is_all = self.una == self.max;
            self.due_us[Timer::Retransmit as usize] =
                if is_all { NEVER } else { now_us + self.round_trip.timeout_us() };
            if acked as usize > bytes {
                self.fin_acknowledged();
            }
        } else if acked == 0 && in_flight > 0 && segment.is_empty() && window == self.window && window > 0 {
            self.repeats |= self.congestion.repeated(in_flight, self.max) == Advice::Repeat;
        }
        if self.is_selective && !segment.blocks.is_empty() {
            self.selected(segment);
        }
        if acked >= 0 {
            self.retries = 0;
            let (number, acknowledgment) = self.window_from;
            let newer = segment.sequence.since(number);
            if newer > 0 || newer == 0 && segment.acknowledgment.since(acknowledgment) >= 0 {
                if self.window == 0 && (self.una == self.max || window > 0) {
                    self.due_us[Timer::Retransmit as usize] = NEVER; // it asked for this
                    self.nxt = self.una; // what a probe brought was not taken
                    self.round_trip.forget();
                }
                self.window = window;
                self.max_window = self.max_window.max(window);
                self.window_from = (segment.sequence, segment.acknowledgment);
            }
        }
    }

    /// The other side has more than it acknowledges.
    #[cold]
    fn selected(&mut self, segment: &Segment) {
        for range in segment.selected() {
            let is_ours = |number: Sequence| number.since(self.una) > 0 && number.since(self.max) <= 0;
            if is_ours(range.start) && is_ours(range.end) && range.end.since(range.start) > 0 {
                self.scoreboard.insert(range);
            }
        }
        let is_lost = self.scoreboard.lost_end(self.max_segment_size).is_some();
        if is_lost && self.nxt == self.max {
            let in_flight = self.max.since(self.una) as u32;
            self.repeats |= self.congestion.lost(in_flight, self.max) == Advice::Repeat;
        }
    }

    fn fin_acknowledged(&mut self) {
        self.closing = false; // it is sent once, and has come
        match self.state {
            State::FinWait1 => self.become_state(State::FinWait2),
            State::Closing => self.become_state(State::TimeWait),
            State::LastAck => self.become_state(State::Closed),
            _ => {}
        }
    }

    /// Takes a segment's data and FIN. Returns the data if nothing else waits.
    #[inline]
    fn receive<'a>(&mut self, now_us: u64, segment: &Segment<'a>, offset: i32) -> &'a [u8] {
        if segment.is_empty() || !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            if !segment.is_empty() {
                self.acknowledges = true; // its sender does not know that it has come before
            }
            return &[];
        }
        if segment.flags.has(Flags::FIN) {
            self.fin = Some(segment.sequence + segment.payload.len() as u32);
        }
        let known = (-offset).max(0) as usize;
        let end = self.room().saturating_sub(offset.max(0) as usize) + known;
        let new = segment.payload.get(known..end.min(segment.payload.len())).unwrap_or(&[]);
        let mut fresh: &[u8] = &[];
        if offset > 0 {
            self.acknowledges = true; // says at once which number is missing
            self.reassembly.insert(segment.sequence, new);
        } else {
            self.next = self.next + new.len() as u32;
            let is_alone = self.input.is_empty() && self.reassembly.is_empty();
            if self.state != State::Established {
                self.acknowledges = true; // nobody is there to take it
                self.next = self.reassembly.take(self.next, |_| {});
            } else if is_alone {
                fresh = new;
            } else {
                self.input.push(new);
                self.acknowledges |= !self.reassembly.is_empty();
                self.next = self.reassembly.take(self.next, |bytes| self.input.push(bytes));
            }
            // What is longer than one is segments that the device has joined.
            let segments = if new.len() > self.max_segment_size() { 2 } else { 1 };
            self.unacknowledged = self.unacknowledged.saturating_add(segments);
            self.acknowledges |= self.unacknowledged >= 2 || new.is_empty();
            let due_us = &mut self.due_us[Timer::Acknowledge as usize];
            *due_us = (*due_us).min(now_us + ACKNOWLEDGE_US);
        }
        if self.fin == Some(self.next) {
            self.next = self.next + 1;
            self.reassembly.clear(); // nothing comes behind a FIN
            self.acknowledges = true;
            match self.state {
                State::Established => self.become_state(State::CloseWait),
                State::FinWait1 => self.become_state(State::Closing),
                State::FinWait2 => self.become_state(State::TimeWait),
                _ => {}
            }
        }
        fresh
    }

    /// A moment has come that a timer was set for; or has not, and nothing happens.
    pub(crate) fn expire(&mut self, now_us: u64) {
        if self.due_us(Timer::Acknowledge) <= now_us {
            self.acknowledges = true;
        }
        if self.due_us(Timer::Idle) <= now_us {
            self.keep_alives += 1;
            if matches!(self.state, State::FinWait2 | State::TimeWait) || self.keep_alives > MAX_KEEP_ALIVES {
                self.state = State::Closed;
            }
            self.due_us[Timer::Idle as usize] = now_us + KEEP_ALIVE_AGAIN_US;
        }
        if self.due_us(Timer::Retransmit) <= now_us {
            self.due_us[Timer::Retransmit as usize] = NEVER;
            if core::mem::take(&mut self.is_blocked) {
                return;
            }
            self.retries += 1;
            let max_retries = if self.state == State::SynReceived { MAX_SYN_RETRIES } else { MAX_RETRIES };
            if self.retries > max_retries {
                self.state = State::Closed;
                return;
            }
            if self.window > 0 {
                self.congestion.timed_out(self.max.since(self.una) as u32);
            }
            self.probes = self.window == 0;
            self.round_trip.back_off();
            self.nxt = self.una;
            self.repaired = self.una;
            if self.scoreboard.has(self.una) {
                self.scoreboard.clear();
            }
        }
    }

    /// How many bytes the input has room for.
    #[inline]
    fn room(&self) -> usize {
        INPUT_LIMIT.saturating_sub(self.input.len())
    }

    #[inline]
    fn scaled(&self, window: u16) -> u32 {
        u32::from(window) << self.window_scale.unwrap_or(0)
    }

    fn become_state(&mut self, state: State) {
        self.state = state;
        self.schedule_idle();
    }

    #[inline]
    fn schedule_idle(&mut self) {
        let lingers = matches!(self.state, State::FinWait2 | State::TimeWait);
        self.due_us[Timer::Idle as usize] = self.heard_us + if lingers { LINGER_US } else { KEEP_ALIVE_US };
    }
}
