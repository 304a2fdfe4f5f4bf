//! From a frame to its answer: ARP, ICMP's echo, and TCP and UDP with a service behind their ports.

mod cores;
mod datagrams;
mod entry;
mod exchange;
mod moving;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::AtomicBool;

use crate::device::{Cut, Frame, PartialChecksum, Transmit};
use crate::random;
use crate::service::{Output, Served, Service};
use crate::tcp::{Connection, Id, Key, NEVER, Peer, Sequence, State, Table, Timer, Wheel};
use crate::wire::ethernet::{self, EtherType, MacAddress};
use crate::wire::ipv4::{self, Address};
use crate::wire::tcp::{Flags, Segment};
use crate::wire::{arp, icmp, tcp, udp};

pub use cores::Cores;
use entry::Entry;
pub use exchange::Exchange;
use exchange::{Among, Route};

/// Of so many connections, the newest, each may still owe its first acknowledgment; an older one that does is
/// forgotten.
const MAX_HALF_OPEN: usize = 1024;
/// No timer is set for later: what is left of those of a connection that is gone does not pile up.
const MAX_TIMER_US: u64 = 60_000_000;
/// A timer that is far off may come so much later, so that one wake-up serves many of them.
const FAR_US: u64 = 100_000;
const SLACK_US: u64 = 1 << 15;
/// Where the payload of a packet begins in its frame.
const PAYLOAD_START: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

/// Who we are.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Our station.
    pub mac: MacAddress,
    /// Our address.
    pub address: Address,
    /// How many connections there are at most; of several cores, each accepts no more than its share of them.
    pub max_connections: usize,
    /// What nobody else can know: the first numbers of connections follow from it.
    pub secret: [u64; 2],
}

/// The stack of one core, its connections, and the service.
#[derive(Debug)]
pub struct Stack<S: Service> {
    config: Config,
    numbers: random::Key,
    service: S,
    table: Table<Entry<S::Session>>,
    half_open: VecDeque<Id>,
    wheel: Wheel<(Id, Timer)>,
    fired: Vec<(Id, Timer)>,
    among: Option<Among<S::Session>>,
    news: Arc<AtomicBool>,
    is_parked: bool,
}

impl<S: Service> Stack<S> {
    /// No connections yet.
    pub fn new(config: Config, service: S, now_us: u64) -> Stack<S> {
        Self::with(config, service, now_us, None)
    }

    /// That of a core, by its number, among others of the same `config`.
    pub fn of_core(
        core: usize,
        exchange: Arc<Exchange<S::Session>>,
        config: Config,
        service: S,
        now_us: u64,
    ) -> Stack<S> {
        Self::with(config, service, now_us, Some(Among::new(exchange, core)))
    }

    fn with(config: Config, service: S, now_us: u64, among: Option<Among<S::Session>>) -> Stack<S> {
        let numbers = random::Key(config.secret);
        let cores = among.as_ref().map_or(1, |among| among.exchange.cores.count());
        Stack {
            config,
            numbers,
            service,
            table: Table::new(config.max_connections.div_ceil(cores), numbers.hash([0, 1])),
            half_open: VecDeque::new(),
            wheel: Wheel::new(now_us),
            fired: Vec::new(),
            news: among.as_ref().map_or_else(Arc::default, Among::news),
            is_parked: false,
            among,
        }
    }

    /// The service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// How many connections there are, half-open and closed ones that are remembered among them.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// When to call [`expire`](Self::expire) at the latest.
    #[inline]
    pub fn next_us(&self) -> u64 {
        self.wheel.next_us().min(self.service.next_us())
    }

    /// Serves a frame to its end.
    #[inline(always)] // in the loop of a core, though letters of others come here too
    pub fn receive(&mut self, now_us: u64, frame: Frame, transmit: &mut impl Transmit) {
        let Some((header, payload)) = ethernet::parse(frame.bytes) else { return };
        let is_ours = header.destination == self.config.mac;
        if !is_ours && header.destination != ethernet::BROADCAST || ethernet::is_group(header.source) {
            return;
        }
        match header.kind {
            // What every station hears is for no address of one (RFC 1122, section 3.3.6).
            EtherType::Ipv4 if is_ours => {
                self.receive_packet(now_us, header.source, payload, frame, transmit);
            }
            EtherType::Ipv4 => {}
            EtherType::Arp => self.answer_arp(payload, transmit),
        }
    }

