//! One machine of a closed loop: its card, its core, the application's end of the connection.

use std::collections::VecDeque;

use crate::costs::Costs;
use crate::engine::sleeper::{IdleModel, Sleeper};
use crate::engine::tally::Tally;
use crate::engine::vector::{NEVER_US, max, min};
use crate::idle::{Chooser, IdlePeriod};
use crate::moderation::{Moderation, PollWork};
use crate::profile::limits::MAX_POLL_BUDGET;
use crate::profile::machine::Rewrite;
use crate::profile::{Acknowledgement, Exchange};
use crate::rng::Rng;
use crate::time::CoreTime;

/// What both machines share and neither changes.
pub struct Shared {
    /// Idle states.
    pub idle: IdleModel,
    /// Wire, bursts and acknowledgements.
    pub exchange: Exchange,
    /// Size of the message.
    pub message_bytes: f64,
    /// Whether cores spin on their queues.
    pub polls: bool,
    /// Whether receiving cards merge the frames of the message.
    pub merges: bool,
    /// Mean of the exponential delay of every burst.
    pub jitter_us: f64,
    /// From the time when the card has fetched a burst to its transmit completion.
    pub completion_us: f64,
    /// From a frame's arrival to the interrupt that it asks for; what comes meanwhile shares it.
    pub coalesce_us: f64,
    /// Completions that the card reports twice.
    pub rewrite: Rewrite,
}

/// A frame at the receiving card.
#[derive(Clone, Copy)]
struct Frame {
    arrived_us: f64,
    /// Payload; zero for a bare acknowledgement.
    bytes: f64,
    /// Whether no other frame follows it that it could be merged with.
    is_last: bool,
}

/// What a transmission will report.
#[derive(Clone, Copy)]
struct Completion {
    at_us: f64,
    packets: u32,
    bytes: f64,
}

/// An interrupt that has fired and waits for the core to wake up.
#[derive(Clone, Copy)]
struct Fired {
    at_us: f64,
    cold_us: f64,
}

/// What a poll finds in the receive queue.
struct Received {
    /// Packets as the kernel sees them: frames, merged ones as one.
    packets: usize,
    /// Of those, packets with data.
    data_packets: usize,
    bytes: f64,
    /// Whether some of it came after the interrupt had fired.
    is_late: bool,
}

/// One machine.
pub struct Host<M, I> {
    is_client: bool,
    moderation: M,
    sleeper: Sleeper<I>,
    rng: Rng,
    /// P-state.
    pub step: usize,
    received: VecDeque<Frame>,
    completions: VecDeque<Completion>,
    /// No interrupt fires before this.
    throttled_until_us: f64,
    fired: Option<Fired>,
    /// Whether the last poll took work that had come after its interrupt: the card has raised the
    /// cause again, so that another interrupt fires even if nothing is left for it.
    is_raised: bool,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
    /// When the card has fetched everything.
    fetched_us: f64,
    /// When the outgoing wire has sent everything.
    wire_free_us: f64,
    /// Whether the application waits for data and has to be woken.
    blocked: bool,
    /// Bytes in the kernel that the application has not read.
    readable_bytes: f64,
    /// Bytes of the message that it has.
    read_bytes: f64,
    /// Bytes of the message that it has yet to write.
    unwritten_bytes: f64,
    /// Bytes that are written and wait for the card to be done with those before.
    corked_bytes: f64,
    unacknowledged_bytes: f64,
    /// When the message was last complete.
    complete_us: f64,
}

impl<M: Moderation, I: Chooser> Host<M, I> {
    /// At rest at time zero.
    pub fn new(moderation: M, chooser: I, rng: Rng, step: usize, is_client: bool) -> Self {
        Self {
            is_client,
            moderation,
            sleeper: Sleeper::new(chooser),
            rng,
            step,
            received: VecDeque::new(),
            completions: VecDeque::new(),
            throttled_until_us: 0.0,
            fired: None,
            is_raised: false,
            free_us: 0.0,
            fetched_us: 0.0,
            wire_free_us: 0.0,
            blocked: true,
            readable_bytes: 0.0,
            read_bytes: 0.0,
            unwritten_bytes: 0.0,
            corked_bytes: 0.0,
            unacknowledged_bytes: 0.0,
            complete_us: 0.0,
        }
    }

    /// Has it send the first message.
    pub fn begin(&mut self, message_bytes: f64) {
        self.unwritten_bytes = message_bytes;
    }

    /// When it acts next as things stand.
    pub fn next_us(&self, shared: &Shared) -> f64 {
        let busy = self.fired.is_some() || self.has_work();
        if busy { self.free_us } else { max(self.due_us(shared), self.free_us) }
    }

    fn has_work(&self) -> bool {
        self.readable_bytes > 0.0 || self.unwritten_bytes > 0.0
    }

