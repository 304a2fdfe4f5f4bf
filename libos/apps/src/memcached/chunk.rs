//! The memory of items: one size of chunks, so that none is ever in the wrong place.
//!
//! An item is a chain of chunks. The first begins with a header; key and value follow it through the chain.

use alloc::vec::Vec;

/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

/// The bytes of a chunk, the number of the next one among them.
pub(super) const CHUNK_LEN: usize = 128;
/// Where a chunk's own bytes begin.
const NEXT_LEN: usize = 4;
/// Where the first chunk's own bytes begin.
const HEADER_LEN: usize = 40;

/// What is kept of an item beside key and value.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Header {
    /// The next item of the same bucket.
    pub bucket_next: u32,
    /// The item that was used just after this one, and the one just before.
    pub newer: u32,
    pub older: u32,
    pub value_len: u32,
    pub flags: u32,
    /// The second of 1970's count from which on it is gone; zero: never.
    pub expires_s: u32,
    pub unique: u64,
    pub key_len: u8,
}

type Chunk = [u8; CHUNK_LEN];

/// All chunks.
#[derive(Debug)]
pub(super) struct Chunks {
    chunks: Vec<Chunk>,
    /// The first of those that were freed, each of which names the next.
    free: u32,
    /// How many are free or were never used.
    free_len: usize,
}

/// How many chunks an item takes.
pub(super) fn chunks_of(key_len: usize, value_len: usize) -> usize {
    1 + (HEADER_LEN + key_len + value_len).saturating_sub(CHUNK_LEN).div_ceil(CHUNK_LEN - NEXT_LEN)
}

macro_rules! field {
    ($get:ident, $set:ident, $type:ty, $range:expr) => {
        #[inline]
        pub fn $get(&self, item: u32) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            bytes.copy_from_slice(&self.chunks[item as usize][$range]);
            <$type>::from_le_bytes(bytes)
        }

        #[inline]
        pub fn $set(&mut self, item: u32, value: $type) {
            self.chunks[item as usize][$range].copy_from_slice(&value.to_le_bytes());
        }
    };
}

impl Chunks {
    /// So many chunks; their memory is touched when they are used.
    pub fn new(len: usize) -> Chunks {
        Chunks { chunks: Vec::with_capacity(len), free: NONE, free_len: len }
    }

    /// How many chunks are left.
    pub fn free_len(&self) -> usize {
        self.free_len
    }

    field!(next, set_next, u32, 0..4);
    field!(bucket_next, set_bucket_next, u32, 4..8);
    field!(newer, set_newer, u32, 8..12);
    field!(older, set_older, u32, 12..16);
    field!(value_len, set_value_len, u32, 16..20);
    field!(flags, set_flags, u32, 20..24);
    field!(expires_s, set_expires_s, u32, 24..28);
    field!(unique, set_unique, u64, 28..36);

    #[inline]
    fn key_len(&self, item: u32) -> usize {
        usize::from(self.chunks[item as usize][36])
    }

    /// Makes an item. Panics when there are not the chunks for it: `chunks_of` says how many it takes.
    pub fn make(&mut self, header: &Header, key: &[u8], value: &[u8]) -> u32 {
        let item = self.take();
        self.set_bucket_next(item, header.bucket_next);
        self.set_newer(item, header.newer);
        self.set_older(item, header.older);
        self.set_value_len(item, header.value_len);
        self.set_flags(item, header.flags);
        self.set_expires_s(item, header.expires_s);
        self.set_unique(item, header.unique);
        self.chunks[item as usize][36] = header.key_len;
        let (mut chunk, mut at) = (item, HEADER_LEN);
        for mut bytes in [key, value] {
            while !bytes.is_empty() {
                if at == CHUNK_LEN {
                    let next = self.take();
                    self.set_next(chunk, next);
                    (chunk, at) = (next, NEXT_LEN);
                }
                let (head, tail) = bytes.split_at(bytes.len().min(CHUNK_LEN - at));
                self.chunks[chunk as usize][at..at + head.len()].copy_from_slice(head);
                at += head.len();
                bytes = tail;
            }
        }
        item
    }

    /// Frees an item.
    pub fn free(&mut self, item: u32) {
        let mut last = item;
        self.free_len += 1;
        while self.next(last) != NONE {
            last = self.next(last);
            self.free_len += 1;
        }
        self.set_next(last, self.free);
        self.free = item;
    }

