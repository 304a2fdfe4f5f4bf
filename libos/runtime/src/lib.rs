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

use alloc::rc::Rc;
use core::cell::RefCell;

use libos_net::device::{Receive, Transmit};
use libos_net::service::Service;
use libos_net::stack::Stack;

pub use counters::{Counters, Totals};
use interrupt_log::InterruptLog;
use metered::Metered;
use policy::{Next, Policy};

/// So many frames are served before timers are looked at and answers leave at the latest.
pub const BUDGET: usize = 64;

/// The core that this runs on.
pub trait Core {
    /// Microseconds since a moment that stays the same.
    fn now_us(&self) -> u64;

    /// Waits for an interrupt, or until a moment; may return sooner.
    fn sleep(&mut self, until_us: u64) -> Slept;

    /// Takes interrupts that are pending, and goes on.
    fn relax(&mut self);
}

/// How a core has slept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slept {
    /// For how long.
    pub duration_us: u64,
    /// A device has ended it.
    pub by_device: bool,
}

/// One core with its NIC, its stack and its service.
pub struct Runtime<C, R, T, S: Service, P> {
    core: C,
    receive: R,
    transmit: Metered<T>,
    stack: Stack<S>,
    policy: P,
    counters: Rc<Counters>,
    log: Option<Rc<RefCell<InterruptLog>>>,
}

impl<C: Core, R: Receive, T: Transmit, S: Service, P: Policy> Runtime<C, R, T, S, P> {
    /// Nothing has happened yet; what happens is counted in `counters`.
    pub fn new(core: C, receive: R, transmit: T, stack: Stack<S>, policy: P, counters: Rc<Counters>) -> Self {
        let transmit = Metered { transmit, counters: counters.clone() };
        Runtime { core, receive, transmit, stack, policy, counters, log: None }
    }

    /// Keeps a record of each interrupt.
    pub fn log_to(&mut self, log: Rc<RefCell<InterruptLog>>) {
        self.log = Some(log);
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
        if self.policy.next(now_us, frames) == Next::Poll {
            self.core.relax();
        } else if frames == 0 {
            self.receive.set_interrupts(true);
            if !self.receive.has_frame() {
                let slept = self.core.sleep(self.stack.next_us());
                self.counters.add_sleep(slept.duration_us);
                if let (true, Some(log)) = (slept.by_device, &self.log) {
                    log.borrow_mut().note(self.core.now_us(), self.counters.totals());
                }
            }
            self.receive.set_interrupts(false);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::vec::Vec;

    use libos_net::device::{Frame, PartialChecksum};
    use libos_net::service::{Output, Served};
    use libos_net::stack::Config;
    use libos_net::wire::ipv4::Address;

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

        fn sleep(&mut self, until_us: u64) -> Slept {
            self.sleeps.push(until_us);
            self.now_us += 7;
            Slept { duration_us: 7, by_device: true }
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

    fn stack() -> Stack<Nothing> {
        let config = Config { mac: [2; 6], address: [10, 0, 0, 1], max_connections: 4, secret: [0; 2] };
        Stack::new(config, Nothing, 0)
    }

    #[test]
    fn a_core_sleeps_when_all_frames_are_served() {
        let (mut core, counters) = (FakeCore::default(), Rc::new(Counters::default()));
        let frames = Frames(BUDGET + 1);
        let mut runtime = Runtime::new(&mut core, frames, Nowhere, stack(), Interrupts, counters.clone());
        let log = Rc::new(RefCell::new(InterruptLog::new(4)));
        runtime.log_to(log.clone());
        runtime.turn();
        runtime.turn();
        assert_eq!((runtime.receive.0, runtime.core.sleeps.len()), (0, 0));
        runtime.turn();
        runtime.turn();
        assert_eq!(core.sleeps, [u64::MAX; 2]);
        let frames = BUDGET as u64 + 1;
        let Totals { received_frames, received_bytes, turns, sleeps, slept_us, .. } = counters.totals();
        assert_eq!((received_frames, received_bytes, turns, sleeps, slept_us), (frames, 60 * frames, 4, 2, 14));
        assert_eq!(log.borrow().since(0).map(|record| (record.time_us, record.slept_us)).collect::<Vec<_>>(), [(7, 7)]);
    }

    #[test]
    fn a_core_that_polls_never_sleeps() {
        let mut core = FakeCore::default();
        let mut runtime = Runtime::new(&mut core, Frames(1), Nowhere, stack(), Polling, Rc::default());
        (0..100).for_each(|_| runtime.turn());
        assert_eq!((core.now_us, core.sleeps.len()), (100, 0));
    }
}
