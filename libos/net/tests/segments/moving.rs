//! Cores that are parked: connections that go from one to another, and frames that come to the wrong one.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use crate::client::{Answer, Client, FIRST, SECOND_US};
use crate::support::{CONFIG, Echo, Sent, receive};
use libos_net::stack::{Cores, Exchange, Stack};
use libos_net::tcp::Sequence;
use libos_net::wire::tcp::Flags;

/// Several cores and a NIC that brings frames by any queue.
struct Machine {
    now_us: u64,
    cores: Arc<Cores>,
    exchange: Arc<Exchange<bool>>,
    stacks: Vec<(Stack<Echo>, Sent)>,
    client: Client,
}

impl Machine {
    fn new(count: usize) -> Machine {
        let cores = Arc::new(Cores::new(count, |_| ()));
        let exchange = Arc::new(Exchange::new(cores.clone()));
        let stack = |core| (Stack::of_core(core, exchange.clone(), CONFIG, Echo::default(), 0), Sent::default());
        let stacks = (0..count).map(stack).collect();
        Machine { now_us: 0, cores, exchange, stacks, client: Client::new() }
    }

    /// What the cores answer, each with its core.
    fn answers(&mut self) -> Vec<(usize, Answer)> {
        let of_core = |(core, (_, sent)): (usize, &mut (Stack<Echo>, Sent))| {
            sent.frames.drain(..).map(|frame| (core, Answer::of(&frame))).collect::<Vec<_>>()
        };
        self.stacks.iter_mut().enumerate().flat_map(of_core).collect()
    }

    fn brings(&mut self, queue: usize, flags: Flags, sequence: Sequence, acknowledgment: Sequence, payload: &[u8]) {
        let frame = self.client.frame_of(flags, sequence, acknowledgment, payload);
        let (stack, sent) = &mut self.stacks[queue];
        receive(stack, self.now_us, &frame, sent);
    }

    /// Brings a segment, and all cores do what they have to.
    fn says(
        &mut self,
        queue: usize,
        flags: Flags,
        sequence: Sequence,
        acknowledgment: Sequence,
        payload: &[u8],
    ) -> Vec<(usize, Answer)> {
        self.brings(queue, flags, sequence, acknowledgment, payload);
        self.settles();
        self.answers()
    }

    fn attends(&mut self, core: usize) {
        let (stack, sent) = &mut self.stacks[core];
        if stack.has_news() {
            stack.attend(self.now_us, sent);
        }
    }

    fn settles(&mut self) {
        while self.stacks.iter().any(|(stack, _)| stack.has_news()) {
            (0..self.stacks.len()).for_each(|core| self.attends(core));
        }
    }

    fn serves_by(&mut self, cores: usize) {
        self.cores.serve_by(cores);
        self.settles();
        let is_parked: Vec<_> = self.stacks.iter().map(|(stack, _)| stack.is_parked()).collect();
        assert_eq!(is_parked, (0..self.stacks.len()).map(|core| core >= cores).collect::<Vec<_>>());
    }

    fn waits(&mut self, duration_us: u64) -> Vec<(usize, Answer)> {
        let end_us = self.now_us + duration_us;
        loop {
            let next = self.stacks.iter().map(|(stack, _)| stack.next_us()).enumerate().min_by_key(|(_, at_us)| *at_us);
            let Some((core, at_us)) = next.filter(|(_, at_us)| *at_us <= end_us) else { break };
            self.now_us = at_us;
            let (stack, sent) = &mut self.stacks[core];
            stack.expire(at_us, sent);
        }
        self.now_us = end_us;
        self.answers()
    }

    fn opens(&mut self, queue: usize) -> Sequence {
        let [(_, syn)] = &self.says(queue, Flags::SYN, FIRST, Sequence(0), &[])[..] else { panic!("one answer") };
        assert_eq!((syn.flags, syn.acknowledgment), (Flags::SYN | Flags::ACK, FIRST + 1));
        let first = syn.sequence + 1;
        assert_eq!(self.says(queue, Flags::ACK, FIRST + 1, first, &[]), []);
        first
    }

    fn connections(&self) -> Vec<usize> {
        self.stacks.iter().map(|(stack, _)| stack.connections()).collect()
    }

    fn open(&self) -> isize {
        self.stacks.iter().map(|(stack, _)| stack.service().open).sum()
    }
}