    /// An item's key, at most its second chunk long.
    #[inline]
    pub fn key_is(&self, item: u32, key: &[u8]) -> bool {
        self.key_len(item) == key.len() && {
            let mut rest = key;
            self.pieces(item, 0, key.len()).all(|piece| {
                let (head, tail) = rest.split_at(piece.len());
                rest = tail;
                head == piece
            })
        }
    }

    /// Calls with each piece of an item's key.
    pub fn key_pieces(&self, item: u32) -> impl Iterator<Item = &[u8]> {
        self.pieces(item, 0, self.key_len(item))
    }

    /// The pieces of an item's value, in order.
    #[inline]
    pub fn value_pieces(&self, item: u32) -> impl Iterator<Item = &[u8]> {
        self.pieces(item, self.key_len(item), self.value_len(item) as usize)
    }

    /// Writes over the first bytes of an item's value. Panics when they are more than it has.
    pub fn overwrite(&mut self, item: u32, mut bytes: &[u8]) {
        assert!(bytes.len() <= self.value_len(item) as usize);
        let (mut chunk, mut at) = (item, HEADER_LEN + self.key_len(item));
        while !bytes.is_empty() {
            while at >= CHUNK_LEN {
                (chunk, at) = (self.next(chunk), at - CHUNK_LEN + NEXT_LEN);
            }
            let (head, tail) = bytes.split_at(bytes.len().min(CHUNK_LEN - at));
            self.chunks[chunk as usize][at..at + head.len()].copy_from_slice(head);
            (bytes, at) = (tail, at + head.len());
        }
    }

    /// `len` bytes after the first `skip` of key and value, in pieces.
    #[inline]
    fn pieces(&self, item: u32, skip: usize, len: usize) -> impl Iterator<Item = &[u8]> {
        let (mut chunk, mut at, mut left) = (item, HEADER_LEN + skip, len);
        core::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            while at >= CHUNK_LEN {
                (chunk, at) = (self.next(chunk), at - CHUNK_LEN + NEXT_LEN);
            }
            let piece = &self.chunks[chunk as usize][at..(at + left).min(CHUNK_LEN)];
            at += piece.len();
            left -= piece.len();
            Some(piece)
        })
    }

    fn take(&mut self) -> u32 {
        assert!(self.free_len > 0, "there must be a chunk");
        self.free_len -= 1;
        let chunk = self.free;
        if chunk == NONE {
            self.chunks.push([0; CHUNK_LEN]);
            let chunk = self.chunks.len() as u32 - 1;
            self.set_next(chunk, NONE);
            return chunk;
        }
        self.free = self.next(chunk);
        self.set_next(chunk, NONE);
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(len: core::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), len)
    }

    proptest! {
        #[test]
        fn an_item_is_what_was_put_in(
            items in prop::collection::vec((bytes(1..251), bytes(0..700)), 1..12),
            freed in any::<prop::sample::Index>(),
        ) {
            let needed: usize = items.iter().map(|(key, value)| chunks_of(key.len(), value.len())).sum();
            let mut chunks = Chunks::new(needed);
            let header = |(key, value): &(Vec<u8>, Vec<u8>)| Header {
                value_len: value.len() as u32,
                key_len: key.len() as u8,
                unique: u64::MAX - 3,
                expires_s: 7,
                ..Header::default()
            };
            let mut made: Vec<u32> = items.iter().map(|item| chunks.make(&header(item), &item.0, &item.1)).collect();
            prop_assert_eq!(chunks.free_len(), 0);
            let freed = freed.index(items.len());
            chunks.free(made[freed]);
            prop_assert_eq!(chunks.free_len(), chunks_of(items[freed].0.len(), items[freed].1.len()));
            made[freed] = chunks.make(&header(&items[freed]), &items[freed].0, &items[freed].1);
            for (item, (key, value)) in made.into_iter().zip(&items) {
                prop_assert!(chunks.key_is(item, key));
                prop_assert!(!chunks.key_is(item, &[key.as_slice(), b"x"].concat()));
                prop_assert_eq!(chunks.key_pieces(item).collect::<Vec<_>>().concat(), key.clone());
                prop_assert_eq!(chunks.value_pieces(item).collect::<Vec<_>>().concat(), value.clone());
                prop_assert_eq!((chunks.unique(item), chunks.expires_s(item)), (u64::MAX - 3, 7));
                let shorter: Vec<u8> = value[..value.len() / 2].iter().map(|byte| !byte).collect();
                chunks.overwrite(item, &shorter);
                let expected = [&shorter, &value[value.len() / 2..]].concat();
                prop_assert_eq!(chunks.value_pieces(item).collect::<Vec<_>>().concat(), expected);
            }
        }
    }
}
