//! Timers: a hierarchical wheel (Varghese and Lauck, 1987). Setting one costs the same however many there are.

use alloc::vec::Vec;

use super::NEVER;

/// A tick is 1,024 us.
const TICK_BITS: u32 = 10;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = 4;

/// Timers of `T`, each set for a moment, fired at that moment's tick or the next. None can be stopped: whoever hears it
/// looks whether it still matters.
#[derive(Debug)]
pub struct Wheel<T> {
    now: u64,
    /// The next tick at which a slot is emptied.
    next: Option<u64>,
    slots: Vec<Vec<(u64, T)>>,
    /// A bit for each slot of a level that holds a timer.
    occupied: [u64; LEVELS],
}

impl<T: Copy> Wheel<T> {
    /// No timer, at a moment.
    pub fn new(now_us: u64) -> Wheel<T> {
        let slots = (0..LEVELS * SLOTS).map(|_| Vec::new()).collect();
        Wheel { now: now_us >> TICK_BITS, next: None, slots, occupied: [0; LEVELS] }
    }

    /// Sets a timer; what is further than four hours away fires then. What is past fires at the next tick.
    pub fn set(&mut self, at_us: u64, timer: T) {
        let at = (at_us >> TICK_BITS).saturating_add(1).max(self.now + 1);
        self.insert(at, timer);
        self.next = self.next_tick();
    }

    /// When to call `advance` next; `NEVER` when there is no timer.
    #[inline]
    pub fn next_us(&self) -> u64 {
        self.next.map_or(NEVER, |tick| tick << TICK_BITS)
    }

    /// Goes on to a moment, and hands over what has fired until then.
    pub fn advance(&mut self, now_us: u64, fired: &mut Vec<T>) {
        let end = now_us >> TICK_BITS;
        while let Some(tick) = self.next_tick().filter(|tick| *tick <= end) {
            self.now = tick;
            for level in (1..LEVELS).rev() {
                if tick & ((1 << (SLOT_BITS * level as u32)) - 1) == 0 {
                    for (at, timer) in self.empty(level) {
                        self.insert(at, timer);
                    }
                }
            }
            fired.extend(self.empty(0).into_iter().map(|(_, timer)| timer));
        }
        self.now = self.now.max(end);
        self.next = self.next_tick();
    }

    fn insert(&mut self, at: u64, timer: T) {
        let distance = |level: usize| (at >> (SLOT_BITS * level as u32)) - (self.now >> (SLOT_BITS * level as u32));
        let level = (0..LEVELS).find(|level| distance(*level) < SLOTS as u64);
        let (level, at) = match level {
            Some(level) => (level, at),
            None => {
                let shift = SLOT_BITS * (LEVELS - 1) as u32;
                (LEVELS - 1, ((self.now >> shift) + SLOTS as u64 - 1) << shift)
            }
        };
        let slot = slot_of(level, at);
        self.occupied[level] |= 1 << slot;
        self.slots[level * SLOTS + slot].push((at, timer));
    }

    fn empty(&mut self, level: usize) -> Vec<(u64, T)> {
        let slot = slot_of(level, self.now);
        self.occupied[level] &= !(1 << slot);
        core::mem::take(&mut self.slots[level * SLOTS + slot])
    }

    /// The next tick at which a slot is emptied.
    fn next_tick(&self) -> Option<u64> {
        let of_level = |level: usize| {
            let shift = SLOT_BITS * level as u32;
            let ahead = self.occupied[level].rotate_right((self.now >> shift) as u32 % SLOTS as u32);
            (ahead != 0).then(|| ((self.now >> shift) + u64::from(ahead.trailing_zeros())) << shift)
        };
        (0..LEVELS).filter_map(of_level).min()
    }
}

fn slot_of(level: usize, tick: u64) -> usize {
    (tick >> (SLOT_BITS * level as u32)) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_timer_fires_once_at_its_time(
            start_us in 0u64..1 << 40,
            timers in prop::collection::vec((0u64..1 << 33, 0u64..1 << 32), 1..80),
        ) {
            let mut wheel = Wheel::new(start_us);
            let mut now_us = start_us;
            let mut open: Vec<(u64, usize)> = Vec::new();
            for (number, (delay_us, step_us)) in timers.into_iter().enumerate() {
                // Short delays and steps are as likely as long ones.
                let (delay_us, step_us) = (delay_us >> (number % 30), step_us >> (number * 7 % 30));
                wheel.set(now_us + delay_us, number);
                open.push((now_us + delay_us, number));
                let next_us = wheel.next_us();
                prop_assert!(open.iter().all(|(at_us, _)| next_us <= at_us + (2 << TICK_BITS)));
                now_us += step_us;
                let mut fired = Vec::new();
                wheel.advance(now_us, &mut fired);
                for number in fired {
                    let at = open.iter().position(|(_, open)| *open == number).expect("fires once");
                    let (at_us, _) = open.swap_remove(at);
                    prop_assert!(at_us <= now_us, "not before its time");
                }
                prop_assert!(open.iter().all(|(at_us, _)| at_us + (2 << TICK_BITS) > now_us), "nor long after it");
            }
            let mut fired = Vec::new();
            wheel.advance(now_us + (1 << 34), &mut fired);
            prop_assert_eq!(fired.len(), open.len());
            prop_assert_eq!(wheel.next_us(), NEVER);
        }
    }
}
