//! Cores that serve and cores that are parked: how a connection goes from one to another, and a frame after it.
//!
//! A connection belongs to the core by whose queue its SYN came, its *home*, as long as that serves; else to one of those
//! that do, by a hash of its addresses. When their number changes, each core looks at its connections, some of them in a
//! turn, and hands those over that belong to another; when their home serves again they come back, so that what a number
//! of cores does never depends on what it was before. With one of them go its output, its input, and its timers, which
//! are set anew.
//!
//! The NIC knows nothing of this. It brings a flow by the queue by which that was last answered, and after some idle
//! seconds by the one that it chose in the beginning; so a frame may come to a core that its connection has left, or has
//! not reached. Every such frame comes to the right core, whatever happens in between, because
//!
//! 1. all connections that have ever moved are *listed* in the [`Exchange`] with the core that has them, in its table or
//!    in its post, until they are gone; one is listed, or listed elsewhere, in the same step in which it is posted;
//! 2. so are all that were accepted since the number has changed for the first time: the NIC may still bring their flow by
//!    a queue that answered the one before from the same port;
//! 3. of the others, none was ever answered by another core than its home, and the NIC brings them there;
//! 4. who gets a segment of a connection that is not in its table looks at the list before it answers, and sends the frame
//!    after the connection; where the list names itself, it takes what is in its post first;
//! 5. a SYN that none of these is found for is listed in the step in which that is looked for, by the core that accepts
//!    it; a parked core sends it there. Its repetition finds it wherever it comes.
//!
//! A frame that is sent to a core which its connection has just left is sent on from there. Nothing is looked at but for
//! such strangers, and not even for them before the number has changed once. No queue of the NIC is switched off instead:
//! it would choose anew for every flow, for those of the cores that serve, too.

use core::sync::atomic::Ordering;

use super::Stack;
use super::exchange::{Among, Route};
use crate::device::{Frame, Transmit};
use crate::service::Service;
use crate::tcp::{Key, NEVER, State, Timer};

/// So many places of the table are looked at in a turn.
const SLOTS_A_TURN: usize = 256;

impl<S: Service> Stack<S> {
    /// Whether to call [`attend`](Self::attend).
    #[inline]
    pub fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed)
    }

    /// Whether others do this core's work, but for what its queue still receives.
    #[inline]
    pub fn is_parked(&self) -> bool {
        self.is_parked
    }

    /// Takes what other cores have handed over, and hands over what belongs to them.
    #[cold]
    #[inline(never)]
    pub fn attend(&mut self, now_us: u64, transmit: &mut impl Transmit) {
        let Some(Among { exchange, own, .. }) = &self.among else { return };
        let (exchange, own) = (exchange.clone(), *own);
        exchange.cores.hears(own, false);
        self.take_arrivals(now_us);
        for letter in exchange.letters(own) {
            self.set_via(letter.via);
            self.receive(now_us, letter.frame(), transmit);
        }
        self.set_via(own);
        self.hand_over();
    }

    fn set_via(&mut self, core: usize) {
        if let Some(among) = &mut self.among {
            among.via = core;
        }
    }

    /// The core that a connection belongs to.
    fn core_of(&self, key: Key, home: usize, serving: usize) -> usize {
        if home < serving { home } else { (self.numbers.hash([key.number(), 2]) % serving as u64) as usize }
    }

    fn take_arrivals(&mut self, now_us: u64) {
        let Some(Among { exchange, own, .. }) = &self.among else { return };
        let (exchange, own) = (exchange.clone(), *own);
        for entry in exchange.arrivals(own) {
            let key = entry.connection.key();
            let to = self.core_of(key, entry.home, exchange.cores.serving());
            if to != own {
                exchange.give(key, to, entry);
                continue;
            }
            if let Some(id) = self.table.find(key) {
                self.remove(id); // only where a NIC has brought one flow by two queues, against rule 3
                exchange.list(key, own);
            }
            let is_half_open = entry.connection.state() == State::SynReceived;
            let id = self.table.insert(key, entry);
            if is_half_open {
                self.make_room_for_half_open();
                self.half_open.push_back(id);
            }
            self.wheel.set(now_us, (id, Timer::Idle)); // sets them all
        }
    }

    fn hand_over(&mut self) {
        let Some(Among { exchange, own, seen, next_slot, .. }) = &mut self.among else { return };
        let changes = exchange.cores.changes();
        let serving = exchange.cores.serving();
        if changes != *seen {
            (*seen, *next_slot) = (changes, Some(0));
            self.is_parked = *own >= serving;
        }
        let Some(start) = next_slot.take() else { return };
        let end = (start + SLOTS_A_TURN).min(self.table.slots());
        if end < self.table.slots() {
            *next_slot = Some(end);
            exchange.cores.hears(*own, true);
        }
        let (exchange, own) = (exchange.clone(), *own);
        for slot in start..end {
            let Some((id, key, entry)) = self.table.at(slot) else { continue };
            let home = entry.home;
            let to = self.core_of(key, home, serving);
            if to == own {
                continue;
            }
            if let Some(mut entry) = self.table.remove(id) {
                entry.is_listed = true;
                entry.connection.set_us = [NEVER; Timer::COUNT];
                exchange.give(key, to, entry);
            }
        }
    }

    /// What becomes of a segment whose connection is not in the table.
    pub(super) fn route(&mut self, now_us: u64, key: Key, opens: bool, frame: Frame) -> Route {
        let Some(Among { exchange, own, via, .. }) = &self.among else { return Route::Ours { listed: false } };
        if exchange.cores.changes() == 0 {
            return Route::Ours { listed: false };
        }
        let (exchange, own, via) = (exchange.clone(), *own, *via);
        let accepts = opens.then(|| self.core_of(key, via, exchange.cores.serving()));
        let route = exchange.route(key, own, accepts, via, frame);
        if route == Route::Arriving {
            self.take_arrivals(now_us);
        }
        route
    }

    /// By whose queue the frame came that is being served.
    pub(super) fn via(&self) -> usize {
        self.among.as_ref().map_or(0, |among| among.via)
    }

    /// A listed connection is gone, or is not accepted.
    #[cold]
    pub(super) fn strike(&self, key: Key) {
        if let Some(Among { exchange, own, .. }) = &self.among {
            exchange.strike(key, *own);
        }
    }
}