    /// Serves the timers that are due, the service's too.
    pub fn expire(&mut self, now_us: u64, transmit: &mut impl Transmit) {
        if self.service.next_us() <= now_us {
            self.service.expire(now_us);
        }
        if self.wheel.next_us() > now_us {
            return;
        }
        let mut fired = core::mem::take(&mut self.fired);
        self.wheel.advance(now_us, &mut fired);
        for (id, timer) in fired.drain(..) {
            let Some(entry) = self.table.get_mut(id) else { continue };
            entry.connection.set_us[timer as usize] = NEVER;
            if entry.connection.due_us(timer) <= now_us {
                entry.connection.expire(now_us);
            }
            self.finish(now_us, id, transmit);
        }
        self.fired = fired;
    }

    fn answer_arp(&mut self, payload: &[u8], transmit: &mut impl Transmit) {
        let Some(question) = arp::parse(payload) else { return };
        let is_for_us = question.is_request && question.target.1 == self.config.address;
        if !is_for_us || ethernet::is_group(question.sender.0) {
            return;
        }
        let sender = (self.config.mac, self.config.address);
        let answer = arp::Message { is_request: false, sender, target: question.sender };
        let header = ethernet::Header { destination: question.sender.0, source: self.config.mac, kind: EtherType::Arp };
        // Who is not answered asks again.
        let _ = transmit.send(ethernet::HEADER_LEN + arp::LEN, None, |frame| {
            ethernet::write(&header, frame);
            arp::write(&answer, &mut frame[ethernet::HEADER_LEN..]);
        });
    }

    #[inline(always)]
    fn receive_packet(
        &mut self,
        now_us: u64,
        mac: MacAddress,
        packet: &[u8],
        frame: Frame,
        transmit: &mut impl Transmit,
    ) {
        let checksum_is_right = frame.checksum_is_right;
        let Some((header, payload)) = ipv4::parse(packet, checksum_is_right) else { return };
        if header.destination != self.config.address || !self.can_send(header.source) {
            return;
        }
        match header.protocol {
            ipv4::TCP => {
                if let Some(segment) = tcp::parse(payload, header.source, header.destination, checksum_is_right) {
                    let peer = Peer { mac, address: header.source, port: segment.source_port };
                    self.receive_segment(now_us, peer, &segment, frame, transmit);
                }
            }
            ipv4::UDP => {
                if let Some(datagram) = udp::parse(payload, header.source, header.destination, checksum_is_right) {
                    let peer = Peer { mac, address: header.source, port: datagram.source_port };
                    self.receive_datagram(now_us, peer, packet, &datagram, transmit);
                }
            }
            ipv4::ICMP if icmp::is_echo_request(payload) => self.echo(mac, header.source, payload, transmit),
            _ => {}
        }
    }

    /// Whether an address may be another host's, and one host's only (RFC 1122, section 3.2.1.3). Our net is the
    /// addresses that differ from ours in the last byte.
    #[inline]
    fn can_send(&self, source: Address) -> bool {
        let [a, b, c, _] = self.config.address;
        match source {
            [0 | 127 | 224..=239, ..] | [255, 255, 255, 255] => false,
            _ => source != self.config.address && source != [a, b, c, 255],
        }
    }

    fn echo(&self, mac: MacAddress, destination: Address, question: &[u8], transmit: &mut impl Transmit) {
        let config = &self.config;
        let _ = transmit.send(PAYLOAD_START + question.len(), None, |frame| {
            write_headers(config, (mac, destination), ipv4::ICMP, frame);
            frame[PAYLOAD_START..].copy_from_slice(question);
            icmp::make_reply(&mut frame[PAYLOAD_START..]);
        });
    }

    #[inline(always)]
    fn receive_segment(
        &mut self,
        now_us: u64,
        peer: Peer,
        segment: &Segment,
        frame: Frame,
        transmit: &mut impl Transmit,
    ) {
        let key = Key::new(peer.address, peer.port, segment.destination_port);
        let id = loop {
            if let Some(id) = self.table.find(key) {
                break id;
            }
            if !self.has_come(now_us, key, peer, segment, frame, transmit) {
                return;
            }
        };
        let Some(Entry { connection, is_open, session, .. }) = self.table.get_mut(id) else { return };
        // A new connection from the same port, while the last one is only remembered (RFC 9293, section 3.10.7.4).
        if connection.state() == State::TimeWait && segment.flags & (Flags::SYN | Flags::ACK) == Flags::SYN {
            self.remove(id);
            self.has_come(now_us, key, peer, segment, frame, transmit);
            return;
        }
        let was_half_open = connection.state() == State::SynReceived;
        let arrival = connection.arrive(now_us, segment);
        if was_half_open && !matches!(connection.state(), State::SynReceived | State::Closed) {
            *is_open = self.service.opened(session, &mut Output::new(&mut connection.output));
            if !*is_open {
                connection.close();
            }
        }
        if let Some(number) = arrival.reset {
            self.reset(peer, segment.destination_port, number, None, transmit);
        }
        self.serve(now_us, id, arrival.fresh);
        self.finish(now_us, id, transmit);
    }

