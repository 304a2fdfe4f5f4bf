//! Requests waiting for an application thread.

use super::vector::{NEVER_US, min};

/// A request on its way to a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// When the thread can see it.
    pub ready_us: f64,
    /// When its packet reached the card.
    pub arrived_us: f64,
}

/// A bounded queue ordered by [`Waiting::ready_us`].
#[derive(Clone, Debug)]
pub struct RequestQueue {
    /// Ring; the length is a power of two.
    slots: Box<[Waiting]>,
    head: usize,
    tail: usize,
    limit: usize,
    /// [`Waiting::ready_us`] of the front, at hand for the many who ask; [`NEVER_US`] when empty.
    front_ready_us: f64,
}

impl RequestQueue {
    /// An empty queue for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        let slots = vec![Waiting::default(); limit.max(1).next_power_of_two()].into();
        Self { slots, head: 0, tail: 0, limit, front_ready_us: NEVER_US }
    }

    /// Requests waiting.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail - self.head
    }

    /// When the first request is ready; [`NEVER_US`] when there is none.
    #[inline(always)]
    pub fn ready_us(&self) -> f64 {
        self.front_ready_us
    }

    /// Takes the request that is ready first. Starts over at the first slot when the queue runs
    /// empty, so that short queues stay in few cache lines.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Waiting> {
        if self.head == self.tail {
            return None;
        }
        let mask = self.slots.len() - 1;
        let front = self.slots[self.head & mask];
        self.head += 1;
        if self.head == self.tail {
            (self.head, self.tail) = (0, 0);
            self.front_ready_us = NEVER_US;
        } else {
            self.front_ready_us = self.slots[self.head & mask].ready_us;
        }
        Some(front)
    }

    /// Inserts a request in order; `false` when the queue is full.
    #[inline(always)]
    pub fn insert(&mut self, request: Waiting) -> bool {
        if self.len() >= self.limit {
            return false;
        }
        let mask = self.slots.len() - 1;
        let mut at = self.tail;
        while at > self.head && self.slots[(at - 1) & mask].ready_us > request.ready_us {
            self.slots[at & mask] = self.slots[(at - 1) & mask];
            at -= 1;
        }
        self.slots[at & mask] = request;
        self.tail += 1;
        self.front_ready_us = min(self.front_ready_us, request.ready_us);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_limit() {
        let mut queue = RequestQueue::new(5);
        for ready_us in [3.0, 1.0, 2.0, 5.0, 4.0] {
            assert!(queue.insert(Waiting { ready_us, arrived_us: 0.0 }));
        }
        assert!(!queue.insert(Waiting::default()));
        for expected in [1.0, 2.0, 3.0, 4.0, 5.0] {
            assert_eq!(queue.ready_us(), expected);
            assert_eq!(queue.pop().unwrap().ready_us, expected);
        }
        assert_eq!(queue.ready_us(), NEVER_US);
        assert!(queue.pop().is_none());
    }
}
