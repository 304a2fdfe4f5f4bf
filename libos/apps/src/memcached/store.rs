//! Items by key: a hash table over chunks of memory, the least recently used going first when memory ends.

use alloc::vec;
use alloc::vec::Vec;

use super::chunk::{CHUNK_LEN, Chunks, Header, NONE, chunks_of};

/// The longest key.
pub const MAX_KEY_LEN: usize = 250;
/// The longest value.
pub const MAX_VALUE_LEN: usize = 1 << 20;

/// When an item is gone (protocol.txt, "Expiration times"): zero is never; up to 30 days it is a delay, else a second of
/// 1970's count.
pub fn gone_s(time_s: u32, now_s: u32) -> u32 {
    const LONGEST_DELAY_S: u32 = 60 * 60 * 24 * 30;
    match time_s {
        0 => 0,
        1..=LONGEST_DELAY_S => now_s.saturating_add(time_s),
        _ => time_s,
    }
}

/// An item that is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Item(u32);

/// Why an item is not stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooLarge;

/// What a store holds and has done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs)]
pub struct Counts {
    pub items: u64,
    pub total_items: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    pub evictions: u64,
    /// Searches that found an item past its time.
    pub get_expired: u64,
    /// Searches that found an item of before a flush.
    pub get_flushed: u64,
}

impl Counts {
    /// Begins to count anew what was done.
    pub fn reset(&mut self) {
        *self = Counts { items: self.items, bytes: self.bytes, ..Counts::default() };
    }
}

/// Items by key. Times are seconds of 1970's count; items that are past theirs are gone, and their memory is used again
/// when somebody asks for them or memory ends.
#[derive(Debug)]
pub struct Store {
    chunks: Chunks,
    /// The first item of each bucket.
    buckets: Vec<u32>,
    seed: u64,
    newest: u32,
    oldest: u32,
    last_unique: u64,
    /// Items up to this unique number are gone.
    flushed_unique: u64,
    /// When all items that are there then will be gone.
    flush_s: Option<u32>,
    /// What it holds and has done.
    pub counts: Counts,
}

impl Store {
    /// An empty store that takes `limit` bytes, for chunks, and for buckets beside them.
    ///
    /// # Panics
    ///
    /// `limit` is less than twice the longest value.
    pub fn new(limit: usize, seed: u64) -> Store {
        assert!(limit >= 2 * MAX_VALUE_LEN, "a store must have room for two values");
        let chunks = limit / (CHUNK_LEN + 4);
        Store {
            chunks: Chunks::new(chunks),
            buckets: vec![NONE; chunks.next_power_of_two() / 2],
            seed: seed | 1,
            newest: NONE,
            oldest: NONE,
            last_unique: 0,
            flushed_unique: 0,
            flush_s: None,
            counts: Counts::default(),
        }
    }

    /// The item of a key, which is then the newest.
    #[inline]
    pub fn find(&mut self, key: &[u8], now_s: u32) -> Option<Item> {
        self.flush_when_due(now_s);
        let item = self.search(self.bucket(key), key)?;
        let expires_s = self.chunks.expires_s(item);
        let is_flushed = self.chunks.unique(item) <= self.flushed_unique;
        if is_flushed || expires_s != 0 && expires_s <= now_s {
            *(if is_flushed { &mut self.counts.get_flushed } else { &mut self.counts.get_expired }) += 1;
            self.remove(Item(item));
            return None;
        }
        if item != self.newest {
            self.unlink_use(item);
            self.link_use(item);
        }
        Some(Item(item))
    }

    /// The number that changes whenever an item does.
    #[inline]
    pub fn unique(&self, item: Item) -> u64 {
        self.chunks.unique(item.0)
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self, item: Item) -> u32 {
        self.chunks.flags(item.0)
    }

    /// When the item will be gone; zero: never.
    pub fn expires_s(&self, item: Item) -> u32 {
        self.chunks.expires_s(item.0)
    }

    /// The length of the value.
    #[inline]
    pub fn value_len(&self, item: Item) -> usize {
        self.chunks.value_len(item.0) as usize
    }

    /// The value, in pieces.
    #[inline]
    pub fn value(&self, item: Item) -> impl Iterator<Item = &[u8]> {
        self.chunks.value_pieces(item.0)
    }

