//! One queue for all threads: whichever falls idle takes the next request.

use std::collections::VecDeque;

use super::core::Core;
use crate::engine::queue::Waiting;
use crate::idle::Chooser;
use crate::moderation::Moderation;

/// Requests that no thread has taken yet, in the order in which they came.
pub struct SharedQueue {
    /// Each with the thread that is asked first.
    waiting: VecDeque<(Waiting, usize)>,
    limit: usize,
}

impl SharedQueue {
    /// An empty queue for at most `limit` requests.
    pub fn new(limit: usize) -> Self {
        Self { waiting: VecDeque::new(), limit }
    }

    /// Appends a request for which `thread` is asked first; `false` when the queue is full.
    pub fn push(&mut self, request: Waiting, thread: usize) -> bool {
        let fits = self.waiting.len() < self.limit;
        if fits {
            self.waiting.push_back((request, thread));
        }
        fits
    }

    /// Wakes idle threads, and tells `woken` which and from when on they can serve.
    pub fn wake_idle<M: Moderation, I: Chooser>(
        &mut self,
        cores: &mut [Core<M, I>],
        mut woken: impl FnMut(usize, &Core<M, I>, f64),
    ) {
        while let Some(&(request, first)) = self.waiting.front() {
            let mut from_first = (first..cores.len()).chain(0..first);
            let Some(thread) = from_first.find(|&thread| cores[thread].backlog() == 0) else { return };
            let Some(next_us) = cores[thread].accept(request) else { return };
            woken(thread, &cores[thread], next_us);
            self.waiting.pop_front();
        }
    }

    /// Lets every thread that ends a service before `end_us` go on with the next request.
    pub fn go_on<M: Moderation, I: Chooser>(&mut self, cores: &mut [Core<M, I>], end_us: f64) {
        for core in cores {
            let Some(&(request, _)) = self.waiting.front() else { return };
            if core.ends_before(end_us) && core.accept(request).is_some() {
                self.waiting.pop_front();
            }
        }
    }
}
