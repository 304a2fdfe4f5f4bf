//! What a core does: events run to completion, and between them a [policy] says whether to look again or to sleep.
//!
//! ```text
//!   ┌─► frames, each to its end ──► timers ──► send ──► policy ──► poll ─┐
//!   │                                                     └──► sleep     │
//!   └──────────── an interrupt or a timer ◄──────────────────────┴───────┘
//! ```
//!
//! How deeply it sleeps is chosen anew each time, where there is a choice ([depth]).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod counters;
pub mod depth;
pub mod interrupt_log;
mod metered;
pub mod policy;

use alloc::sync::Arc;

use libos_net::device::{Receive, Transmit};
use libos_net::service::Service;
use libos_net::stack::Stack;

pub use counters::{Counters, Totals};
use depth::Depth;
use interrupt_log::Writer;
use metered::Metered;
use policy::{Next, Policy};

/// So many frames are served before timers are looked at and answers leave at the latest.
pub const BUDGET: usize = 64;

/// The core that this runs on.
pub trait Core {
    /// Microseconds since a moment that stays the same.
    fn now_us(&self) -> u64;

    /// Waits for an interrupt, or until a moment, in one of its states, the shallowest being 0; may return sooner.
    fn sleep(&mut self, state: usize, until_us: u64);

    /// Takes interrupts that are pending, and goes on.
    fn relax(&mut self);

    /// Does to itself what it has been told to meanwhile, by this core or another.
    fn obey(&mut self);

    /// How often a device has interrupted it.
    fn device_interrupts(&self) -> u64;
}

/// One core with its NIC, its stack and its service.
pub struct Runtime<C, R, T, S: Service, P> {
    core: C,
    receive: R,
    transmit: Metered<T>,
    stack: Stack<S>,
    policy: P,
    depth: Option<Depth>,
    counters: Arc<Counters>,
    log: Option<Writer>,
}

impl<C: Core, R: Receive, T: Transmit, S: Service, P: Policy> Runtime<C, R, T, S, P> {
    /// Nothing has happened yet; what happens is counted in `counters`, and each interrupt written to `log`. Without a
    /// `depth` the core sleeps in its shallowest state.
    #[expect(clippy::too_many_arguments, reason = "they are the parts of a core, each once")]
    pub fn new(
        core: C,
        receive: R,
        transmit: T,
        stack: Stack<S>,
        policy: P,
        depth: Option<Depth>,
        counters: Arc<Counters>,
        log: Option<Writer>,
    ) -> Self {
        let transmit = Metered { transmit, counters: counters.clone() };
        Runtime { core, receive, transmit, stack, policy, depth, counters, log }
    }

    /// Serves for ever.
    pub fn run(mut self) -> ! {
        loop {
            self.turn();
        }
    }