    /// When the next interrupt fires as things stand, or a spinning core finds a frame.
    fn due_us(&self, shared: &Shared) -> f64 {
        let received_us = self.received.front().map_or(NEVER_US, |frame| frame.arrived_us + shared.coalesce_us);
        if shared.polls {
            return received_us;
        }
        let completed_us = self.completions.front().map_or(NEVER_US, |completion| completion.at_us);
        let raised_us = if self.is_raised { 0.0 } else { NEVER_US };
        max(min(min(received_us, completed_us), raised_us), self.throttled_until_us)
    }

    /// Does what is next, at `now_us`; frames go to `peer`.
    pub fn act(&mut self, now_us: f64, costs: &Costs, shared: &Shared, peer: &mut Self, tally: &mut Tally) {
        let due_us = self.due_us(shared);
        if let Some(fired) = self.fired.take() {
            self.interrupt(fired, costs, shared, peer, tally);
        } else if due_us <= self.free_us {
            self.interrupt(Fired { at_us: due_us, cold_us: 0.0 }, costs, shared, peer, tally);
        } else if self.readable_bytes > 0.0 {
            self.read(costs, shared, peer, tally);
        } else if self.unwritten_bytes > 0.0 {
            self.write(costs, shared, peer);
        } else {
            self.wake(now_us, costs, shared);
        }
    }

    /// Ends the idle period with the interrupt that fires now.
    fn wake(&mut self, now_us: f64, costs: &Costs, shared: &Shared) {
        let period = IdlePeriod { start_us: self.free_us, length_us: now_us - self.free_us };
        let mut fired = Fired { at_us: now_us, cold_us: 0.0 };
        self.free_us = now_us;
        if shared.polls {
            self.sleeper.busy(period.length_us); // spent looking at the queue in vain
        } else {
            let wake = self.sleeper.sleep(&shared.idle, period, costs);
            fired.cold_us = wake.cold_us;
            self.free_us += wake.exit_us;
        }
        self.fired = Some(fired);
    }

    /// Spins until `until_us` when it polls and has nothing to do.
    pub fn spin(&mut self, until_us: f64, shared: &Shared) {
        if shared.polls && self.free_us < until_us {
            self.sleeper.busy(until_us - self.free_us);
            self.free_us = until_us;
        }
    }

    /// Where the time went from when it was last taken until `until_us`.
    pub fn take_time(&mut self, until_us: f64, costs: &Costs, shared: &Shared) -> CoreTime {
        self.sleeper.take_time(&shared.idle, costs, self.free_us, self.next_us(shared), until_us)
    }

    /// Takes an interrupt: all frames and completions that are there.
    fn interrupt(&mut self, fired: Fired, costs: &Costs, shared: &Shared, peer: &mut Self, tally: &mut Tally) {
        let start_us = self.free_us;
        let received = self.receive(fired.at_us, start_us, shared);
        if received.packets > 0 {
            self.sleeper.arrival(start_us);
        }
        self.is_raised = received.is_late;
        let (mut done, mut done_packets, mut done_bytes) = (0.0, 0, 0.0);
        while let Some(&completion) = self.completions.front().filter(|completion| completion.at_us <= start_us) {
            self.completions.pop_front();
            self.is_raised |= completion.at_us > fired.at_us;
            done += 1.0;
            done_packets += completion.packets;
            done_bytes += completion.bytes;
        }
        let full_polls = (received.packets / MAX_POLL_BUDGET) as f64;
        let took_us = costs.interrupt_us
            + fired.cold_us
            + full_polls * costs.packets_us[MAX_POLL_BUDGET]
            + costs.packets_us[received.packets % MAX_POLL_BUDGET]
            + done * costs.tx_clean_us;
        // A new interval holds from the next interrupt on: the driver lets the running one end.
        let interval_us = self.moderation.interval_us();
        self.throttled_until_us = fired.at_us + interval_us;
        self.moderation.observe(PollWork {
            now_us: start_us,
            rx_packets: received.packets as u32,
            rx_bytes: received.bytes + received.packets as f64 * HEADER_BYTES,
            tx_packets: done_packets,
            tx_bytes: done_bytes + f64::from(done_packets) * HEADER_BYTES,
        });
        self.free_us = start_us + took_us;
        if self.corked_bytes > 0.0 && !self.is_sending() {
            let burst_bytes = std::mem::take(&mut self.corked_bytes);
            self.send(burst_bytes, shared, peer);
        }
        self.readable_bytes += received.bytes;
        self.unacknowledged_bytes += received.bytes;
        if shared.exchange.acknowledgement == Acknowledgement::Packets {
            let is_complete = self.read_bytes + self.readable_bytes >= shared.message_bytes;
            let answered = usize::from(is_complete && !self.is_client);
            for _ in answered..received.data_packets {
                self.send(0.0, shared, peer);
            }
        }
        tally.interrupts += u64::from(!shared.polls);
        tally.interval_us += interval_us;
        tally.packets += received.packets as u64;
        self.sleeper.busy(took_us);
    }

