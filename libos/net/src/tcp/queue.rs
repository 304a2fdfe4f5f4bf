//! Bytes in order: pushed behind, taken in front, and always one slice.

use alloc::vec::Vec;

/// What an empty queue keeps of its memory.
const KEPT_BYTES: usize = 4 << 10;

/// A queue of bytes. What is taken costs nothing until as much has been taken as is left.
#[derive(Debug, Default)]
pub struct Queue {
    bytes: Vec<u8>,
    start: usize,
}

impl Queue {
    /// Adds bytes behind.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes room for so many more bytes.
    #[inline]
    pub fn reserve(&mut self, len: usize) {
        if self.bytes.capacity() - self.bytes.len() < len {
            if self.start >= self.len() {
                self.bytes.drain(..self.start);
                self.start = 0;
            }
            self.bytes.reserve(len);
        }
    }

    /// Takes the last bytes back, so that `len` are left.
    pub fn cut(&mut self, len: usize) {
        self.bytes.truncate(self.start + len);
    }

    /// Takes bytes in front. Panics when there are not so many.
    #[inline]
    pub fn take(&mut self, len: usize) {
        assert!(len <= self.len(), "no more can be taken than there is");
        self.start += len;
        if self.start == self.bytes.len() {
            self.start = 0;
            self.bytes.clear();
            if self.bytes.capacity() > KEPT_BYTES {
                self.bytes = Vec::new();
            }
        }
    }

    /// All bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    extern crate std;

    proptest! {
        #[test]
        fn is_a_queue(steps in prop::collection::vec((0usize..9000, 0usize..9000), 1..60)) {
            let (mut queue, mut model) = (Queue::default(), VecDeque::new());
            let mut next = 0u8;
            for (push, take) in steps {
                let bytes: Vec<u8> = (0..push).map(|_| { next = next.wrapping_add(1); next }).collect();
                queue.push(&bytes);
                model.extend(bytes);
                let take = take.min(model.len());
                queue.take(take);
                model.drain(..take);
                prop_assert_eq!(queue.bytes(), model.make_contiguous() as &[u8]);
            }
        }
    }
}
