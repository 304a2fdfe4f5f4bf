//! Bytes that came before those in front of them.

use alloc::vec::Vec;
use core::ops::Range;

use super::Sequence;

/// How many separate pieces are kept; a further one is dropped, and its sender sends it again.
const MAX_PIECES: usize = 64;

/// Pieces behind the next byte that is expected, in order, without overlaps.
#[derive(Debug, Default)]
pub struct Reassembly {
    pieces: Vec<(Sequence, Vec<u8>)>,
    /// Where the bytes began that came last.
    latest: Sequence,
}

impl Reassembly {
    /// Whether nothing is kept.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Keeps what is new of some bytes. They must be within half of the numbers of what is kept, as a window is.
    pub fn insert(&mut self, mut start: Sequence, mut bytes: &[u8]) {
        self.latest = start;
        let mut at = self.pieces.partition_point(|piece| end(piece).since(start) <= 0);
        while !bytes.is_empty() && self.pieces.len() < MAX_PIECES {
            let Some((piece, kept)) = self.pieces.get(at) else {
                self.pieces.push((start, bytes.to_vec()));
                return;
            };
            let before = piece.since(start).clamp(0, bytes.len() as i32) as usize;
            let piece_end = *piece + kept.len() as u32;
            if before > 0 {
                self.pieces.insert(at, (start, bytes[..before].to_vec()));
                at += 1;
            }
            let known = piece_end.since(start).clamp(0, bytes.len() as i32) as usize;
            start = start + known as u32;
            bytes = &bytes[known..];
            at += 1;
        }
    }

    /// The ranges that are kept: first the one with what came last (RFC 2018, section 4), then the others in order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<Sequence>> {
        let touches = |piece: &(Sequence, Vec<u8>), next: &(Sequence, Vec<u8>)| end(piece) == next.0;
        let all = move || {
            let joined = |pieces: &[(Sequence, Vec<u8>)]| pieces[0].0..end(&pieces[pieces.len() - 1]);
            self.pieces.chunk_by(touches).map(joined)
        };
        let is_latest =
            |range: &Range<Sequence>| self.latest.since(range.start) >= 0 && self.latest.since(range.end) < 0;
        all().filter(is_latest).chain(all().filter(move |range| !is_latest(range)))
    }

    /// Forgets what is kept.
    pub fn clear(&mut self) {
        self.pieces = Vec::new();
    }

    /// Hands out what is next in order, and forgets it. Returns what is then the next number.
    pub fn take(&mut self, mut next: Sequence, mut hand_out: impl FnMut(&[u8])) -> Sequence {
        let mut done = 0;
        for (start, bytes) in &self.pieces {
            let known = next.since(*start);
            if known < 0 {
                break;
            }
            if let Some(new) = bytes.get(known as usize..) {
                hand_out(new);
                next = next + new.len() as u32;
            }
            done += 1;
        }
        self.pieces.drain(..done);
        if self.pieces.is_empty() {
            self.clear();
        }
        next
    }
}

/// The number behind a piece.
fn end((start, bytes): &(Sequence, Vec<u8>)) -> Sequence {
    *start + bytes.len() as u32
}

#[cfg(test)]
mod tests {
    use super::super::Queue;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_order_and_overlap_gives_the_bytes(
            first: u32,
            pieces in prop::collection::vec((0usize..400, 1usize..60), 1..60),
        ) {
            let stream: Vec<u8> = (0..500usize).map(|at| (at * 7 + at / 256) as u8).collect();
            let first = Sequence(first);
            let (mut reassembly, mut queue) = (Reassembly::default(), Queue::default());
            let mut known = [false; 500];
            let mut next = first;
            for (start, len) in pieces {
                let end = (start + len).min(stream.len());
                let skipped = (next.since(first) as usize).min(end);
                let start = start.max(skipped);
                reassembly.insert(first + start as u32, &stream[start..end]);
                known[start..end].fill(true);
                next = reassembly.take(next, |bytes| queue.push(bytes));
                let expected = known.iter().position(|known| !known).unwrap_or(500);
                prop_assert_eq!(next.since(first) as usize, expected);
                prop_assert_eq!(queue.bytes(), &stream[..expected]);
            }
        }
    }

    #[test]
    fn ranges_are_joined_and_begin_with_the_latest() {
        let mut reassembly = Reassembly::default();
        let range = |start, end| Sequence(start)..Sequence(end);
        for (start, bytes) in [(10, "abc"), (30, "d"), (20, "ef"), (22, "gh")] {
            reassembly.insert(Sequence(start), bytes.as_bytes());
        }
        assert!(reassembly.ranges().eq([range(20, 24), range(10, 13), range(30, 31)]));
        reassembly.insert(Sequence(10), b"a");
        assert!(reassembly.ranges().eq([range(10, 13), range(20, 24), range(30, 31)]));
    }

    #[test]
    fn pieces_are_bounded() {
        let mut reassembly = Reassembly::default();
        for at in 0..1000 {
            reassembly.insert(Sequence(10 + 2 * at), b"x");
        }
        assert_eq!(reassembly.pieces.len(), MAX_PIECES);
    }
}