    /// Serves what has come and what is due; then sleeps, if the policy says so.
    #[inline]
    pub fn turn(&mut self) {
        self.core.obey();
        if self.stack.has_news() {
            self.stack.attend(self.core.now_us(), &mut self.transmit);
        }
        let now_us = self.core.now_us();
        let (mut frames, mut bytes) = (0, 0);
        while frames < BUDGET {
            let Some(frame) = self.receive.next() else { break };
            bytes += frame.bytes.len();
            self.stack.receive(now_us, frame, &mut self.transmit);
            frames += 1;
        }
        self.counters.add_turn(frames, bytes);
        if let (true, Some(depth)) = (frames > 0, &mut self.depth) {
            depth.arrive(now_us);
        }
        self.stack.expire(now_us, &mut self.transmit);
        self.transmit.flush();
        self.receive.flush();
        if !self.stack.is_parked() && self.policy.next(now_us, frames) == Next::Poll {
            self.core.relax();
        } else if frames == 0 {
            self.receive.set_interrupts(true);
            if !self.receive.has_frame() && !self.stack.has_news() {
                let before = self.core.device_interrupts();
                let (now_us, timer_at_us) = (self.core.now_us(), self.stack.next_us());
                self.counters.begin_sleep(now_us);
                match &mut self.depth {
                    None => self.core.sleep(0, timer_at_us),
                    Some(depth) => {
                        let (state, until_us) = depth.choose(now_us, timer_at_us);
                        self.core.sleep(state, until_us);
                        let is_event = self.core.device_interrupts() != before || self.stack.has_news();
                        depth.wake(self.core.now_us(), is_event);
                    }
                }
                let now_us = self.core.now_us();
                self.counters.end_sleep(now_us);
                if let (true, Some(log)) = (self.core.device_interrupts() != before, &mut self.log) {
                    log.note(now_us, self.counters.totals(now_us));
                }
            }
            self.receive.set_interrupts(false);
        }
        self.counters.set_interrupts(self.core.device_interrupts());
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::boxed::Box;
    use alloc::vec;
    use alloc::vec::Vec;

    use bayop_idle::{BayOp, Choice, Governor, Plans, Slept, States, View, Waker};
    use libos_net::device::{Frame, PartialChecksum};
    use libos_net::service::{Output, Served};
    use libos_net::stack::{Config, Cores, Exchange};
    use libos_net::wire::ipv4::Address;

    use spin::Mutex;

    use super::depth::{Level, Limit, Stays};
    use super::interrupt_log::InterruptLog;
    use super::policy::{Interrupts, Polling};
    use super::*;

    struct FakeCore {
        now_us: u64,
        /// States, and until when.
        sleeps: Vec<(usize, u64)>,
        interrupted_after_us: u64,
        interrupts: u64,
        obeyed: u64,
    }

    impl Default for FakeCore {
        fn default() -> FakeCore {
            FakeCore { now_us: 0, sleeps: Vec::new(), interrupted_after_us: 7, interrupts: 0, obeyed: 0 }
        }
    }

    impl Core for &mut FakeCore {
        fn now_us(&self) -> u64 {
            self.now_us
        }

        fn sleep(&mut self, state: usize, until_us: u64) {
            self.sleeps.push((state, until_us));
            self.now_us = until_us.min(self.now_us + self.interrupted_after_us);
            self.interrupts += u64::from(self.now_us < until_us);
        }

        fn device_interrupts(&self) -> u64 {
            self.interrupts
        }

        fn relax(&mut self) {
            self.now_us += 1;
        }

        fn obey(&mut self) {
            self.obeyed += 1;
        }
    }

    struct Frames(usize);

    impl Receive for Frames {
        fn next(&mut self) -> Option<Frame<'_>> {
            self.0 = self.0.checked_sub(1)?;
            Some(Frame { bytes: &[0; 60], checksum_is_right: false })
        }

        fn has_frame(&self) -> bool {
            self.0 > 0
        }

        fn flush(&mut self) {}

        fn set_interrupts(&mut self, _: bool) {}
    }

    struct Nowhere;

    impl Transmit for Nowhere {
        fn completes_checksums(&self) -> bool {
            false
        }

        fn send(&mut self, _: usize, _: Option<PartialChecksum>, _: impl FnOnce(&mut [u8])) -> bool {
            true
        }

        fn flush(&mut self) {}
    }

    struct Nothing;

    impl Service for Nothing {
        type Session = ();

        fn accept(&self, _: Address, _: u16) -> Option<()> {
            None
        }

        fn serve(&mut self, _: u64, (): &mut (), input: &[u8], _: &mut Output) -> Served {
            Served { taken: input.len(), close: false }
        }
    }

    const CONFIG: Config = Config { mac: [2; 6], address: [10, 0, 0, 1], max_connections: 4, secret: [0; 2] };

    fn stack() -> Stack<Nothing> {
        Stack::new(CONFIG, Nothing, 0)
    }

