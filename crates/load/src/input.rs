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
