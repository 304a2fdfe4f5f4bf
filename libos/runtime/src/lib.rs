//! What a core does: events run to completion, and between them a [policy] says whether to look again or to sleep.
//!
//! ```text
//!   ┌─► frames, each to its end ──► timers ──► send ──► policy ──► poll ─┐
//!   │                                                     └──► sleep     │
//!   └──────────── an interrupt or a timer ◄──────────────────────┴───────┘
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod counters;
pub mod interrupt_log;
mod metered;
pub mod policy;

use alloc::sync::Arc;

use libos_net::device::{Receive, Transmit};
use libos_net::service::Service;
use libos_net::stack::Stack;

pub use counters::{Counters, Totals};
use interrupt_log::Writer;
use metered::Metered;
use policy::{Next, Policy};

/// So many frames are served before timers are looked at and answers leave at the latest.
pub const BUDGET: usize = 64;

/// The core that this runs on.
pub trait Core {
    /// Microseconds since a moment that stays the same.
    fn now_us(&self) -> u64;

    /// Waits for an interrupt, or until a moment; may return sooner.
    fn sleep(&mut self, until_us: u64);

    /// Takes interrupts that are pending, and goes on.
    fn relax(&mut self);

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
    counters: Arc<Counters>,
    log: Option<Writer>,
}

impl<C: Core, R: Receive, T: Transmit, S: Service, P: Policy> Runtime<C, R, T, S, P> {
    /// Nothing has happened yet; what happens is counted in `counters`, and each interrupt written to `log`.
    pub fn new(
        core: C,
        receive: R,
        transmit: T,
        stack: Stack<S>,
        policy: P,
        counters: Arc<Counters>,
        log: Option<Writer>,
    ) -> Self {
        let transmit = Metered { transmit, counters: counters.clone() };
        Runtime { core, receive, transmit, stack, policy, counters, log }
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
        self.stack.expire(now_us, &mut self.transmit);
        self.transmit.flush();
        self.receive.flush();
        if !self.stack.is_parked() && self.policy.next(now_us, frames) == Next::Poll {
            self.core.relax();
        } else if frames == 0 {
            self.receive.set_interrupts(true);
            if !self.receive.has_frame() && !self.stack.has_news() {
                let before = self.core.device_interrupts();
                self.counters.begin_sleep(self.core.now_us());
                self.core.sleep(self.stack.next_us());
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
    use alloc::vec::Vec;

    use libos_net::device::{Frame, PartialChecksum};
    use libos_net::service::{Output, Served};
    use libos_net::stack::{Config, Cores, Exchange};
    use libos_net::wire::ipv4::Address;

    use spin::Mutex;

    use super::interrupt_log::InterruptLog;
    use super::policy::{Interrupts, Polling};
    use super::*;

    #[derive(Default)]
    struct FakeCore {
        now_us: u64,
        sleeps: Vec<u64>,
    }

    impl Core for &mut FakeCore {
        fn now_us(&self) -> u64 {
            self.now_us
        }

        fn sleep(&mut self, until_us: u64) {
            self.sleeps.push(until_us);
            self.now_us += 7;
        }

        fn device_interrupts(&self) -> u64 {
            self.sleeps.len() as u64
        }

        fn relax(&mut self) {
            self.now_us += 1;
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
        let mut runtime = Runtime::new(&mut core, frames, Nowhere, stack(), Interrupts, counters.clone(), writer);
        runtime.turn();
        runtime.turn();
        assert_eq!((runtime.receive.0, runtime.core.sleeps.len()), (0, 0));
        runtime.turn();
        runtime.turn();
        assert_eq!(core.sleeps, [u64::MAX; 2]);
        let frames = BUDGET as u64 + 1;
        let Totals { received_frames, received_bytes, turns, sleeps, slept_us, interrupts, .. } = counters.totals(14);
        assert_eq!((received_frames, received_bytes, turns), (frames, 60 * frames, 4));
        assert_eq!((sleeps, slept_us, interrupts), (2, 14, 2));
        assert_eq!(log.lock().since(0).map(|record| (record.time_us, record.slept_us)).collect::<Vec<_>>(), [(7, 7)]);
    }

    #[test]
    fn a_core_that_polls_never_sleeps() {
        let mut core = FakeCore::default();
        let mut runtime = Runtime::new(&mut core, Frames(1), Nowhere, stack(), Polling, Arc::default(), None);
        (0..100).for_each(|_| runtime.turn());
        assert_eq!((core.now_us, core.sleeps.len()), (100, 0));
    }

    #[test]
    fn a_core_that_is_parked_sleeps_and_serves_again_when_it_is_told() {
        let (mut core, cores) = (FakeCore::default(), Arc::new(Cores::new(2, |_| ())));
        let stack = Stack::of_core(1, Arc::new(Exchange::new(cores.clone())), CONFIG, Nothing, 0);
        let mut runtime = Runtime::new(&mut core, Frames(0), Nowhere, stack, Polling, Arc::default(), None);
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
        let mut runtime = Runtime::new(&mut core, Telling(cores), Nowhere, stack, Interrupts, Arc::default(), None);
        runtime.turn();
        assert_eq!((runtime.core.sleeps.len(), runtime.stack.is_parked()), (0, false));
        runtime.turn();
        assert_eq!((runtime.core.sleeps.len(), runtime.stack.is_parked()), (1, true));
    }
}