    /// Has an item be gone at another time.
    pub fn touch(&mut self, item: Item, expires_s: u32) {
        self.chunks.set_expires_s(item.0, expires_s);
    }

    /// Stores an item in the place of the one with its key.
    ///
    /// # Errors
    ///
    /// The value is too long; the key must not be.
    pub fn set(&mut self, key: &[u8], flags: u32, expires_s: u32, value: &[u8], now_s: u32) -> Result<Item, TooLarge> {
        assert!(!key.is_empty() && key.len() <= MAX_KEY_LEN);
        if value.len() > MAX_VALUE_LEN {
            return Err(TooLarge);
        }
        self.flush_when_due(now_s);
        let bucket = self.bucket(key);
        if let Some(old) = self.search(bucket, key) {
            self.remove(Item(old));
        }
        let needed = chunks_of(key.len(), value.len());
        while self.chunks.free_len() < needed {
            self.counts.evictions += 1;
            self.remove(Item(self.oldest));
        }
        self.last_unique += 1;
        let header = Header {
            bucket_next: self.buckets[bucket],
            newer: NONE,
            older: NONE,
            value_len: value.len() as u32,
            flags,
            expires_s,
            unique: self.last_unique,
            key_len: key.len() as u8,
        };
        let item = self.chunks.make(&header, key, value);
        self.buckets[bucket] = item;
        self.link_use(item);
        self.counts.items += 1;
        self.counts.total_items += 1;
        self.counts.bytes += (key.len() + value.len()) as u64;
        Ok(Item(item))
    }

    /// Changes the first bytes of a value, which makes it another. Panics when it has not so many.
    pub fn overwrite(&mut self, item: Item, bytes: &[u8]) {
        self.chunks.overwrite(item.0, bytes);
        self.last_unique += 1;
        self.chunks.set_unique(item.0, self.last_unique);
    }

    /// Removes an item.
    pub fn remove(&mut self, item: Item) {
        let item = item.0;
        let mut key_len = 0;
        let mut key = [0; MAX_KEY_LEN];
        for piece in self.chunks.key_pieces(item) {
            key[key_len..key_len + piece.len()].copy_from_slice(piece);
            key_len += piece.len();
        }
        let bucket = self.bucket(&key[..key_len]);
        let next = self.chunks.bucket_next(item);
        if self.buckets[bucket] == item {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.chunks.bucket_next(before) != item {
                before = self.chunks.bucket_next(before);
            }
            self.chunks.set_bucket_next(before, next);
        }
        self.unlink_use(item);
        self.counts.items -= 1;
        self.counts.bytes -= key_len as u64 + u64::from(self.chunks.value_len(item));
        self.chunks.free(item);
    }

    /// Has all items be gone that are there now, or at `at_s`.
    pub fn flush(&mut self, at_s: Option<u32>) {
        self.flush_s = at_s;
        if at_s.is_none() {
            self.flushed_unique = self.last_unique;
        }
    }

    fn flush_when_due(&mut self, now_s: u32) {
        if self.flush_s.is_some_and(|at_s| at_s <= now_s) {
            self.flush(None);
        }
    }

    /// The item of a key, gone or not.
    #[inline]
    fn search(&self, bucket: usize, key: &[u8]) -> Option<u32> {
        let mut item = self.buckets[bucket];
        while item != NONE && !self.chunks.key_is(item, key) {
            item = self.chunks.bucket_next(item);
        }
        (item != NONE).then_some(item)
    }

    fn link_use(&mut self, item: u32) {
        self.chunks.set_newer(item, NONE);
        self.chunks.set_older(item, self.newest);
        match self.newest {
            NONE => self.oldest = item,
            newest => self.chunks.set_newer(newest, item),
        }
        self.newest = item;
    }

    fn unlink_use(&mut self, item: u32) {
        let (newer, older) = (self.chunks.newer(item), self.chunks.older(item));
        match newer {
            NONE => self.newest = older,
            newer => self.chunks.set_older(newer, older),
        }
        match older {
            NONE => self.oldest = newer,
            older => self.chunks.set_newer(older, newer),
        }
    }

    #[inline]
    fn bucket(&self, key: &[u8]) -> usize {
        hash(self.seed, key) as usize & (self.buckets.len() - 1)
    }
}