    #[test]
    fn a_core_sleeps_when_all_frames_are_served() {
        let (mut core, counters) = (FakeCore::default(), Arc::new(Counters::default()));
        let frames = Frames(BUDGET + 1);
        let log = Arc::new(Mutex::new(InterruptLog::new(4)));
        let writer = Some(Writer::new(log.clone(), 0));
        let mut runtime = Runtime::new(&mut core, frames, Nowhere, stack(), Interrupts, None, counters.clone(), writer);
        runtime.turn();
        runtime.turn();
        assert_eq!((runtime.receive.0, runtime.core.sleeps.len()), (0, 0));
        runtime.turn();
        runtime.turn();
        assert_eq!(core.sleeps, [(0, u64::MAX); 2]);
        let frames = BUDGET as u64 + 1;
        let Totals { received_frames, received_bytes, turns, sleeps, slept_us, interrupts, .. } = counters.totals(14);
        assert_eq!((received_frames, received_bytes, turns), (frames, 60 * frames, 4));
        assert_eq!((sleeps, slept_us, interrupts), (2, 14, 2));
        assert_eq!(log.lock().since(0).map(|record| (record.time_us, record.slept_us)).collect::<Vec<_>>(), [(7, 7)]);
    }

    /// Says what it is told, and chooses as it was told.
    struct Scripted {
        choices: Vec<Choice>,
        told: Arc<Mutex<Vec<Told>>>,
    }

    #[derive(Debug, Eq, PartialEq)]
    enum Told {
        Arrivals(u64, u32),
        View(View),
        Slept(u32, Waker),
    }

    impl Governor for Scripted {
        fn select(&mut self, _: &States, view: &View) -> Choice {
            self.told.lock().push(Told::View(*view));
            self.choices.remove(0)
        }

        fn arrivals(&mut self, at_us: u64, count: u32) {
            self.told.lock().push(Told::Arrivals(at_us, count));
        }

        fn reflect(&mut self, _: &States, slept: &Slept) {
            self.told.lock().push(Told::Slept(slept.length_us, slept.waker));
        }
    }

    const ROWS: [(u32, u32, u32); 3] = [(2, 2, 360), (10, 20, 220), (133, 600, 25)];

    fn levels(govern: impl Fn(&States) -> Box<dyn Governor + Send>) -> Vec<Level> {
        let states = (1..=ROWS.len()).map(|count| States::new(&ROWS[..count]).unwrap());
        states.map(|states| (states, govern(&states))).collect()
    }

    #[test]
    fn a_governor_is_told_what_came_and_chooses_how_deeply_a_core_sleeps() {
        let promoted = Choice { wake_after_us: Some(50), ..Choice::stay(1) };
        let (told, limit) = (Arc::<Mutex<Vec<Told>>>::default(), Arc::new(Limit::new(133)));
        let choices = |states: &States| match states.len() {
            3 => vec![promoted, Choice::stay(2)],
            _ => vec![promoted],
        };
        let levels = levels(|states| Box::new(Scripted { choices: choices(states), told: told.clone() }));
        let stays = Arc::new(Stays::default());
        let depth = Depth::new(levels, limit.clone(), stays.clone());
        let mut core = FakeCore { interrupted_after_us: 100, ..FakeCore::default() };
        let mut runtime = Runtime::new(
            &mut core,
            Frames(BUDGET + 1),
            Nowhere,
            stack(),
            Interrupts,
            Some(depth),
            Arc::default(),
            None,
        );
        (0..3).for_each(|_| runtime.turn()); // two of them with frames, then its own timer
        runtime.turn(); // the period goes on, until an interrupt
        limit.set_us(10);
        runtime.turn();
        runtime.receive.0 = 1; // frames end the period, too
        runtime.turn();
        let view =
            |now_us, max_latency_us| Told::View(View { now_us, timer_us: u32::MAX, tick_us: u32::MAX, max_latency_us });
        let slept = Told::Slept;
        let (event, own) = (Waker::Event, Waker::Own);
        let first = [Told::Arrivals(0, 2), view(0, 133), slept(50, own), view(50, 133), slept(100, event)];
        let second = [view(150, 10), slept(50, own), slept(0, event)];
        assert_eq!(*told.lock(), first.into_iter().chain(second).collect::<Vec<_>>());
        assert_eq!(core.sleeps, [(1, 50), (2, u64::MAX), (1, 200)]);
        assert_eq!([0, 1, 2].map(|state| stays.of(state)), [[0, 0], [2, 100], [1, 100]]);
    }

