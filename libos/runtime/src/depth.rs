//! How deeply a core sleeps, where it has more than one state to sleep in: a governor chooses.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bayop_idle::{Governor, MAX_STATES, Slept, States, View, Waker};

/// The longest time that a core may take to wake up; told anew by whoever looks after it, on this core or another.
#[derive(Debug)]
pub struct Limit(AtomicU32);

impl Limit {
    /// So many us at first.
    pub fn new(max_latency_us: u32) -> Limit {
        Limit(AtomicU32::new(max_latency_us))
    }

    /// The newest, in us.
    pub fn get_us(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// So many us from now on.
    pub fn set_us(&self, max_latency_us: u32) {
        self.0.store(max_latency_us, Ordering::Relaxed);
    }
}

/// The stays of a core in each of its states that are over, for whoever looks.
#[derive(Debug, Default)]
pub struct Stays([[AtomicU64; 2]; MAX_STATES]);

impl Stays {
    /// How many there were in a state, and for how long, in us.
    pub fn of(&self, state: usize) -> [u64; 2] {
        self.0[state].each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    fn add(&self, state: usize, length_us: u64) {
        // Only the core itself counts, so that nothing comes between.
        for (count, more) in self.0[state].iter().zip([1, length_us]) {
            count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        }
    }
}

/// States from the shallowest to one that the limit allows, and who chooses among them.
pub type Level = (States, Box<dyn Governor + Send>);

/// A core's choice of states.
pub struct Depth {
    levels: Vec<Level>,
    limit: Arc<Limit>,
    stays: Arc<Stays>,
    /// Turns with frames since the stay before, and when the last of them was.
    arrivals: u32,
    arrived_us: u64,
    /// A stay has ended with nothing to do, so that the period goes on.
    goes_on: bool,
    /// Of the stay: the deepest state allowed, its own, when it began, and the timer that was next.
    deepest: usize,
    state: usize,
    began_us: u64,
    timer_at_us: u64,
}

impl Depth {
    /// `levels` has one for each state, the last of them with all states; which one chooses is up to `limit`, and what
    /// comes of it is counted in `stays`. A governor is told of no state that it may not choose: the best one is
    /// what BayOp's measures others by, and all that take much more than that are alike to it.
    ///
    /// # Panics
    ///
    /// There is another number of levels than of states.
    pub fn new(levels: Vec<Level>, limit: Arc<Limit>, stays: Arc<Stays>) -> Depth {
        assert!(levels.iter().map(|(states, _)| states.len()).eq(1..=levels.len()), "each state has a level");
        let (arrivals, arrived_us, goes_on) = (0, 0, false);
        let (deepest, state, began_us, timer_at_us) = (0, 0, 0, 0);
        Depth { levels, limit, stays, arrivals, arrived_us, goes_on, deepest, state, began_us, timer_at_us }
    }

    /// A turn has found frames.
    pub(crate) fn arrive(&mut self, now_us: u64) {
        if core::mem::take(&mut self.goes_on) {
            self.reflect(&Slept { length_us: 0, waker: Waker::Event });
        }
        self.arrivals += 1;
        self.arrived_us = now_us;
    }

    /// A core has nothing to do until `timer_at_us`: which state it is to enter, and until when.
    pub(crate) fn choose(&mut self, now_us: u64, timer_at_us: u64) -> (usize, u64) {
        let max_latency_us = self.limit.get_us();
        self.deepest = self.levels.last().map_or(0, |(states, _)| states.deepest_within(max_latency_us));
        let (states, governor) = &mut self.levels[self.deepest];
        if self.arrivals > 0 {
            governor.arrivals(self.arrived_us, core::mem::take(&mut self.arrivals));
        }
        // There is no tick: what ends a stay that was chosen too shallow is the governor's own timer.
        let (timer_us, tick_us) = (to_us(timer_at_us.saturating_sub(now_us)), u32::MAX);
        let choice = governor.select(states, &View { now_us, timer_us, tick_us, max_latency_us });
        (self.state, self.began_us, self.timer_at_us) = (choice.state, now_us, timer_at_us);
        (
            choice.state,
            choice.wake_after_us.map_or(timer_at_us, |after_us| timer_at_us.min(now_us + u64::from(after_us))),
        )
    }

    /// It runs again, because of an event or of a timer.
    pub(crate) fn wake(&mut self, now_us: u64, is_event: bool) {
        let length_us = now_us - self.began_us;
        let waker = match (is_event, now_us >= self.timer_at_us) {
            (true, _) => Waker::Event,
            (false, true) => Waker::Timer,
            (false, false) => Waker::Own,
        };
        self.goes_on = waker == Waker::Own;
        self.stays.add(self.state, length_us);
        self.reflect(&Slept { length_us: to_us(length_us), waker });
    }

    fn reflect(&mut self, slept: &Slept) {
        let (states, governor) = &mut self.levels[self.deepest];
        governor.reflect(states, slept);
    }
}

fn to_us(length_us: u64) -> u32 {
    u32::try_from(length_us).unwrap_or(u32::MAX)
}
