//! The timing loop: one thread sends what is due, reads what is there, and never waits for either.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::thread::set_current_timer_slack;

use crate::arrivals::Arrivals;
use crate::clock::{SECOND_NS, now_ns, to_ns};
use crate::connection::{Connection, Request};
use crate::link::State;
use crate::links::{HANDSHAKE_NS, Links};
use crate::mix::Mix;
use crate::plan::{Plan, Schedule};
use crate::popularity::Chooser;
use crate::protocol::{Kind, Protocol};
use crate::received::Received;
use crate::recorder::{Piece, Recorder, Window};
use crate::records::Records;
use crate::report::{Loss, Report};

/// How often timeouts, reconnects and the end of the run are looked at.
const TICK_NS: u64 = SECOND_NS / 1000;
/// Most requests that one turn of the loop gives to the same connection, so that they share a write.
const MOST_TOGETHER: usize = 16;
/// Replies are looked for again after this share of what the last one took, which changes the load too little to matter, ...
const POLL_SHARE: u64 = 50;
/// ... but after this time at the latest.
const LONGEST_POLL_NS: u64 = 200_000;

/// One thread of a run, with its connections.
pub struct Worker<'a, P> {
    plan: &'a Plan,
    records: &'a Records,
    mix: Mix<P>,
    chooser: Chooser,
    rng: SmallRng,
    arrivals: Arrivals,
    /// When the run starts, which arrivals count from.
    origin_ns: u64,
    links: Links,
    /// Links with something to do.
    ready: Vec<usize>,
    /// Links with encoded requests that are not yet written.
    dirty: Vec<usize>,
    /// How many requests were encoded.
    asked: u32,
    /// Intended send times of requests that wait for room or for a connection.
    queue: VecDeque<u64>,
    /// When replies are looked for next.
    ///
    /// A server that lags answers one request at a time to a client that never looks away, and many at once to one that
    /// does; its throughput differs several times.
    poll_ns: u64,
}

impl<'a, P: Protocol> Worker<'a, P> {
    /// One with the connections of its thread.
    pub fn new(plan: &'a Plan, records: &'a Records, mix: Mix<P>, links: Links, thread: usize) -> Self {
        Self {
            plan,
            records,
            mix,
            chooser: plan.workload.popularity.chooser(records.len()),
            rng: SmallRng::seed_from_u64(plan.stream("requests", thread)),
            arrivals: Arrivals::new(plan, thread),
            origin_ns: 0,
            links,
            ready: Vec::new(),
            dirty: Vec::new(),
            asked: 0,
            queue: VecDeque::new(),
            poll_ns: 0,
        }
    }

    /// Runs to the end of the window, or to `end_ns` when that becomes earlier, and drains; what it saw, and its
    /// connections, on which nothing is under way.
    pub fn run(mut self, window: Window, end_ns: &AtomicU64, pieces: Sender<Piece>) -> (Report, Links) {
        if self.plan.blocking {
            // A sleep may last 50 us longer than asked unless a thread wants it otherwise (prctl(2), PR_SET_TIMERSLACK).
            // Where that is forbidden, the lateness shows it.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
        }
        let names = self.plan.names();
        let mut recorder = Recorder::new(window, pieces, self.plan.save_samples, names.len());
        let timeout_ns = to_ns(self.plan.timeout_s);
        let is_closed = self.plan.schedule == Schedule::Closed;
        self.origin_ns = window.origin_ns;
        let mut tick_ns = 0;
        loop {
            let now = now_ns();
            let mut together = 0;
            while let Some(intended) = self.due().filter(|&due| due <= now && due < recorder.end_ns()) {
                if together % MOST_TOGETHER == 0 {
                    self.links.turn();
                }
                together += 1;
                self.arrivals.next();
                self.issue(intended, now, &mut recorder);
            }
            // What waits comes before what is new, in a closed loop too: what a server left unread is sent again.
            if !self.queue.is_empty() {
                self.send_queued();
            }
            if is_closed && (window.origin_ns..recorder.end_ns()).contains(&now) {
                self.fill(now);
            }
            self.write_dirty(&mut recorder);
            if now >= tick_ns {
                recorder.end_at(end_ns.load(Ordering::Relaxed));
                self.tick(now, timeout_ns, &mut recorder);
                tick_ns = now + TICK_NS;
                if now >= recorder.end_ns() && self.is_drained() {
                    return (recorder.finish(&names), self.links);
                }
            }
            let due = self.due();
            if now < self.poll_ns {
                if self.plan.blocking {
                    let until_ns = due.map_or(self.poll_ns, |due| due.min(self.poll_ns));
                    thread::sleep(Duration::from_nanos(until_ns.saturating_sub(now)));
                }
                continue;
            }
            let pause_ns = self.pause_ns(now, due);
            self.links.wait(pause_ns, &mut self.ready);
            for at in 0..self.ready.len() {
                self.react(self.ready[at], &mut recorder);
            }
        }
    }

