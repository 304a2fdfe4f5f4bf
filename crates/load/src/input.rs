//! What was received on a connection and not yet consumed.

/// Bytes there is room for at first.
const FIRST_BYTES: usize = 64 * 1024;

/// A buffer that is filled at its end and consumed at its start.
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// Nothing was received.
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; FIRST_BYTES], start: 0, end: 0 }
    }

    /// The free bytes at the end: one at least, and at least so many.
    #[inline]
    pub(crate) fn room(&mut self, least: usize) -> &mut [u8] {
        while self.bytes.len() - self.end < least.max(1) {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            } else {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// So many of the free bytes hold something now.
    #[inline]
    pub(crate) fn filled(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// What is there.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Forgets the first bytes.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_comes_in_goes_out_in_order(steps in prop::collection::vec((0_usize..100_000, 0.0..1.0_f64), 1..40)) {
            let mut input = Input::new();
            let (mut received, mut consumed) = (0_usize, 0_usize);
            for (bytes, share) in steps {
                let room = input.room(bytes);
                prop_assert!(room.len() >= bytes.max(1));
                for byte in &mut room[..bytes] {
                    *byte = received as u8;
                    received += 1;
                }
                input.filled(bytes);
                prop_assert_eq!(input.bytes().len(), received - consumed);
                let taken = (share * input.bytes().len() as f64) as usize;
                for &byte in &input.bytes()[..taken] {
                    prop_assert_eq!(byte, consumed as u8);
                    consumed += 1;
                }
                input.consume(taken);
            }
        }
    }
}
