//! Whether a core that has nothing to do looks for frames, or sleeps until it is interrupted.

use alloc::rc::Rc;
use core::cell::Cell;

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
    Interrupt,
    /// Looks again.
    Poll,
    /// The one or the other, by load.
    Adaptive,
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

/// As somebody says who may change their mind while the core runs.
#[derive(Debug)]
pub struct Chosen {
    wait: Rc<Cell<Wait>>,
    adaptive: Adaptive,
}

impl Chosen {
    /// What `wait` says; by load, it is `adaptive`.
    pub fn new(wait: Rc<Cell<Wait>>, adaptive: Adaptive) -> Chosen {
        Chosen { wait, adaptive }
    }
}

impl Policy for Chosen {
    #[inline]
    fn next(&mut self, now_us: u64, frames: usize) -> Next {
        match self.wait.get() {
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
        let wait = Rc::new(Cell::new(Wait::Interrupt));
        let mut policy = Chosen::new(wait.clone(), Adaptive::new(50));
        assert_eq!(policy.next(0, 1), Next::Sleep);
        wait.set(Wait::Poll);
        assert_eq!(policy.next(1000, 0), Next::Poll);
        wait.set(Wait::Adaptive);
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