/// Who answered, with what.
fn said(answers: &[(usize, Answer)]) -> Vec<(usize, Sequence, Sequence, &[u8])> {
    answers.iter().map(|(core, each)| (*core, each.sequence, each.acknowledgment, &each.payload[..])).collect()
}

#[test]
fn a_transfer_goes_on_where_its_core_is_parked_and_when_it_serves_again() {
    let mut machine = Machine::new(2);
    machine.client.is_selective = true;
    let first = machine.opens(1);
    let echo = machine.says(1, Flags::ACK, FIRST + 1, first, b"one");
    assert_eq!(said(&echo), [(1, first, FIRST + 4, &b"one"[..])]);
    let hole = machine.says(1, Flags::ACK, FIRST + 7, first, b"three");
    assert_eq!((hole[0].0, &hole[0].1.selected[..]), (1, &[FIRST + 7..FIRST + 12][..]));

    machine.serves_by(1);
    assert_eq!((machine.connections(), machine.exchange.listed()), (vec![1, 0], 1));
    let again = machine.waits(2 * SECOND_US);
    assert_eq!(said(&again)[0], (0, first, FIRST + 4, &b"one"[..]), "what is not acknowledged is sent again");
    let rest = machine.says(1, Flags::ACK, FIRST + 4, first + 3, b"two");
    assert_eq!(said(&rest), [(0, first + 3, FIRST + 12, &b"twothree"[..])]);

    machine.serves_by(2);
    assert_eq!((machine.connections(), machine.exchange.listed()), (vec![0, 1], 1));
    let late = machine.says(0, Flags::ACK, FIRST + 12, first + 11, b"four");
    assert_eq!(said(&late), [(1, first + 11, FIRST + 16, &b"four"[..])], "by the queue of the core that it has left");
    machine.brings(0, Flags::RST, FIRST + 16, Sequence(0), &[]);
    machine.settles();
    assert_eq!((machine.connections(), machine.exchange.listed(), machine.open()), (vec![0, 0], 0, 0));
}

#[test]
fn frames_overtake_a_connection_and_nothing_is_reset() {
    let mut machine = Machine::new(2);
    let first = machine.opens(1);
    machine.cores.serve_by(1);
    machine.attends(1);
    assert_eq!(machine.connections(), [0, 0], "it is under way");
    machine.brings(0, Flags::ACK, FIRST + 1, first, b"a");
    assert_eq!(said(&machine.answers()), [(0, first, FIRST + 2, &b"a"[..])]);
    machine.cores.serve_by(2);
    machine.attends(0);
    machine.cores.serve_by(1);
    machine.brings(0, Flags::ACK, FIRST + 2, first + 1, b"b");
    machine.brings(1, Flags::ACK, FIRST + 3, first + 1, b"c");
    machine.attends(1);
    machine.settles();
    let echo: Vec<u8> = machine.answers().into_iter().flat_map(|(_, answer)| answer.payload).collect();
    assert_eq!((&echo[..], machine.connections()), (&b"bc"[..], vec![1, 0]));
}

#[test]
fn a_handshake_goes_on_elsewhere() {
    let mut machine = Machine::new(2);
    let syn = machine.says(1, Flags::SYN, FIRST, Sequence(0), &[]);
    machine.serves_by(1);
    let first = syn[0].1.sequence + 1;
    assert_eq!(
        machine.waits(1_500_000).iter().map(|(core, again)| (*core, again.flags)).collect::<Vec<_>>(),
        [(0, Flags::SYN | Flags::ACK)]
    );
    let echo = machine.says(1, Flags::ACK, FIRST + 1, first, b"x");
    assert_eq!((said(&echo), machine.open()), (vec![(0, first, FIRST + 2, &b"x"[..])], 1));
}

