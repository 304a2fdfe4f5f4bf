//! Requests under way from interrupts to application threads.

use crate::engine::vector::{Packet, Packets};
use crate::profile::limits::MAX_POLL_BUDGET;

/// What the cores sent each other during a stretch of time, in the order of sending.
pub struct Outbox {
    /// Only the first `len` count; there is always room for another poll behind them.
    packets: Vec<Packet>,
    len: usize,
    /// For each poll, when the requests that it found are ready.
    ready_us: Vec<f64>,
}

impl Outbox {
    /// An empty outbox.
    pub fn new() -> Self {
        Self { packets: vec![Packet::default(); MAX_POLL_BUDGET], len: 0, ready_us: Vec::new() }
    }

    /// Room for the packets of one poll, and the number of that poll.
    #[inline(always)]
    pub fn room(&mut self) -> (&mut Packets, u32) {
        if self.packets.len() - self.len < MAX_POLL_BUDGET {
            self.packets.resize(2 * self.packets.len(), Packet::default());
        }
        let room = self.packets[self.len..].first_chunk_mut().expect("made above");
        (room, self.ready_us.len() as u32)
    }

    /// Sends the first `requests` packets of the room, which are ready at `ready_us`.
    #[inline(always)]
    pub fn send(&mut self, requests: usize, ready_us: f64) {
        self.len += requests;
        self.ready_us.push(ready_us);
    }

    /// Every request with the time at which it is ready.
    #[inline(always)]
    pub fn requests(&self) -> impl Iterator<Item = (Packet, f64)> {
        self.packets[..self.len].iter().map(|&packet| (packet, self.ready_us[packet.poll as usize]))
    }

    /// Forgets everything.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
        self.ready_us.clear();
    }
}
