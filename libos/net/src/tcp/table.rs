//! All connections, found by their addresses in constant time.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// What tells connections apart: the other side's address and port, and our port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Key(u64);

impl Key {
    /// Of an address and ports.
    #[inline]
    pub fn new(remote_address: [u8; 4], remote_port: u16, local_port: u16) -> Key {
        Key(u64::from(u32::from_be_bytes(remote_address)) << 32 | u64::from(remote_port) << 16 | u64::from(local_port))
    }

    /// As a number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A connection's place, which nothing else ever has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Id {
    slot: u32,
    generation: u32,
}

const NONE: u32 = u32::MAX;

/// Connections.
#[derive(Debug)]
pub struct Table<C> {
    slots: Vec<Slot<C>>,
    free: Vec<u32>,
    /// The first slot of each bucket.
    buckets: Vec<u32>,
    multiplier: u64,
}

#[derive(Debug)]
struct Slot<C> {
    generation: u32,
    key: Key,
    /// The next one in the same bucket.
    next: u32,
    value: Option<Box<C>>,
}

impl<C> Table<C> {
    /// None yet. Up to about `expected`, a bucket has one; `seed` keeps others from choosing those that share one.
    pub fn new(expected: usize, seed: u64) -> Table<C> {
        let buckets = vec![NONE; expected.next_power_of_two().max(2)];
        Table { slots: Vec::new(), free: Vec::new(), buckets, multiplier: seed | 1 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many places have ever been used.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The connection at a place, by its number.
    pub fn at(&self, slot: usize) -> Option<(Id, Key, &C)> {
        let entry = self.slots.get(slot)?;
        let id = Id { slot: slot as u32, generation: entry.generation };
        entry.value.as_deref().map(|value| (id, entry.key, value))
    }

    /// Where a connection is.
    #[inline]
    pub fn find(&self, key: Key) -> Option<Id> {
        let mut slot = self.buckets[self.bucket(key)];
        while slot != NONE {
            let entry = &self.slots[slot as usize];
            if entry.key == key {
                return Some(Id { slot, generation: entry.generation });
            }
            slot = entry.next;
        }
        None
    }

    /// Adds one. Panics when it is there.
    pub fn insert(&mut self, key: Key, value: Box<C>) -> Id {
        assert!(self.find(key).is_none());
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, key, next: NONE, value: None });
            self.slots.len() as u32 - 1
        });
        let bucket = self.bucket(key);
        let entry = &mut self.slots[slot as usize];
        entry.key = key;
        entry.next = core::mem::replace(&mut self.buckets[bucket], slot);
        entry.value = Some(value);
        Id { slot, generation: entry.generation }
    }

    /// The connection at a place, unless it is gone.
    #[inline]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut C> {
        let entry = self.slots.get_mut(id.slot as usize).filter(|entry| entry.generation == id.generation)?;
        entry.value.as_deref_mut()
    }

    /// Takes a connection out, unless it is gone.
    pub fn remove(&mut self, id: Id) -> Option<Box<C>> {
        let entry = self.slots.get_mut(id.slot as usize).filter(|entry| entry.generation == id.generation)?;
        let value = entry.value.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        let (key, next) = (entry.key, entry.next);
        let bucket = self.bucket(key);
        if self.buckets[bucket] == id.slot {
            self.buckets[bucket] = next;
        } else {
            let mut before = self.buckets[bucket];
            while self.slots[before as usize].next != id.slot {
                before = self.slots[before as usize].next;
            }
            self.slots[before as usize].next = next;
        }
        self.free.push(id.slot);
        Some(value)
    }

    #[inline]
    fn bucket(&self, key: Key) -> usize {
        // Multiply-shift: two keys share a bucket with the chance of one bucket, whatever they are.
        (key.0.wrapping_mul(self.multiplier) >> (64 - self.buckets.len().ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    extern crate std;

    proptest! {
        #[test]
        fn is_a_map(seed: u64, steps in prop::collection::vec((0u16..40, any::<bool>()), 1..300)) {
            let mut table = Table::new(16, seed);
            let mut model: HashMap<u16, (Id, usize)> = HashMap::new();
            let mut gone = Vec::new();
            for (number, (port, add)) in steps.into_iter().enumerate() {
                let key = Key::new([10, 0, 0, 1], port, 11211);
                match (add, model.get(&port).copied()) {
                    (true, None) => {
                        model.insert(port, (table.insert(key, Box::new(number)), number));
                    }
                    (false, Some((id, value))) => {
                        model.remove(&port);
                        let removed = table.remove(id);
                        prop_assert_eq!(removed.as_deref(), Some(&value));
                        gone.push(id);
                    }
                    _ => {}
                }
                prop_assert_eq!(table.len(), model.len());
                for port in 0..40 {
                    let id = table.find(Key::new([10, 0, 0, 1], port, 11211));
                    prop_assert_eq!(id, model.get(&port).map(|(id, _)| *id));
                    let value = id.and_then(|id| table.get_mut(id).copied());
                    prop_assert_eq!(value, model.get(&port).map(|(_, value)| *value));
                }
                prop_assert!(gone.iter().all(|id| table.get_mut(*id).is_none()));
                let all: Vec<_> = (0..table.slots()).filter_map(|slot| table.at(slot)).collect();
                prop_assert_eq!(all.len(), model.len());
                prop_assert!(all.iter().all(|(id, key, _)| table.find(*key) == Some(*id)));
            }
        }
    }
}