#[test]
fn who_calls_a_parked_core_is_accepted_by_another_once() {
    let mut machine = Machine::new(2);
    machine.serves_by(1);
    machine.brings(1, Flags::SYN, FIRST, Sequence(0), &[]);
    assert_eq!(machine.answers(), []);
    machine.cores.serve_by(2);
    machine.brings(1, Flags::SYN, FIRST, Sequence(0), &[]);
    machine.settles();
    let answers = machine.answers();
    let numbers: BTreeSet<_> = answers.iter().map(|(_, answer)| answer.sequence.0).collect();
    assert_eq!((numbers.len(), machine.connections().iter().sum::<usize>()), (1, 1));
    let first = answers[0].1.sequence + 1;
    machine.says(0, Flags::ACK, FIRST + 1, first, &[]);
    machine.serves_by(1);
    machine.serves_by(2);
    assert_eq!(machine.connections(), [0, 1], "its home is where it called");
    machine.says(0, Flags::RST, FIRST + 1, Sequence(0), &[]);
    assert_eq!((machine.exchange.listed(), machine.open()), (0, 0));
}

#[test]
fn what_nobody_knows_is_reset_and_leaves_nothing() {
    let mut machine = Machine::new(2);
    machine.serves_by(1);
    for queue in [0, 1] {
        let reset = machine.says(queue, Flags::ACK, FIRST, Sequence(7), b"?");
        assert_eq!(
            reset.iter().map(|(_, each)| (each.flags, each.sequence)).collect::<Vec<_>>(),
            [(Flags::RST, Sequence(7))]
        );
        assert_eq!(machine.says(queue, Flags::RST, FIRST, Sequence(7), &[]), []);
    }
    assert_eq!(machine.exchange.listed(), 0);
}

#[test]
fn a_closed_connection_is_remembered_elsewhere_and_makes_room_for_the_next() {
    let mut machine = Machine::new(2);
    let first = machine.opens(1);
    machine.says(1, Flags::ACK, FIRST + 1, first, b"!");
    machine.says(1, Flags::ACK | Flags::FIN, FIRST + 2, first + 2, &[]);
    machine.serves_by(1);
    assert_eq!(machine.connections(), [1, 0]);
    let again = machine.says(1, Flags::ACK | Flags::FIN, FIRST + 2, first + 2, &[]);
    assert_eq!(said(&again), [(0, first + 2, FIRST + 3, &b""[..])]);
    let [(0, syn)] = &machine.says(1, Flags::SYN, FIRST + 9, Sequence(0), &[])[..] else { panic!("one answer") };
    assert_eq!((syn.flags, syn.acknowledgment), (Flags::SYN | Flags::ACK, FIRST + 10));
    let first = syn.sequence + 1;
    machine.serves_by(2);
    let echo = machine.says(0, Flags::ACK, FIRST + 10, first, b"!");
    assert_eq!(said(&echo), [(1, first, FIRST + 11, &b"!"[..])]);
    machine.says(0, Flags::ACK | Flags::FIN, FIRST + 11, first + 2, &[]);
    machine.serves_by(1);
    machine.waits(61 * SECOND_US);
    assert_eq!((machine.connections(), machine.exchange.listed(), machine.open()), (vec![0, 0], 0, 0));
}

#[test]
fn the_next_connection_of_a_port_is_found_by_either_queue() {
    let mut machine = Machine::new(2);
    machine.opens(1);
    machine.serves_by(1);
    machine.says(0, Flags::RST, FIRST + 1, Sequence(0), &[]);
    assert_eq!(machine.connections(), [0, 0]);
    let first = machine.opens(0); // who answered last
    machine.serves_by(2);
    let echo = machine.says(1, Flags::ACK, FIRST + 1, first, b"x"); // as in the beginning
    assert_eq!(said(&echo), [(0, first, FIRST + 2, &b"x"[..])]);
}

#[test]
fn the_newest_half_open_connections_of_all_cores_have_room_on_one() {
    let mut machine = Machine::new(2);
    for port in 0..1200 {
        machine.client.port = port;
        machine.brings(usize::from(port) % 2, Flags::SYN, FIRST, Sequence(0), &[]);
    }
    assert_eq!(machine.connections(), [600, 600]);
    machine.serves_by(1);
    assert_eq!((machine.connections(), machine.exchange.listed() <= 600), (vec![1024, 0], true));
}

#[test]
fn who_is_not_accepted_is_not_listed() {
    let mut machine = Machine::new(2);
    machine.serves_by(1);
    for port in 0..1 + CONFIG.max_connections as u16 {
        machine.client.port = port;
        let first = machine.says(0, Flags::SYN, FIRST, Sequence(0), &[]);
        let expected = usize::from(port) < CONFIG.max_connections;
        assert_eq!(first.len(), usize::from(expected));
        if let [(_, syn)] = &first[..] {
            machine.says(0, Flags::ACK, FIRST + 1, syn.sequence + 1, &[]);
        }
    }
    assert_eq!(machine.exchange.listed(), CONFIG.max_connections);
}

