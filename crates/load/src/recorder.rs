//! What one thread measures, and how it hands finished batches over without stopping.

use std::sync::mpsc::Sender;

use crate::connection::Request;
use crate::protocol::{Kind, Outcome, Reply};
use crate::received::Received;
use crate::report::{BATCHES, Batch, Counts, Loss, Report, Sample};

/// Why a request was lost that waited until it was too late.
const NO_ROOM: &str =
    "no connection had room in time: one was being opened, or the server or --depth limits what is under way";

/// The measured part of a run on the clock.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// When the run starts.
    pub origin_ns: u64,
    /// When the warm-up ends and the measurement begins.
    pub start_ns: u64,
    /// When the measurement ends.
    pub end_ns: u64,
}

/// A batch, or what came later for it.
pub struct Piece {
    /// Which batch.
    pub index: usize,
    /// What is in it.
    pub batch: Batch,
}

/// Counts what happens to the requests whose intended send time lies in the window.
///
/// A batch is handed over when the next one has ended as well; replies that are even later go into another piece of
/// it, which is merged.
pub struct Recorder {
    window: Window,
    batches_per_ns: f64,
    open: Vec<Option<Batch>>,
    handed_over: usize,
    pieces: Sender<Piece>,
    /// What was seen of each request of a mix.
    ways: Vec<Batch>,
    /// What does not belong to a batch.
    pub totals: Report,
    save_samples: bool,
}

impl Recorder {
    /// Nothing measured yet, of a mix of so many requests; 0 where they are not told apart.
    pub fn new(window: Window, pieces: Sender<Piece>, save_samples: bool, ways: usize) -> Self {
        let batches_per_ns = BATCHES as f64 / (window.end_ns - window.start_ns) as f64;
        let open = (0..BATCHES).map(|_| None).collect();
        let ways = vec![Batch::default(); ways];
        Self { window, batches_per_ns, open, handed_over: 0, pieces, ways, totals: Report::default(), save_samples }
    }

    /// Ends the measurement earlier.
    pub fn end_at(&mut self, end_ns: u64) {
        self.window.end_ns = self.window.end_ns.min(end_ns);
    }

    /// When the measurement ends.
    pub fn end_ns(&self) -> u64 {
        self.window.end_ns
    }

    #[inline]
    fn measures(&self, time_ns: u64) -> bool {
        (self.window.start_ns..self.window.end_ns).contains(&time_ns)
    }

    fn index(&self, intended_ns: u64) -> usize {
        let index = (intended_ns - self.window.start_ns) as f64 * self.batches_per_ns;
        (index as usize).min(BATCHES - 1)
    }

    fn batch(&mut self, intended_ns: u64) -> &mut Batch {
        let index = self.index(intended_ns);
        self.open[index].get_or_insert_default()
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.totals.counts
    }

    /// A request is about to be written, or has to wait for a reason that is not the generator's.
    #[inline]
    pub fn handled(&mut self, intended_ns: u64, now_ns: u64) {
        if self.measures(intended_ns) {
            self.totals.lateness.record(now_ns.saturating_sub(intended_ns));
        }
    }

    /// A request has to wait for room or for a connection.
    pub fn queued(&mut self, intended_ns: u64) {
        if self.measures(intended_ns) {
            self.counts().queued += 1;
        }
    }

    /// The reply to a request is complete, with what was received last.
    #[inline]
    pub fn answered(&mut self, request: &Request, reply: &Reply<'_>, received: &Received) {
        let arrived_ns = received.arrived_after(request.sent_ns);
        let received_ns = arrived_ns.unwrap_or(received.read_ns);
        let is_refused = reply.outcome == Outcome::Refused;
        if !is_refused && self.measures(received_ns) {
            self.counts().answers_in_time += 1;
        }
        let intended_ns = request.intended_ns;
        if !self.measures(intended_ns) {
            return;
        }
        let counts = self.counts();
        counts.intended += 1;
        counts.gets += u64::from(request.kind == Kind::Get);
        counts.misses += u64::from(reply.outcome == Outcome::Miss);
        if let Some(status) = reply.status {
            counts.add_status(status);
        }
        if is_refused {
            counts.refused += 1;
            self.totals.add_trouble(&reply.message(), 1);
            self.failed(intended_ns, Some(request.way));
            return;
        }
        counts.answered += 1;
        counts.timestamped += u64::from(arrived_ns.is_some());
        self.batch(intended_ns).latency.record(received_ns - intended_ns);
        if let Some(way) = self.ways.get_mut(request.way) {
            way.latency.record(received_ns - intended_ns);
        }
        let from_ns = if request.queued { intended_ns } else { request.sent_ns };
        self.totals.punctual.record(received_ns - from_ns);
        if self.save_samples {
            let origin_ns = self.window.origin_ns;
            self.totals.samples.push(Sample {
                intended_ns: intended_ns - origin_ns,
                sent_ns: request.sent_ns - origin_ns,
                received_ns: received_ns - origin_ns,
            });
        }
    }

    /// A request will never be answered; it was this one of a mix, or was not yet chosen because it waited.
    pub fn lost(&mut self, intended_ns: u64, loss: Loss, way: Option<usize>) {
        if self.measures(intended_ns) {
            // Why there is no connection, or why one broke, is told by itself.
            if way.is_none() && loss == Loss::TimedOut {
                self.totals.add_trouble(NO_ROOM, 1);
            }
            self.counts().intended += 1;
            *self.counts().lost_mut(loss) += 1;
            self.failed(intended_ns, way);
        }
    }

    fn failed(&mut self, intended_ns: u64, way: Option<usize>) {
        self.batch(intended_ns).failed += 1;
        if let Some(way) = way.and_then(|way| self.ways.get_mut(way)) {
            way.failed += 1;
        }
    }

    /// Bytes went out.
    #[inline]
    pub fn sent_bytes(&mut self, bytes: usize, now_ns: u64) {
        if self.measures(now_ns) {
            self.counts().bytes_sent += bytes as u64;
        }
    }

    /// Bytes came in.
    #[inline]
    pub fn received_bytes(&mut self, bytes: usize, now_ns: u64) {
        if self.measures(now_ns) {
            self.counts().bytes_received += bytes as u64;
        }
    }

    /// A connection was opened anew.
    pub fn reconnected(&mut self, now_ns: u64) {
        self.counts().reconnects += u64::from(now_ns >= self.window.start_ns);
    }

    /// A connection broke, or could not be opened.
    pub fn broke(&mut self, what: &str, now_ns: u64) {
        if now_ns >= self.window.start_ns {
            self.totals.add_trouble(what, 1);
        }
    }

    /// Hands over batches that have ended long enough ago.
    pub fn hand_over(&mut self, now_ns: u64) {
        if now_ns < self.window.start_ns {
            return;
        }
        let current = self.index(now_ns);
        while self.handed_over + 1 < current {
            self.hand_over_batch(self.handed_over);
            self.handed_over += 1;
        }
    }

    /// Hands over everything that is left; what does not belong to a batch is the result, with these names in a mix.
    pub fn finish(mut self, names: &[&str]) -> Report {
        (0..BATCHES).for_each(|index| self.hand_over_batch(index));
        self.totals.mix = names.iter().map(|&name| name.to_owned()).zip(self.ways).collect();
        self.totals
    }

    fn hand_over_batch(&mut self, index: usize) {
        if let Some(batch) = self.open[index].take() {
            // The receiver is gone only when the run is being abandoned.
            let _ = self.pieces.send(Piece { index, batch });
        }
    }
}