    /// When the next request is due.
    fn due(&self) -> Option<u64> {
        self.arrivals.peek().map(|offset_ns| self.origin_ns + offset_ns)
    }

    /// How long the loop may sleep: not at all when it polls.
    fn pause_ns(&self, now_ns: u64, due: Option<u64>) -> u64 {
        if self.plan.blocking { due.map_or(TICK_NS, |due| due.saturating_sub(now_ns)).min(TICK_NS) } else { 0 }
    }

    /// A request is due: sends it, or queues it while there is no room.
    fn issue(&mut self, intended_ns: u64, now_ns: u64, recorder: &mut Recorder) {
        if self.queue.is_empty() {
            if let Some(index) = self.links.with_room() {
                self.encode(index, intended_ns, false);
                return;
            }
        }
        recorder.handled(intended_ns, now_ns);
        if self.links.are_down() {
            self.lose(intended_ns, now_ns, Loss::Unconnected, None, recorder);
        } else {
            recorder.queued(intended_ns);
            self.queue.push_back(intended_ns);
        }
    }

    fn send_queued(&mut self) {
        while let Some(index) = self.links.with_room() {
            let Some(intended_ns) = self.queue.pop_front() else { return };
            self.encode(index, intended_ns, true);
        }
    }

    /// Closed loop: a connection that has answered half of what was under way gets as much as the depth allows, so that
    /// requests share writes.
    fn fill(&mut self, now_ns: u64) {
        for index in 0..self.links.len() {
            if self.links.is_half_empty(index) {
                for _ in 0..self.links.free(index) {
                    self.encode(index, now_ns, false);
                }
            }
        }
    }

    fn encode(&mut self, index: usize, intended_ns: u64, queued: bool) {
        let Some(connection) = self.links.connection(index) else { return };
        let update = self.plan.workload.update;
        let kind = if update > 0.0 && self.rng.random::<f64>() < update { Kind::Set } else { Kind::Get };
        let record = self.chooser.choose(&mut self.rng);
        let value = if kind == Kind::Set { self.records.value(record) } else { b"" };
        let (way, protocol) = self.mix.choose(&mut self.rng);
        let mut buffer;
        let key = if protocol.names_records() {
            buffer = Records::key_buffer();
            self.records.key(record, &mut buffer)
        } else {
            b"0"
        };
        let mark = protocol.mark(key, self.asked);
        self.asked = self.asked.wrapping_add(1);
        protocol.encode(kind, key, value, mark, connection.out());
        connection.under_way.push_back(Request { intended_ns, sent_ns: 0, kind, way, mark, queued });
        if connection.unsent == 0 {
            self.dirty.push(index);
        }
        connection.unsent += 1;
    }

    fn write_dirty(&mut self, recorder: &mut Recorder) {
        while let Some(index) = self.dirty.pop() {
            if let Some(connection) = self.links.connection(index) {
                stamp(connection, self.plan.schedule == Schedule::Closed, recorder);
                self.write(index, recorder);
            }
        }
    }

