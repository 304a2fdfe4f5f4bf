//! Cores that run at the same time, while their number changes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Answer, Client, FIRST};
use crate::moving::{Side, byte};
use crate::support::{CONFIG, Echo, Sent, receive};
use libos_net::stack::{Cores, Exchange, Stack};
use libos_net::tcp::Sequence;
use libos_net::wire::tcp::Flags;

/// A client that opens, sends and resets as fast as it is answered.
struct Quick {
    side: Side,
    home: usize,
    last: usize,
    is_open: bool,
    rounds: usize,
    asked: Instant,
    /// When the last round ended.
    advanced: Instant,
}

impl Quick {
    const BYTES: u32 = 3 * 20;

    /// Says what is next, or once more.
    fn says(&mut self, client: &mut Client, queues: &[Mutex<VecDeque<Vec<u8>>>], is_stray: bool) {
        client.port = self.side.port;
        let heard = self.side.echo.len() as u32;
        let frame = if self.is_open {
            let bytes: Vec<u8> = (heard..self.side.sent).map(byte).collect();
            client.frame_of(Flags::ACK, FIRST + 1 + heard, self.side.first + heard, &bytes)
        } else {
            client.frame_of(Flags::SYN, FIRST, Sequence(0), &[])
        };
        let queue = if is_stray { self.home } else { self.last };
        queues[queue].lock().unwrap().push_back(frame);
        self.asked = Instant::now();
    }

    /// Whether a reset answers what we said of a connection that we have reset since: said twice, and come after that. It
    /// has our acknowledgment for its number, and a connection's first number is never one of the one's before.
    fn is_late(&self, answer: &Answer) -> bool {
        let refuses_syn = answer.flags.has(Flags::ACK);
        let is_of_this = (0..=Quick::BYTES).any(|heard| answer.sequence == self.side.first + heard);
        !(refuses_syn || self.is_open && is_of_this)
    }

    /// Whether there is something next to say.
    fn hears(
        &mut self,
        core: usize,
        answer: &Answer,
        client: &mut Client,
        queues: &[Mutex<VecDeque<Vec<u8>>>],
    ) -> bool {
        if answer.flags.has(Flags::RST) {
            assert!(self.is_late(answer), "{answer:?} by {core} in round {}", self.rounds);
            return false;
        }
        if answer.flags.has(Flags::SYN) {
            self.last = core;
            let is_new = !self.is_open;
            if is_new {
                (self.is_open, self.side.first, self.side.sent) = (true, answer.sequence + 1, 3);
                self.side.echo.clear();
            }
            return is_new;
        }
        let heard = self.side.first + self.side.echo.len() as u32;
        if !self.is_open || answer.sequence != heard || answer.payload.is_empty() {
            return false;
        }
        self.last = core;
        let start = self.side.echo.len() as u32;
        let expected: Vec<u8> = (start..).take(answer.payload.len()).map(byte).collect();
        assert_eq!(answer.payload, expected);
        self.side.echo.extend_from_slice(&answer.payload);
        if self.side.echo.len() < self.side.sent as usize {
            return false;
        }
        (self.rounds, self.advanced) = (self.rounds + 1, Instant::now());
        self.side.sent += 3;
        if self.side.echo.len() as u32 >= Quick::BYTES {
            client.port = self.side.port;
            let reset = client.frame_of(Flags::RST, FIRST + 1 + Quick::BYTES, Sequence(0), &[]);
            queues[self.last].lock().unwrap().push_back(reset);
            self.is_open = false;
        }
        true
    }
}

#[test]
fn cores_that_run_at_the_same_time_lose_no_connection() {
    const CORES: usize = 3;
    const ROUNDS: usize = 300;
    const LOST: Duration = Duration::from_secs(30);
    let cores = Arc::new(Cores::new(CORES, |_| ()));
    let exchange = Arc::new(Exchange::new(cores.clone()));
    let queues: Vec<Mutex<VecDeque<Vec<u8>>>> = (0..CORES).map(|_| Mutex::default()).collect();
    let is_over = AtomicBool::new(false);
    let (tell, told) = mpsc::channel();
    let begin = Instant::now();
    thread::scope(|scope| {
        for core in 0..CORES {
            let (exchange, queues, is_over, tell) = (exchange.clone(), &queues, &is_over, tell.clone());
            scope.spawn(move || {
                let mut stack = Stack::of_core(core, exchange, CONFIG, Echo::default(), 0);
                let mut sent = Sent::default();
                while !is_over.load(Ordering::Relaxed) {
                    let now_us = begin.elapsed().as_micros() as u64;
                    if stack.has_news() {
                        stack.attend(now_us, &mut sent);
                    }
                    // All of them: whoever yields on a busy machine comes back late.
                    let frames = std::mem::take(&mut *queues[core].lock().unwrap());
                    frames.iter().for_each(|frame| receive(&mut stack, now_us, frame, &mut sent));
                    stack.expire(now_us, &mut sent);
                    sent.frames.drain(..).for_each(|frame| drop(tell.send((core, Answer::of(&frame)))));
                    if frames.is_empty() {
                        thread::yield_now();
                    }
                }
            });
        }
        let mut client = Client::new();
        let mut quick: Vec<Quick> = (0..12u16)
            .map(|port| {
                let home = usize::from(port) % CORES;
                let side = Side { port, queues: Vec::new(), sent: 0, first: FIRST, echo: Vec::new() };
                Quick { side, home, last: home, is_open: false, rounds: 0, asked: begin, advanced: begin }
            })
            .collect();
        quick.iter_mut().for_each(|each| each.says(&mut client, &queues, false));
        let mut turns = 0usize;
        let mut step = || {
            turns += 1;
            if let Ok((core, answer)) = told.recv_timeout(Duration::from_millis(1)) {
                let each = &mut quick[usize::from(answer.port)];
                if each.hears(core, &answer, &mut client, &queues) {
                    each.says(&mut client, &queues, turns % 5 == 0);
                }
            }
            for each in quick.iter_mut().filter(|each| each.asked.elapsed() > Duration::from_millis(30)) {
                each.says(&mut client, &queues, turns % 2 == 0);
            }
            if turns % 7 == 0 {
                cores.serve_by(1 + turns / 7 * 5 % 11 % CORES);
            }
            quick.iter().all(|each| each.rounds >= ROUNDS) || quick.iter().any(|each| each.advanced.elapsed() > LOST)
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| while !step() {}));
        is_over.store(true, Ordering::Relaxed);
        result.unwrap();
        let rounds: Vec<_> = quick.iter().map(|each| each.rounds).collect();
        assert!(rounds.iter().all(|rounds| *rounds >= ROUNDS), "{rounds:?}");
    });
}
