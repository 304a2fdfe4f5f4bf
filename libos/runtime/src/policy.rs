//! Whether a core that has nothing to do looks for frames, or sleeps until it is interrupted.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU8, Ordering};

/// What to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// Look again at once.
    Poll,
    /// Sleep when nothing has come.
    Sleep,
}

/// What a core does that has nothing to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wait {
    /// Sleeps until the NIC interrupts.
    Interrupt = 0,
    /// Looks again.
    Poll = 1,
    /// The one or the other, by load.
    Adaptive = 2,
}

/// Decides after each turn of the loop.
pub trait Policy {
    /// A turn at `now_us` has served `frames` frames.
    fn next(&mut self, now_us: u64, frames: usize) -> Next;
}

/// Sleeps whenever there is nothing to do.
#[derive(Clone, Copy, Debug)]
pub struct Interrupts;

impl Policy for Interrupts {
    fn next(&mut self, _: u64, _: usize) -> Next {
        Next::Sleep
    }
}

/// Never sleeps.
#[derive(Clone, Copy, Debug)]
pub struct Polling;

impl Policy for Polling {
    fn next(&mut self, _: u64, _: usize) -> Next {
        Next::Poll
    }
}

/// Polls while frames come close together, and sleeps when they don't: as NAPI does, by load.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive {
    /// A sleep shorter than this is not worth its interrupt.
    worth_us: u64,
    /// The mean time between turns with frames, over about eight of them, times eight.
    gap_x8_us: u64,
    last_us: u64,
}

impl Adaptive {
    /// Polls where the next frame is expected within `worth_us`.
    pub fn new(worth_us: u64) -> Adaptive {
        Adaptive { worth_us, gap_x8_us: 16 * worth_us, last_us: 0 }
    }
}

impl Policy for Adaptive {
    #[inline]
    fn next(&mut self, now_us: u64, frames: usize) -> Next {
        let gap_us = now_us - self.last_us;
        if frames > 0 {
            self.last_us = now_us;
            // One long pause is no sign of a low load.
            let gap_us = gap_us.min(16 * self.worth_us);
            self.gap_x8_us = self.gap_x8_us - self.gap_x8_us / 8 + gap_us;
        }
        let is_near = self.gap_x8_us / 8 <= self.worth_us;
        let is_late = frames == 0 && gap_us > 2 * self.worth_us;
        if is_near && !is_late { Next::Poll } else { Next::Sleep }
    }
}

/// What a core is told to do that has nothing to do; told anew by whoever looks after it, on this core or another.
#[derive(Debug)]
pub struct Order(AtomicU8);

impl Order {
    /// This one at first.
    pub fn new(wait: Wait) -> Order {
        Order(AtomicU8::new(wait as u8))
    }

    /// The newest.
    #[inline]
    pub fn get(&self) -> Wait {
        match self.0.load(Ordering::Relaxed) {
            0 => Wait::Interrupt,
            1 => Wait::Poll,
            _ => Wait::Adaptive,
        }
    }

    /// This one from now on.
    pub fn set(&self, wait: Wait) {
        self.0.store(wait as u8, Ordering::Relaxed);
    }
}

/// As an order says.
#[derive(Debug)]
pub struct Chosen {
    order: Arc<Order>,
    adaptive: Adaptive,
}

impl Chosen {
    /// What `order` says; by load, it is `adaptive`.
    pub fn new(order: Arc<Order>, adaptive: Adaptive) -> Chosen {
        Chosen { order, adaptive }
    }
}

impl Policy for Chosen {
    #[inline]
    fn next(&mut self, now_us: u64, frames: usize) -> Next {
        match self.order.get() {
            Wait::Interrupt => Interrupts.next(now_us, frames),
            Wait::Poll => Polling.next(now_us, frames),
            Wait::Adaptive => self.adaptive.next(now_us, frames),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_of(policy: &mut Adaptive, start_us: u64, gap_us: u64, turns: u64) -> Next {
        (1..=turns).map(|turn| policy.next(start_us + turn * gap_us, 1)).last().unwrap()
    }

    #[test]
    fn a_choice_may_change() {
        let order = Arc::new(Order::new(Wait::Interrupt));
        let mut policy = Chosen::new(order.clone(), Adaptive::new(50));
        assert_eq!(policy.next(0, 1), Next::Sleep);
        order.set(Wait::Poll);
        assert_eq!(policy.next(1000, 0), Next::Poll);
        order.set(Wait::Adaptive);
        assert_eq!(policy.next(2000, 0), Next::Sleep);
    }

    #[test]
    fn polls_at_a_high_load_and_sleeps_at_a_low_one() {
        let mut policy = Adaptive::new(50);
        assert_eq!(last_of(&mut policy, 0, 10, 40), Next::Poll);
        assert_eq!(policy.next(400 + 90, 0), Next::Poll);
        assert_eq!(policy.next(400 + 110, 0), Next::Sleep, "the load has stopped");
        assert_eq!(last_of(&mut policy, 600, 500, 40), Next::Sleep);
        assert_eq!(last_of(&mut policy, 21_000, 10, 40), Next::Poll);
    }
}
