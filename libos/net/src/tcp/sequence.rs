//! Sequence numbers, which go round (RFC 9293, section 3.4).

use core::ops::{Add, Sub};

/// A sequence number.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sequence(pub u32);

impl Sequence {
    /// How far this is behind `earlier`: negative when it is in front of it.
    #[inline]
    pub fn since(self, earlier: Sequence) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }

    /// The later one of two.
    #[inline]
    pub fn max(self, other: Sequence) -> Sequence {
        if self.since(other) >= 0 { self } else { other }
    }

    /// The earlier one of two.
    #[inline]
    pub fn min(self, other: Sequence) -> Sequence {
        if self.since(other) <= 0 { self } else { other }
    }
}

impl Add<u32> for Sequence {
    type Output = Sequence;

    #[inline]
    fn add(self, len: u32) -> Sequence {
        Sequence(self.0.wrapping_add(len))
    }
}

impl Sub<u32> for Sequence {
    type Output = Sequence;

    #[inline]
    fn sub(self, len: u32) -> Sequence {
        Sequence(self.0.wrapping_sub(len))
    }
}
