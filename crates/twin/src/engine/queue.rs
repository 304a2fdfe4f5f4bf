//! Requests waiting for an application thread.

use super::vector::{NEVER_US, min};

/// Before everything; marks the slot in front of a queue.
const ALWAYS_US: f64 = -1.0;
/// Slots of a new queue: few, because queues are short and share the cache with everything else.
const FIRST_SLOTS: usize = 16;

/// A request on its way to a thread.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// When the thread can see it.
    pub ready_us: f64,
    /// When its packet reached the card.
    pub arrived_us: f64,
}

/// A bounded queue ordered by [`Waiting::ready_us`].
///
/// The slots around the queue hold sentinels, so that neither inserting nor popping has to ask
/// whether it is empty: whether a queue is empty is a coin toss, and a branch on it costs more
/// than all the rest.
#[derive(Clone, Debug)]
pub struct RequestQueue {
    /// Ring; the length is a power of two. Slot `head - 1` is ready at [`ALWAYS_US`], slot `tail`
    /// at [`NEVER_US`].
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
        let mut slots: Box<[Waiting]> = vec![Waiting { ready_us: NEVER_US, arrived_us: 0.0 }; FIRST_SLOTS].into();
        slots[0].ready_us = ALWAYS_US;
        Self { slots, head: 1, tail: 1, limit, front_ready_us: NEVER_US }
    }

    /// Requests waiting.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail - self.head
    }

    /// Every request waiting, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        (self.head..self.tail).map(|at| &self.slots[at & (self.slots.len() - 1)])
    }

    /// When the first request is ready; [`NEVER_US`] when there is none.
    #[inline(always)]
    pub fn ready_us(&self) -> f64 {
        self.front_ready_us
    }

    /// Takes the request that is ready first; the queue must not be empty.
    #[inline(always)]
    pub fn pop(&mut self) -> Waiting {
        debug_assert!(self.len() > 0);
        let mask = self.slots.len() - 1;
        let front = &mut self.slots[self.head & mask];
        let request = *front;
        front.ready_us = ALWAYS_US;
        self.head += 1;
        self.front_ready_us = self.slots[self.head & mask].ready_us;
        request
    }

    /// Inserts a request in order; `false` when the queue is full.
    #[inline(always)]
    pub fn insert(&mut self, request: Waiting) -> bool {
        if self.len() + 3 > self.slots.len() {
            self.grow();
        }
        if self.len() >= self.limit {
            return false;
        }
        let mask = self.slots.len() - 1;
        self.slots[(self.tail + 1) & mask].ready_us = NEVER_US;
        let mut at = self.tail;
        while self.slots[(at - 1) & mask].ready_us > request.ready_us {
            self.slots[at & mask] = self.slots[(at - 1) & mask];
            at -= 1;
        }
        self.slots[at & mask] = request;
        self.tail += 1;
        self.front_ready_us = min(self.front_ready_us, request.ready_us);
        true
    }

    /// Doubles the ring.
    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() - 1;
        let with_sentinels = (self.head - 1..=self.tail).map(|at| self.slots[at & mask]);
        let mut slots = Vec::with_capacity(2 * self.slots.len());
        slots.extend(with_sentinels);
        slots.resize(2 * self.slots.len(), Waiting { ready_us: NEVER_US, arrived_us: 0.0 });
        (self.head, self.tail) = (1, 1 + self.len());
        self.slots = slots.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keeps_order_and_limit() {
        let mut queue = RequestQueue::new(5);
        for ready_us in [3.0, 1.0, 2.0, 5.0, 4.0] {
            assert!(queue.insert(Waiting { ready_us, arrived_us: 0.0 }));
        }
        assert!(!queue.insert(Waiting { ready_us: 0.0, arrived_us: 0.0 }));
        for expected in [1.0, 2.0, 3.0, 4.0, 5.0] {
            assert_eq!(queue.ready_us(), expected);
            assert_eq!(queue.pop().ready_us, expected);
        }
        assert_eq!(queue.ready_us(), NEVER_US);
        assert_eq!(queue.len(), 0);
    }

    proptest! {
        #[test]
        fn is_a_stable_priority_queue(steps in prop::collection::vec(prop::option::weighted(0.6, 0u8..8), 1..400)) {
            let mut queue = RequestQueue::new(100);
            let mut model: Vec<(f64, f64)> = Vec::new();
            for (i, step) in steps.into_iter().enumerate() {
                if let Some(ready) = step {
                    let (ready_us, arrived_us) = (f64::from(ready), i as f64);
                    let fits = queue.insert(Waiting { ready_us, arrived_us });
                    prop_assert_eq!(fits, model.len() < 100);
                    if fits {
                        model.insert(model.partition_point(|&(other, _)| other <= ready_us), (ready_us, arrived_us));
                    }
                } else if !model.is_empty() {
                    let request = queue.pop();
                    prop_assert_eq!((request.ready_us, request.arrived_us), model.remove(0));
                }
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.ready_us(), model.first().map_or(NEVER_US, |&(ready_us, _)| ready_us));
            }
        }
    }
}