    /// Takes the frames that are there at `now_us`, for an interrupt that fired at `fired_us`. A card
    /// that merges hands over what came before it fired, and what came later once it is complete.
    fn receive(&mut self, fired_us: f64, now_us: f64, shared: &Shared) -> Received {
        let (mut acks, mut data_frames, mut bytes, mut is_late) = (0, 0, [0.0, 0.0], false);
        let is_seen =
            |frame: &Frame| frame.arrived_us <= if shared.merges && !frame.is_last { fired_us } else { now_us };
        let here = self.received.iter().take_while(|frame| frame.arrived_us <= now_us).enumerate();
        let count = here.filter(|(_, frame)| is_seen(frame)).last().map_or(0, |(index, _)| index + 1);
        for frame in self.received.drain(..count) {
            is_late = frame.arrived_us > fired_us;
            bytes[usize::from(is_late)] += frame.bytes;
            acks += usize::from(frame.bytes == 0.0);
            data_frames += usize::from(frame.bytes > 0.0);
        }
        let merged = bytes.iter().map(|bytes| (bytes / shared.exchange.merged_bytes).ceil() as usize).sum();
        let data_packets = if shared.merges { merged } else { data_frames };
        Received { packets: acks + data_packets, data_packets, bytes: bytes[0] + bytes[1], is_late }
    }

    /// Reads what is there; once the message is complete, it is to be sent back.
    fn read(&mut self, costs: &Costs, shared: &Shared, peer: &mut Self, tally: &mut Tally) {
        let bytes = std::mem::take(&mut self.readable_bytes);
        let mut took_us = bytes * costs.copy_us_per_byte;
        if std::mem::take(&mut self.blocked) {
            took_us += costs.thread_wake_us;
            tally.thread_wakes += 1;
        }
        self.read_bytes += bytes;
        if self.read_bytes >= shared.message_bytes {
            self.read_bytes = 0.0;
            self.unwritten_bytes = shared.message_bytes;
            took_us += costs.service_us[1];
            let complete_us = self.free_us + took_us;
            tally.latency.record((complete_us - self.complete_us) as f32);
            tally.completed += 1;
            self.complete_us = complete_us;
        } else {
            self.blocked = true;
        }
        self.free_us += took_us;
        self.sleeper.busy(took_us);
        let by_itself = shared.exchange.acknowledgement == Acknowledgement::Reads
            && self.unacknowledged_bytes > shared.exchange.segment_bytes;
        if by_itself {
            self.send(0.0, shared, peer);
        }
        if by_itself || self.unwritten_bytes > 0.0 {
            self.unacknowledged_bytes = 0.0; // a message that goes back acknowledges, too
        }
    }

    /// Copies a burst and hands it to the card.
    fn write(&mut self, costs: &Costs, shared: &Shared, peer: &mut Self) {
        let burst_bytes = min(self.unwritten_bytes, shared.exchange.burst_bytes);
        let took_us = burst_bytes * costs.copy_us_per_byte;
        self.free_us += took_us;
        self.unwritten_bytes -= burst_bytes;
        if shared.exchange.autocorking && burst_bytes < shared.exchange.burst_bytes && self.is_sending() {
            self.corked_bytes = burst_bytes;
        } else {
            self.send(burst_bytes, shared, peer);
        }
        let after_us = if self.unwritten_bytes == 0.0 { costs.after_response_us } else { 0.0 };
        self.blocked = self.unwritten_bytes == 0.0;
        self.free_us += after_us;
        self.sleeper.busy(took_us + after_us);
    }

    /// Whether the card has data of which the kernel does not know yet that they are sent.
    fn is_sending(&self) -> bool {
        self.completions.iter().any(|completion| completion.bytes > 0.0)
    }

    /// Puts a burst on the wire as frames, or an acknowledgement when it is empty.
    fn send(&mut self, burst_bytes: f64, shared: &Shared, peer: &mut Self) {
        let exchange = &shared.exchange;
        let us_per_byte = 8.0 / exchange.wire_mbit_s;
        let start_us = self.free_us + shared.jitter_us * self.rng.exponential();
        self.fetched_us = max(self.fetched_us, start_us) + burst_bytes * 8.0 / exchange.bus_mbit_s;
        let mut wire_us = max(self.wire_free_us, start_us);
        let mut left_bytes = burst_bytes;
        let mut packets = 0;
        loop {
            let bytes = min(left_bytes, exchange.segment_bytes);
            wire_us += (bytes + exchange.overhead_bytes) * us_per_byte;
            left_bytes -= bytes;
            let is_last = left_bytes <= 0.0;
            peer.received.push_back(Frame { arrived_us: wire_us + exchange.wire_us, bytes, is_last });
            packets += 1;
            if left_bytes <= 0.0 {
                break;
            }
        }
        self.wire_free_us = wire_us;
        let at_us = self.fetched_us + shared.completion_us;
        self.completions.push_back(Completion { at_us, packets, bytes: burst_bytes });
        if self.rng.next_u64() & 0xffff < shared.rewrite.threshold {
            self.completions.push_back(Completion { at_us: at_us + shared.rewrite.later_us, packets: 0, bytes: 0.0 });
        }
    }
}

/// Ethernet, IP and TCP headers as the driver counts them.
const HEADER_BYTES: f64 = 66.0;