    fn write(&mut self, index: usize, recorder: &mut Recorder) {
        let Some(connection) = self.links.connection(index) else { return };
        match connection.write() {
            Ok((bytes, all)) => {
                recorder.sent_bytes(bytes, now_ns());
                let is_leaving = connection.is_leaving();
                if let Err(error) = self.links.watch_output(index, !all) {
                    self.fail(index, Loss::Closed, &error.to_string(), recorder);
                } else if is_leaving {
                    self.renew(index, recorder);
                }
            }
            Err(error) => self.fail(index, Loss::Closed, &error.to_string(), recorder),
        }
    }

    fn react(&mut self, index: usize, recorder: &mut Recorder) {
        match self.links.state(index) {
            State::Opening(..) => match self.links.opened(index) {
                Ok(true) => recorder.reconnected(now_ns()),
                Ok(false) => {}
                Err(error) => self.fail(index, Loss::Closed, &error.to_string(), recorder),
            },
            State::Open(connection) => {
                if connection.has_output() {
                    self.write(index, recorder);
                }
                self.read(index, recorder);
            }
            State::Down(_) => {}
        }
    }

    /// Reads once; whether there was anything.
    fn read(&mut self, index: usize, recorder: &mut Recorder) -> bool {
        let Some(connection) = self.links.connection(index) else { return false };
        let received = match connection.read() {
            Ok(received) => received,
            // The server may close a connection that has nothing to answer.
            Err(_) if connection.under_way.is_empty() => {
                self.renew(index, recorder);
                return false;
            }
            Err(error) => {
                self.fail(index, Loss::Closed, &error.to_string(), recorder);
                return false;
            }
        };
        let now = received.read_ns;
        recorder.received_bytes(received.bytes, now);
        if let Some(oldest) = connection.under_way.front() {
            let waited_ns = now.saturating_sub(oldest.sent_ns);
            self.poll_ns = now + (waited_ns / POLL_SHARE).min(LONGEST_POLL_NS);
        }
        let before = connection.under_way.len();
        let taken = take_replies(connection, self.mix.reader(), &received, recorder);
        let answered = before - connection.under_way.len();
        let (is_leaving, has_output) = (connection.is_leaving(), connection.has_output());
        if answered > 0 {
            self.links.answered(index);
            let came_ns = received.arrived_after(self.origin_ns).unwrap_or(now);
            self.arrivals.resolved(answered, came_ns - self.origin_ns);
        }
        match taken {
            Ok(closes) => {
                if closes || is_leaving {
                    self.renew(index, recorder);
                }
                // What the server has to be told beside requests.
                if has_output {
                    self.write(index, recorder);
                }
            }
            Err(what) => self.fail(index, Loss::Garbage, &what, recorder),
        }
        received.bytes > 0
    }

    /// The server has announced the end of this connection: what it will not look at goes elsewhere, and what it still
    /// answers is awaited beside the next connection.
    fn renew(&mut self, index: usize, recorder: &mut Recorder) {
        let now = now_ns();
        let Some(connection) = self.links.connection(index) else { return };
        self.queue.extend(connection.take_back().iter().map(|request| request.intended_ns));
        if connection.under_way.is_empty() {
            self.links.close(index, now, true);
        } else if let (index, Err(error)) = self.links.leave(index, now) {
            self.fail(index, Loss::Closed, &error.to_string(), recorder);
        }
        if matches!(self.links.state(index), State::Down(retry_ns) if *retry_ns <= now) {
            // A failure here is met again, and counted, at the next attempt.
            let _ = self.links.open(index, now);
        }
    }

    /// A connection broke: what was under way on it is lost.
    fn fail(&mut self, index: usize, loss: Loss, what: &str, recorder: &mut Recorder) {
        let now = now_ns();
        recorder.broke(&format!("{}: {what}", self.links.address(index)), now);
        if let Some(connection) = self.links.close(index, now, false) {
            for request in &connection.under_way {
                self.lose(request.intended_ns, now, loss, Some(request.way), recorder);
            }
        }
    }