    /// A segment is of no connection that we know. Whether that has come from another core by now; else the segment is
    /// served to its end.
    #[inline(never)]
    fn has_come(
        &mut self,
        now_us: u64,
        key: Key,
        peer: Peer,
        segment: &Segment,
        frame: Frame,
        transmit: &mut impl Transmit,
    ) -> bool {
        match self.route(now_us, key, opens(segment), frame) {
            Route::Ours { listed } => self.receive_stranger(now_us, key, peer, segment, listed, transmit),
            Route::Sent => {}
            Route::Arriving => return true,
        }
        false
    }

    /// A segment of no connection that any core knows; `is_listed` if it opens one and others know of that.
    fn receive_stranger(
        &mut self,
        now_us: u64,
        key: Key,
        peer: Peer,
        segment: &Segment,
        is_listed: bool,
        transmit: &mut impl Transmit,
    ) {
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            return;
        }
        let session = opens(segment).then(|| self.service.accept(peer.address, segment.destination_port)).flatten();
        let Some(session) = session else {
            if is_listed {
                self.strike(key);
            }
            let (number, acknowledgment) = if flags.has(Flags::ACK) {
                (segment.acknowledgment, None)
            } else {
                (Sequence(0), Some(segment.sequence + segment.len()))
            };
            self.reset(peer, segment.destination_port, number, acknowledgment, transmit);
            return;
        };
        self.make_room_for_half_open();
        if self.table.len() >= self.share() {
            if is_listed {
                self.strike(key);
            }
            return; // who wants in asks again
        }
        // RFC 6528: a clock of 4 us, and a number that is this connection's own.
        let first = Sequence(self.numbers.hash([key.number(), 0]) as u32) + (now_us / 4) as u32;
        let max_cut_payload = transmit.max_cut_len().saturating_sub(PAYLOAD_START + tcp::HEADER_LEN);
        let connection = Connection::accept(now_us, peer, segment, first, max_cut_payload);
        let entry = Entry { connection, session, is_open: false, is_listed, home: self.via() };
        let id = self.table.insert(key, Box::new(entry));
        self.half_open.push_back(id);
        self.finish(now_us, id, transmit);
    }

    /// How many connections this core accepts.
    fn share(&self) -> usize {
        let serving = self.among.as_ref().map_or(1, |among| among.exchange.cores.serving());
        self.config.max_connections.div_ceil(serving)
    }

    fn make_room_for_half_open(&mut self) {
        while self.half_open.len() >= MAX_HALF_OPEN {
            let Some(oldest) = self.half_open.pop_front() else { break };
            let entry = self.table.get_mut(oldest);
            if entry.is_some_and(|entry| entry.connection.state() == State::SynReceived) {
                self.remove(oldest);
            }
        }
    }

    /// Hands input to the service: what is fresh, or what waits.
    #[inline]
    fn serve(&mut self, now_us: u64, id: Id, fresh: &[u8]) {
        let Some(Entry { connection, session, .. }) = self.table.get_mut(id) else { return };
        if !connection.is_served() {
            return;
        }
        let mut close = false;
        if Output::new(&mut connection.output).is_full() {
            connection.keep(fresh);
        } else if !fresh.is_empty() {
            let served = self.service.serve(now_us, session, fresh, &mut Output::new(&mut connection.output));
            connection.keep(&fresh[served.taken..]);
            close = served.close;
        }
        while !close && !connection.input.is_empty() && !Output::new(&mut connection.output).is_full() {
            let mut output = Output::new(&mut connection.output);
            let Served { taken, close: closes } =
                self.service.serve(now_us, session, connection.input.bytes(), &mut output);
            connection.took(taken);
            close = closes;
            if taken == 0 {
                break;
            }
        }
        // Who has said his last gets the answers to it, and what is no whole request has none.
        if close || connection.has_ended() && !Output::new(&mut connection.output).is_full() {
            connection.close();
        }
    }

    /// Sends what a connection has to send, sets its timers, and forgets it when it is gone.
    #[inline]
    fn finish(&mut self, now_us: u64, id: Id, transmit: &mut impl Transmit) {
        self.send(now_us, id, transmit);
        let Some(entry) = self.table.get_mut(id) else { return };
        let connection = &entry.connection;
        if connection.is_served() && (!connection.input.is_empty() || connection.has_ended()) {
            // The output may have room again.
            self.serve(now_us, id, &[]);
            self.send(now_us, id, transmit);
        }
        let Some(entry) = self.table.get_mut(id) else { return };
        if entry.connection.state() == State::Closed {
            self.remove(id);
            return;
        }
        let connection = &mut entry.connection;
        for timer in Timer::ALL {
            let due_us = connection.due_us(timer);
            if due_us == NEVER {
                continue;
            }
            let due_us = due_us.min(now_us + MAX_TIMER_US);
            let due_us = if due_us > now_us + FAR_US { due_us.next_multiple_of(SLACK_US) } else { due_us };
            if due_us < connection.set_us[timer as usize] {
                connection.set_us[timer as usize] = due_us;
                self.wheel.set(due_us, (id, timer));
            }
        }
    }

    #[inline]
    fn send(&mut self, now_us: u64, id: Id, transmit: &mut impl Transmit) {
        let Some(Entry { connection, .. }) = self.table.get_mut(id) else { return };
        let (peer, segment_size) = (connection.peer, connection.max_segment_size());
        let config = &self.config;
        connection.transmit(now_us, |segment| send_segment(config, &peer, segment, segment_size, transmit));
    }

    fn reset(
        &self,
        peer: Peer,
        source_port: u16,
        sequence: Sequence,
        acknowledgment: Option<Sequence>,
        transmit: &mut impl Transmit,
    ) {
        let segment = Segment {
            source_port,
            destination_port: peer.port,
            sequence,
            acknowledgment: acknowledgment.unwrap_or(Sequence(0)),
            flags: if acknowledgment.is_some() { Flags::RST | Flags::ACK } else { Flags::RST },
            window: 0,
            max_segment_size: None,
            window_scale: None,
            is_selective: false,
            blocks: &[],
            payload: &[],
        };
        // Who is not told asks again.
        let _ = send_segment(&self.config, &peer, &segment, 0, transmit);
    }

    #[inline(never)]
    fn remove(&mut self, id: Id) {
        if let Some(entry) = self.table.remove(id) {
            if entry.is_listed {
                self.strike(entry.connection.key());
            }
            if entry.is_open {
                self.service.closed(entry.session);
            }
        }
    }
}