/// A hash of bytes, eight at a time, from a seed: multiplying and folding (Yi, wyhash).
#[inline]
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * 0xA076_1D64_78BD_642F;
        product as u64 ^ (product >> 64) as u64
    };
    let mut words = bytes.chunks_exact(8);
    let mut hash = seed ^ bytes.len() as u64;
    for word in &mut words {
        hash = mix(hash, word.try_into().map_or(0, u64::from_le_bytes));
    }
    mix(hash, words.remainder().iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    extern crate std;

    const LIMIT: usize = 2 * MAX_VALUE_LEN;

    fn value_of(store: &mut Store, key: &[u8], now_s: u32) -> Option<Vec<u8>> {
        let item = store.find(key, now_s)?;
        Some(store.value(item).collect::<Vec<_>>().concat())
    }

    #[derive(Clone, Debug)]
    enum Step {
        Set(u8, Vec<u8>, u32),
        Remove(u8),
        Touch(u8, u32),
        Flush(Option<u32>),
        Wait(u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => (0u8..20, prop::collection::vec(any::<u8>(), 0..500), 0u32..30)
                .prop_map(|(key, value, delay_s)| Step::Set(key, value, delay_s)),
            1 => (0u8..20).prop_map(Step::Remove),
            1 => (0u8..20, 0u32..30).prop_map(|(k, e)| Step::Touch(k, e)),
            1 => prop::option::of(1u32..10).prop_map(Step::Flush),
            2 => (0u32..5).prop_map(Step::Wait),
        ];
        prop::collection::vec(step, 1..80)
    }

    proptest! {
        #[test]
        fn is_a_map_with_times(seed: u64, steps in steps()) {
            let mut store = Store::new(LIMIT, seed);
            let mut model: HashMap<u8, (Vec<u8>, u32)> = HashMap::new();
            let (mut now_s, mut flush_s) = (1000, None);
            let key = |key: u8| vec![b'a' + key; 1 + usize::from(key) * 12];
            for step in steps {
                match step {
                    Step::Set(k, value, delay_s) => {
                        let expires_s = if delay_s == 0 { 0 } else { now_s + delay_s };
                        store.set(&key(k), 7, expires_s, &value, now_s).unwrap();
                        model.insert(k, (value, expires_s));
                    }
                    Step::Remove(k) => {
                        let item = store.find(&key(k), now_s);
                        prop_assert_eq!(item.is_some(), model.remove(&k).is_some());
                        item.into_iter().for_each(|item| store.remove(item));
                    }
                    Step::Touch(k, delay_s) => {
                        if let Some(item) = store.find(&key(k), now_s) {
                            store.touch(item, now_s + delay_s + 1);
                            model.get_mut(&k).unwrap().1 = now_s + delay_s + 1;
                        }
                    }
                    Step::Flush(delay_s) => {
                        flush_s = delay_s.map(|delay_s| now_s + delay_s);
                        store.flush(flush_s);
                        if flush_s.is_none() { model.clear(); }
                    }
                    Step::Wait(delay_s) => now_s += delay_s,
                }
                if flush_s.is_some_and(|at_s| at_s <= now_s) {
                    flush_s = None;
                    model.clear();
                }
                model.retain(|_, (_, expires_s)| *expires_s == 0 || *expires_s > now_s);
                for k in 0..20 {
                    let expected = model.get(&k).map(|(value, _)| value.clone());
                    prop_assert_eq!(value_of(&mut store, &key(k), now_s), expected);
                }
                prop_assert_eq!(store.counts.items as usize, model.len());
            }
        }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut store = Store::new(LIMIT, 5);
        let value = vec![b'v'; 1000];
        let key = |number: usize| std::format!("key{number}").into_bytes();
        let mut number = 0;
        while store.counts.evictions == 0 {
            store.set(&key(number), 0, 0, &value, 1).unwrap();
            number += 1;
            assert!(store.find(&key(0), 1).is_some(), "it is used all the time");
        }
        assert!(store.find(&key(1), 1).is_none());
        assert!(store.find(&key(2), 1).is_some());
        assert!(number > LIMIT / 1300, "{number}");
        for number in 0..100 {
            store.set(&key(number), 0, 0, &vec![b'w'; MAX_VALUE_LEN], 1).unwrap();
        }
        assert_eq!((store.counts.items, store.set(b"k", 0, 0, &vec![0; MAX_VALUE_LEN + 1], 1)), (1, Err(TooLarge)));
    }
}
