//! What the other side has of what it does not yet acknowledge (RFC 2018), and what is therefore lost (RFC 6675).

use alloc::vec::Vec;
use core::ops::Range;

use super::Sequence;

/// How many separate ranges are kept; of a further one it is not known that it has come.
const MAX_RANGES: usize = 64;
/// A hole is lost when so many ranges behind it have come, or more than so many segments less one (RFC 6675,
/// DupThresh).
const DUPLICATES: usize = 3;

/// The ranges that came behind something that is missing: in order, none touching another.
#[derive(Debug, Default)]
pub struct Scoreboard {
    ranges: Vec<Range<Sequence>>,
}

impl Scoreboard {
    /// Whether nothing is known to have come.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The other side has this range. It must lie within half of the numbers of all others, as a window does.
    pub fn insert(&mut self, mut range: Range<Sequence>) {
        let first = self.ranges.partition_point(|known| known.end.since(range.start) < 0);
        let end = self.ranges.partition_point(|known| known.start.since(range.end) <= 0);
        if let [touched, ..] = &self.ranges[first..end] {
            let last = &self.ranges[end - 1];
            range = touched.start.min(range.start)..last.end.max(range.end);
        } else if self.ranges.len() == MAX_RANGES {
            return;
        }
        self.ranges.splice(first..end, [range]);
    }

    /// The other side has acknowledged what comes before `una`.
    #[inline]
    pub fn acknowledged(&mut self, una: Sequence) {
        if self.is_empty() {
            return;
        }
        let done = self.ranges.partition_point(|range| range.end.since(una) <= 0);
        self.ranges.drain(..done);
        if let Some(range) = self.ranges.first_mut() {
            range.start = range.start.max(una);
        } else {
            self.ranges = Vec::new();
        }
    }

    /// Forgets all: the other side may drop what it has said to have (RFC 2018, section 8).
    pub fn clear(&mut self) {
        self.ranges = Vec::new();
    }

    /// Whether the other side has what begins here.
    pub fn has(&self, number: Sequence) -> bool {
        self.ranges.iter().any(|range| range.start.since(number) <= 0 && number.since(range.end) < 0)
    }

    /// What is missing first from one number on to another: all of it when nothing is known.
    pub fn hole(&self, within: Range<Sequence>) -> Option<Range<Sequence>> {
        let Range { mut start, end } = within;
        for range in &self.ranges {
            if range.start.since(start) > 0 {
                return (range.start.min(end).since(start) > 0).then_some(start..range.start.min(end));
            }
            start = start.max(range.end);
        }
        (end.since(start) > 0).then_some(start..end)
    }

    /// How much is missing from one number on to another.
    pub fn missing(&self, within: Range<Sequence>) -> u32 {
        let known =
            |range: &Range<Sequence>| range.end.min(within.end).since(range.start.max(within.start)).max(0) as u32;
        (within.end.since(within.start).max(0) as u32) - self.ranges.iter().map(known).sum::<u32>()
    }

    /// What is missing in front of this is lost (RFC 6675, section 4, IsLost).
    pub fn lost_end(&self, max_segment_size: u16) -> Option<Sequence> {
        let mut bytes = 0;
        for (at, range) in self.ranges.iter().rev().enumerate() {
            bytes += range.end.since(range.start) as u32;
            if at + 1 >= DUPLICATES || bytes > (DUPLICATES as u32 - 1) * u32::from(max_segment_size) {
                return Some(range.start);
            }
        }
        None
    }

    /// What is behind all that has come.
    pub fn end(&self) -> Option<Sequence> {
        self.ranges.last().map(|range| range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIRST: Sequence = Sequence(u32::MAX - 100);

    fn range(start: u32, len: u32) -> Range<Sequence> {
        FIRST + start..FIRST + start + len
    }

    proptest! {
        #[test]
        fn knows_what_came(
            came in prop::collection::vec((0u32..300, 1u32..40), 0..40),
            una in 0u32..300,
            within in (0u32..400, 0u32..400),
        ) {
            let (mut scoreboard, mut model) = (Scoreboard::default(), [false; 400]);
            for (start, len) in came {
                scoreboard.insert(range(start, len));
                model[start as usize..(start + len) as usize].fill(true);
            }
            scoreboard.acknowledged(FIRST + una);
            model[..una as usize].fill(false);
            for number in 0..400 {
                prop_assert_eq!(scoreboard.has(FIRST + number), model[number as usize]);
            }
            let (start, end) = (within.0.min(within.1), within.0.max(within.1));
            let hole = scoreboard.hole(FIRST + start..FIRST + end);
            let first = (start..end).find(|at| !model[*at as usize]);
            prop_assert_eq!(hole.as_ref().map(|hole| hole.start), first.map(|at| FIRST + at));
            if let (Some(hole), Some(first)) = (hole, first) {
                let last = (first..end).find(|at| model[*at as usize]).unwrap_or(end);
                prop_assert_eq!(hole.end, FIRST + last);
            }
            let missing = (start..end).filter(|at| !model[*at as usize]).count() as u32;
            prop_assert_eq!(scoreboard.missing(FIRST + start..FIRST + end), missing);
            let known = (0..400).rfind(|at| model[*at as usize]);
            prop_assert_eq!(scoreboard.end(), known.map(|at| FIRST + at + 1));
        }

        /// As RFC 6675 defines it, number by number.
        #[test]
        fn knows_what_is_lost(came in prop::collection::vec((0u32..300, 1u32..40), 0..12)) {
            let mut scoreboard = Scoreboard::default();
            for (start, len) in came {
                scoreboard.insert(range(start, len));
            }
            let lost_end = scoreboard.lost_end(20);
            for number in (0..400).map(|at| FIRST + at).filter(|number| !scoreboard.has(*number)) {
                let behind: Vec<_> =
                    scoreboard.ranges.iter().filter(|range| range.start.since(number) > 0).collect();
                let bytes: i32 = behind.iter().map(|range| range.end.since(range.start)).sum();
                let is_lost = behind.len() >= 3 || bytes > 40;
                prop_assert_eq!(lost_end.is_some_and(|end| number.since(end) < 0), is_lost);
            }
        }
    }

    #[test]
    fn ranges_are_bounded_and_still_grow() {
        let mut scoreboard = Scoreboard::default();
        for at in 0..1000 {
            scoreboard.insert(range(2 * at, 1));
        }
        assert_eq!(scoreboard.ranges.len(), MAX_RANGES);
        scoreboard.insert(range(0, 10));
        assert_eq!((scoreboard.ranges.len(), scoreboard.ranges[0].clone()), (MAX_RANGES - 5, range(0, 11)));
        scoreboard.clear();
        assert!(scoreboard.is_empty());
    }
}