    #[test]
    fn a_stay_that_the_next_timer_ends_is_the_timers() {
        let told = Arc::<Mutex<Vec<Told>>>::default();
        let levels = levels(|_| Box::new(Scripted { choices: vec![Choice::stay(1)], told: told.clone() }));
        let mut depth = Depth::new(levels, Arc::new(Limit::new(133)), Arc::default());
        assert_eq!(depth.choose(100, 5_000_000_100), (1, 5_000_000_100));
        depth.wake(5_000_000_100, false);
        assert_eq!(told.lock().last(), Some(&Told::Slept(u32::MAX, Waker::Timer)));
        depth.arrive(5_000_000_101);
        assert_eq!(told.lock().len(), 2, "the period was over");
    }

    #[test]
    fn bayops_governor_sleeps_deeply_in_long_periods_and_within_the_limit() {
        let slept_in = |interrupted_after_us, max_latency_us| {
            let govern = |states: &_| Box::new(BayOp::new(Box::leak(Box::new(Plans::new(states, u32::MAX))), 307));
            let depth =
                Depth::new(levels(|states| govern(states)), Arc::new(Limit::new(max_latency_us)), Arc::default());
            let mut core = FakeCore { interrupted_after_us, ..FakeCore::default() };
            let (counters, depth) = (Arc::default(), Some(depth));
            let mut runtime = Runtime::new(&mut core, Frames(0), Nowhere, stack(), Interrupts, depth, counters, None);
            (0..1000).for_each(|_| runtime.turn());
            core.sleeps[900..].iter().map(|(state, _)| *state).max()
        };
        assert_eq!((slept_in(20_000, 133), slept_in(20_000, 132), slept_in(20_000, 2)), (Some(2), Some(1), Some(0)));
        assert_eq!(slept_in(5, 133), Some(0));
    }

    #[test]
    fn a_core_that_polls_never_sleeps() {
        let mut core = FakeCore::default();
        let mut runtime = Runtime::new(&mut core, Frames(1), Nowhere, stack(), Polling, None, Arc::default(), None);
        (0..100).for_each(|_| runtime.turn());
        assert_eq!((core.now_us, core.sleeps.len(), core.obeyed), (100, 0, 100));
    }

    #[test]
    fn a_core_that_is_parked_sleeps_and_serves_again_when_it_is_told() {
        let (mut core, cores) = (FakeCore::default(), Arc::new(Cores::new(2, |_| ())));
        let stack = Stack::of_core(1, Arc::new(Exchange::new(cores.clone())), CONFIG, Nothing, 0);
        let mut runtime = Runtime::new(&mut core, Frames(0), Nowhere, stack, Polling, None, Arc::default(), None);
        for (serving, sleeps) in [(2, 0), (1, 10), (2, 10)] {
            cores.serve_by(serving);
            (0..10).for_each(|_| runtime.turn());
            assert_eq!(runtime.core.sleeps.len(), sleeps);
        }
    }

    #[test]
    fn what_is_told_while_interrupts_are_opened_is_attended_to_before_the_core_sleeps() {
        struct Telling(Arc<Cores>);
        impl Receive for Telling {
            fn next(&mut self) -> Option<Frame<'_>> {
                None
            }

            fn has_frame(&self) -> bool {
                false
            }

            fn flush(&mut self) {}

            fn set_interrupts(&mut self, on: bool) {
                if on {
                    self.0.serve_by(1);
                }
            }
        }
        let (mut core, cores) = (FakeCore::default(), Arc::new(Cores::new(2, |_| ())));
        let stack = Stack::of_core(1, Arc::new(Exchange::new(cores.clone())), CONFIG, Nothing, 0);
        let mut runtime =
            Runtime::new(&mut core, Telling(cores), Nowhere, stack, Interrupts, None, Arc::default(), None);
        runtime.turn();
        assert_eq!((runtime.core.sleeps.len(), runtime.stack.is_parked()), (0, false));
        runtime.turn();
        assert_eq!((runtime.core.sleeps.len(), runtime.stack.is_parked()), (1, true));
    }
}