    /// A request will never be answered; a client that thinks goes on to its next one.
    fn lose(&mut self, intended_ns: u64, now_ns: u64, loss: Loss, way: Option<usize>, recorder: &mut Recorder) {
        recorder.lost(intended_ns, loss, way);
        self.arrivals.resolved(1, now_ns - self.origin_ns);
    }

    fn tick(&mut self, now_ns: u64, timeout_ns: u64, recorder: &mut Recorder) {
        recorder.hand_over(now_ns);
        for index in 0..self.links.len() {
            match self.links.state(index) {
                State::Open(_) => {
                    // What came while this thread was kept from reading is no timeout.
                    while self.is_overdue(index, now_ns, timeout_ns) && self.read(index, recorder) {}
                    if self.is_overdue(index, now_ns, timeout_ns) {
                        let what = format!("no answer within {} s", self.plan.timeout_s);
                        self.fail(index, Loss::TimedOut, &what, recorder);
                    }
                }
                State::Opening(_, since_ns) if now_ns > since_ns + HANDSHAKE_NS => {
                    self.fail(index, Loss::Closed, "no connection within 3 s", recorder);
                }
                State::Down(retry_ns) if now_ns >= *retry_ns => {
                    if let Err(error) = self.links.open(index, now_ns) {
                        self.fail(index, Loss::Closed, &error.to_string(), recorder);
                    }
                }
                _ => {}
            }
        }
        let all_down = self.links.are_down();
        while let Some(&intended_ns) = self.queue.front() {
            let too_late = now_ns > intended_ns + timeout_ns;
            if !too_late && !all_down {
                break;
            }
            self.queue.pop_front();
            let loss = if too_late { Loss::TimedOut } else { Loss::Unconnected };
            self.lose(intended_ns, now_ns, loss, None, recorder);
        }
    }

    /// Whether a link's oldest request is under way for longer than it may.
    fn is_overdue(&mut self, index: usize, now_ns: u64, timeout_ns: u64) -> bool {
        let oldest = self.links.connection(index).and_then(|connection| connection.under_way.front());
        oldest.is_some_and(|request| now_ns > request.intended_ns + timeout_ns)
    }

    /// Whether nothing is under way any more. It comes true within the timeout.
    fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.links.are_idle()
    }
}

/// Notes when the requests that are about to be written leave.
fn stamp(connection: &mut Connection, is_closed_loop: bool, recorder: &mut Recorder) {
    let now = now_ns();
    for request in connection.under_way.iter_mut().rev().take(connection.unsent) {
        request.sent_ns = now;
        // What is sent again keeps the time at which it was first sent.
        if is_closed_loop && !request.queued {
            request.intended_ns = now;
        }
        if !request.queued {
            recorder.handled(request.intended_ns, now);
        }
    }
    connection.unsent = 0;
}

/// Counts every complete reply; true when the server closes the connection after the last of them.
fn take_replies(
    connection: &mut Connection,
    protocol: &impl Protocol,
    received: &Received,
    recorder: &mut Recorder,
) -> Result<bool, String> {
    while !connection.input().is_empty() {
        let Some(oldest) = connection.under_way.front() else {
            let Some(len) = protocol.pass_over(connection.input())? else { return Ok(false) };
            connection.consume(len);
            continue;
        };
        let mut seen = connection.seen;
        let parsed = protocol.go_on(oldest.kind, connection.input(), &mut seen);
        let Some(reply) = parsed.map_err(|garbage| garbage.to_string())? else {
            connection.seen = seen;
            return Ok(false);
        };
        let request = connection.under_way[reply.position];
        reply.check(request.mark, connection.input()).map_err(|garbage| garbage.to_string())?;
        recorder.answered(&request, &reply, received);
        let (len, position, closes) = (reply.len, reply.position, reply.closes);
        connection.consume(len);
        connection.under_way.remove(position);
        if closes {
            return Ok(true);
        }
    }
    Ok(false)
}
