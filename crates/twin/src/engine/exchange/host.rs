//! One machine of a closed loop: its card, its core, the application's end of the connection.

use std::collections::VecDeque;

use crate::costs::Costs;
use crate::engine::sleeper::IdleModel;
use crate::engine::tally::{CoreTally, Tally};
use crate::engine::vector::{NEVER_US, max, min};
use crate::idle::{Chooser, IdlePeriod};
use crate::moderation::{Moderation, PollWork};
use crate::profile::Exchange;
use crate::profile::limits::MAX_POLL_BUDGET;
use crate::profile::machine::Rewrite;
use crate::rng::Rng;

/// What both machines share and neither changes.
pub struct Shared {
    /// Idle states.
    pub idle: IdleModel,
    /// Wire and pieces.
    pub exchange: Exchange,
    /// Size of the message.
    pub message_bytes: f64,
    /// Whether cores spin on their queues.
    pub polls: bool,
    /// Mean of the exponential delay of every piece.
    pub jitter_us: f64,
    /// From the last frame of a piece to its transmit completion.
    pub completion_us: f64,
    /// From the end of a frame to the other card's receive event, coalescing included.
    pub arrival_us: f64,
    /// Completions that the card reports twice.
    pub rewrite: Rewrite,
}

/// A frame at the receiving card.
#[derive(Clone, Copy)]
struct Frame {
    arrived_us: f64,
    /// Payload; zero for a bare acknowledgement.
    bytes: f64,
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

/// One machine.
pub struct Host<M, I> {
    moderation: M,
    chooser: I,
    rng: Rng,
    /// P-state.
    pub step: usize,
    /// Where the core's time went.
    pub tally: CoreTally,
    received: VecDeque<Frame>,
    completions: VecDeque<Completion>,
    /// No interrupt fires before this.
    throttled_until_us: f64,
    fired: Option<Fired>,
    /// When the core finishes what it does, or went idle.
    free_us: f64,
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
    unacknowledged_bytes: f64,
    /// When the message was last complete.
    complete_us: f64,
}

impl<M: Moderation, I: Chooser> Host<M, I> {
    /// At rest at time zero.
    pub fn new(moderation: M, chooser: I, rng: Rng) -> Self {
        Self {
            moderation,
            chooser,
            rng,
            step: 0,
            tally: CoreTally::default(),
            received: VecDeque::new(),
            completions: VecDeque::new(),
            throttled_until_us: 0.0,
            fired: None,
            free_us: 0.0,
            wire_free_us: 0.0,
            blocked: true,
            readable_bytes: 0.0,
            read_bytes: 0.0,
            unwritten_bytes: 0.0,
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
        let received_us = self.received.front().map_or(NEVER_US, |frame| frame.arrived_us);
        if shared.polls {
            return received_us;
        }
        let completed_us = self.completions.front().map_or(NEVER_US, |completion| completion.at_us);
        max(min(received_us, completed_us), self.throttled_until_us)
    }

    /// Does what is next, at `now_us`; frames go to `peer`.
    pub fn act(&mut self, now_us: f64, costs: &Costs, shared: &Shared, peer: &mut Self, tally: &mut Tally) {
        let due_us = self.due_us(shared);
        if let Some(fired) = self.fired.take() {
            self.interrupt(fired, costs, shared, peer, tally);
        } else if due_us <= self.free_us {
            self.interrupt(Fired { at_us: due_us, cold_us: 0.0 }, costs, shared, peer, tally);
        } else if self.readable_bytes > 0.0 {
            self.read(costs, shared, tally);
        } else if self.unwritten_bytes > 0.0 {
            self.write(costs, shared, peer);
        } else {
            self.wake(now_us, costs, shared, tally);
        }
    }

    /// Ends the idle period with the interrupt that fires now.
    fn wake(&mut self, now_us: f64, costs: &Costs, shared: &Shared, tally: &mut Tally) {
        let period = IdlePeriod { start_us: self.free_us, length_us: now_us - self.free_us };
        let mut fired = Fired { at_us: now_us, cold_us: 0.0 };
        self.free_us = now_us;
        if shared.polls {
            self.tally.busy(period.length_us); // spent looking at the queue in vain
        } else {
            let wake = shared.idle.sleep(&mut self.chooser, period, costs, tally, &mut self.tally);
            fired.cold_us = wake.cold_us;
            self.free_us += wake.exit_us;
        }
        self.fired = Some(fired);
    }

    /// Spins until `until_us` when it polls and has nothing to do.
    pub fn spin(&mut self, until_us: f64, shared: &Shared) {
        if shared.polls && self.free_us < until_us {
            self.tally.busy(until_us - self.free_us);
            self.free_us = until_us;
        }
    }

    /// Takes an interrupt: all frames and completions that are there.
    fn interrupt(&mut self, fired: Fired, costs: &Costs, shared: &Shared, peer: &mut Self, tally: &mut Tally) {
        let start_us = self.free_us;
        let (mut frames, mut bytes) = (0_usize, 0.0);
        while let Some(&frame) = self.received.front().filter(|frame| frame.arrived_us <= start_us) {
            self.received.pop_front();
            frames += 1;
            bytes += frame.bytes;
        }
        if frames > 0 {
            self.chooser.arrival(start_us);
        }
        let (mut done, mut done_packets, mut done_bytes) = (0.0, 0, 0.0);
        while let Some(&completion) = self.completions.front().filter(|completion| completion.at_us <= start_us) {
            self.completions.pop_front();
            done += 1.0;
            done_packets += completion.packets;
            done_bytes += completion.bytes;
        }
        let full_polls = (frames / MAX_POLL_BUDGET) as f64;
        let took_us = costs.interrupt_us
            + fired.cold_us
            + full_polls * costs.packets_us[MAX_POLL_BUDGET]
            + costs.packets_us[frames % MAX_POLL_BUDGET]
            + done * costs.tx_clean_us;
        self.moderation.observe(PollWork {
            now_us: start_us,
            rx_packets: frames as u32,
            rx_bytes: bytes + frames as f64 * HEADER_BYTES,
            tx_packets: done_packets,
            tx_bytes: done_bytes + f64::from(done_packets) * HEADER_BYTES,
        });
        let interval_us = self.moderation.interval_us();
        self.throttled_until_us = fired.at_us + interval_us;
        self.free_us = start_us + took_us;
        self.readable_bytes += bytes;
        self.unacknowledged_bytes += bytes;
        if self.unacknowledged_bytes >= shared.exchange.ack_every_bytes {
            self.unacknowledged_bytes = 0.0;
            self.send(0.0, shared, peer);
        }
        tally.interrupts += u64::from(!shared.polls);
        tally.interval_us += interval_us;
        tally.packets += frames as u64;
        self.tally.busy(took_us);
    }

    /// Reads a piece; once the message is complete, it is to be sent back.
    fn read(&mut self, costs: &Costs, shared: &Shared, tally: &mut Tally) {
        let piece_bytes = min(self.readable_bytes, shared.exchange.piece_bytes);
        let mut took_us = piece_bytes * costs.copy_us_per_byte;
        if std::mem::take(&mut self.blocked) {
            took_us += costs.thread_wake_us;
            tally.thread_wakes += 1;
        }
        self.readable_bytes -= piece_bytes;
        self.read_bytes += piece_bytes;
        if self.read_bytes >= shared.message_bytes {
            self.read_bytes = 0.0;
            self.unwritten_bytes = shared.message_bytes;
            self.unacknowledged_bytes = 0.0; // the message that goes back acknowledges this one
            took_us += costs.service_us[1];
            let complete_us = self.free_us + took_us;
            tally.latency.record((complete_us - self.complete_us) as f32);
            tally.completed += 1;
            self.complete_us = complete_us;
        } else if self.readable_bytes == 0.0 {
            self.blocked = true;
        }
        self.free_us += took_us;
        self.tally.busy(took_us);
    }

    /// Writes a piece and hands it to the card.
    fn write(&mut self, costs: &Costs, shared: &Shared, peer: &mut Self) {
        let piece_bytes = min(self.unwritten_bytes, shared.exchange.piece_bytes);
        let took_us = piece_bytes * costs.copy_us_per_byte;
        self.free_us += took_us;
        self.unwritten_bytes -= piece_bytes;
        self.send(piece_bytes, shared, peer);
        let after_us = if self.unwritten_bytes == 0.0 { costs.after_response_us } else { 0.0 };
        self.blocked = self.unwritten_bytes == 0.0;
        self.free_us += after_us;
        self.tally.busy(took_us + after_us);
    }

    /// Puts a piece on the wire as frames, or an acknowledgement when it is empty.
    fn send(&mut self, piece_bytes: f64, shared: &Shared, peer: &mut Self) {
        let exchange = &shared.exchange;
        let us_per_byte = 8.0 / exchange.wire_mbit_s;
        let mut wire_us = max(self.wire_free_us, self.free_us + shared.jitter_us * self.rng.exponential());
        let mut left_bytes = piece_bytes;
        let mut packets = 0;
        loop {
            let bytes = min(left_bytes, exchange.segment_bytes);
            wire_us += (bytes + exchange.overhead_bytes) * us_per_byte;
            peer.received.push_back(Frame { arrived_us: wire_us + shared.arrival_us, bytes });
            packets += 1;
            left_bytes -= bytes;
            if left_bytes <= 0.0 {
                break;
            }
        }
        self.wire_free_us = wire_us;
        let at_us = wire_us + shared.completion_us;
        self.completions.push_back(Completion { at_us, packets, bytes: piece_bytes });
        if self.rng.next_u64() & 0xffff < shared.rewrite.threshold {
            self.completions.push_back(Completion { at_us: at_us + shared.rewrite.later_us, packets: 0, bytes: 0.0 });
        }
    }
}

/// Ethernet, IP and TCP headers as the driver counts them.
const HEADER_BYTES: f64 = 66.0;