/// Whether a segment is to open a connection.
fn opens(segment: &Segment) -> bool {
    segment.flags & (Flags::SYN | Flags::ACK | Flags::RST) == Flags::SYN
}

/// Sends a segment, which the device cuts if its payload has more than `segment_size` bytes.
#[inline]
fn send_segment(
    config: &Config,
    peer: &Peer,
    segment: &Segment,
    segment_size: usize,
    transmit: &mut impl Transmit,
) -> bool {
    let header_len = PAYLOAD_START + segment.header_len();
    let device_completes = transmit.completes_checksums();
    let is_cut = segment.payload.len() > segment_size;
    let cut = is_cut.then_some(Cut { header_len, payload_len: segment_size });
    let checksum = PartialChecksum { start: PAYLOAD_START, offset: tcp::CHECKSUM_OFFSET, cut };
    transmit.send(header_len + segment.payload.len(), device_completes.then_some(checksum), |frame| {
        write_headers(config, (peer.mac, peer.address), ipv4::TCP, frame);
        tcp::write(segment, &mut frame[PAYLOAD_START..]);
        tcp::write_checksum(&mut frame[PAYLOAD_START..], config.address, peer.address, device_completes);
    })
}

/// Writes what stands in front of a packet's payload, which is the rest of the frame.
#[inline]
fn write_headers(config: &Config, (mac, destination): (MacAddress, Address), protocol: u8, frame: &mut [u8]) {
    let header = ethernet::Header { destination: mac, source: config.mac, kind: EtherType::Ipv4 };
    let ip = ipv4::Header { source: config.address, destination, protocol };
    let payload_len = frame.len() - PAYLOAD_START;
    ethernet::write(&header, frame);
    ipv4::write(&ip, payload_len, &mut frame[ethernet::HEADER_LEN..]);
}