#[test]
fn a_flood_fills_no_post() {
    let mut machine = Machine::new(2);
    machine.serves_by(1);
    for port in 0..3000 {
        machine.client.port = port;
        machine.brings(1, Flags::SYN, FIRST, Sequence(0), &[]);
    }
    machine.settles();
    assert_eq!((machine.connections(), machine.exchange.listed()), (vec![256, 0], 256), "the others were lost");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many cores serve.
    Serve(usize),
    Attend(usize),
    /// A client sends its next bytes by the NIC's first choice, or by a queue that has answered it.
    Say(usize, usize),
    Wait(u64),
}

/// A client that takes what comes in order.
pub struct Side {
    pub port: u16,
    pub queues: Vec<usize>,
    pub sent: u32,
    pub first: Sequence,
    pub echo: Vec<u8>,
}

/// The byte that a client says at a place.
pub fn byte(at: u32) -> u8 {
    b'a' + (at % 23) as u8
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => (1usize..=3).prop_map(Step::Serve),
        3 => (0usize..3).prop_map(Step::Attend),
        3 => (0usize..6, any::<usize>()).prop_map(|(side, queue)| Step::Say(side, queue)),
        1 => (0u64..400_000).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #[test]
    fn bytes_come_back_however_cores_and_frames_take_turns(steps in steps()) {
        let mut machine = Machine::new(3);
        let mut sides: Vec<Side> = (0..6u16).map(|port| {
            machine.client.port = port;
            let home = usize::from(port) % 3;
            Side { port, queues: vec![home], sent: 0, first: machine.opens(home), echo: Vec::new() }
        }).collect();
        let hears = |machine: &mut Machine, sides: &mut [Side]| {
            for (core, answer) in machine.answers() {
                let side = &mut sides[usize::from(answer.port)];
                assert!(!answer.flags.has(Flags::RST), "{core}");
                side.queues.push(core);
                let known = (side.first + side.echo.len() as u32).since(answer.sequence);
                if let Some(new) = usize::try_from(known).ok().and_then(|known| answer.payload.get(known..)) {
                    side.echo.extend_from_slice(new);
                }
            }
        };
        let says = |machine: &mut Machine, side: &Side, queue: usize, from: u32| {
            machine.client.port = side.port;
            let bytes: Vec<u8> = (from..side.sent).map(byte).collect();
            let heard = side.first + side.echo.len() as u32;
            machine.brings(queue, Flags::ACK, FIRST + 1 + from, heard, &bytes);
        };
        for step in steps {
            match step {
                Step::Serve(cores) => machine.cores.serve_by(cores),
                Step::Attend(core) => machine.attends(core),
                Step::Say(side, queue) => {
                    let side = &mut sides[side];
                    side.sent += 3;
                    says(&mut machine, side, side.queues[queue % side.queues.len()], side.sent - 3);
                }
                Step::Wait(duration_us) => {
                    let end_us = machine.now_us + duration_us;
                    while machine.now_us < end_us {
                        machine.now_us = (machine.now_us + 50_000).min(end_us);
                        let now_us = machine.now_us;
                        machine.stacks.iter_mut().for_each(|(stack, sent)| stack.expire(now_us, sent));
                    }
                }
            }
            hears(&mut machine, &mut sides);
        }
        machine.settles();
        hears(&mut machine, &mut sides);
        for at in 0..sides.len() {
            // All of it once more: what overtook another has not to wait for it.
            says(&mut machine, &sides[at], sides[at].queues[0], 0);
            machine.settles();
            hears(&mut machine, &mut sides);
            let all: Vec<u8> = (0..sides[at].sent).map(byte).collect();
            prop_assert_eq!(&sides[at].echo, &all);
        }
        let serving = machine.cores.serving();
        prop_assert_eq!(machine.connections().iter().sum::<usize>(), sides.len());
        prop_assert!(machine.connections()[serving..].iter().all(|count| *count == 0));
        if serving == 3 {
            prop_assert_eq!(machine.connections(), [2, 2, 2]);
        }
    }
}
