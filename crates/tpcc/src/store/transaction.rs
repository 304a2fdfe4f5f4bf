//! A transaction before it is committed: it reads what is shared and writes what is its own.

use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};
use core::ptr::from_ref;

use super::array::Array;
use super::conflict::Conflict;
use super::record::{Held, Record};
use super::row::Row;
use super::tid::Tid;
use super::tree::Tree;
use super::worker::{Log, Place, Target, Worker, Write};

/// One transaction. It sees what others have committed and what it has written itself; nobody sees what it has written
/// until [`commit`](Transaction::commit) has answered. Dropped without that, it leaves nothing behind.
///
/// Until then it may see states that no order of transactions has; a [`Conflict`] says so at the end. So whoever can't
/// live with what it reads must not rely on it before.
pub struct Transaction<'w, 'db> {
    pub(super) worker: &'w mut Worker<'db>,
}

impl<'w, 'db> Transaction<'w, 'db> {
    /// Begins one at a time since 1970, or another beginning that is the same for all: the time moves the epoch on.
    pub fn begin(worker: &'w mut Worker<'db>, now_us: u64) -> Self {
        worker.epoch.advance(now_us);
        Self { worker }
    }

    /// A row of an array.
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing it.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn read<R: Row>(&mut self, array: &'db Array<R>, index: usize) -> Result<R, Conflict> {
        let place = place_in_array(array, index);
        if let Some(own) = self.worker.log.own(place) {
            return Ok(own.expect("no row of an array is ever removed"));
        }
        let words = array.record(index);
        let (word, row) = Record::of(words).read()?;
        self.worker.log.reads.push((Held::Fixed(words), word));
        Ok(row.expect("no row of an array is ever absent"))
    }

    /// Writes a row of an array.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn update<R: Row>(&mut self, array: &'db Array<R>, index: usize, row: &R) {
        self.worker.log.write(place_in_array(array, index), Target::Fixed(array.record(index)), Some(row));
    }

    /// The row of a key of a tree, if it has one.
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing it.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn get<R: Row>(&mut self, tree: &'db Tree<R>, partition: usize, key: u64) -> Result<Option<R>, Conflict> {
        let log = &mut self.worker.log;
        if let Some(own) = log.own(place_in_tree(tree, partition, key)) {
            return Ok(own);
        }
        let part = tree.partition(partition);
        let entries = part.lock()?;
        let Some(words) = entries.records.get(&key).cloned() else {
            log.removed = log.removed.max(entries.removed);
            log.scans.push((part, part.version()));
            return Ok(None);
        };
        drop(entries);
        let (word, row) = Record::of(&words).read()?;
        log.reads.push((Held::Counted(words), word));
        Ok(row)
    }

    /// Writes the row of a key of a tree, whether it has one or not.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn put<R: Row>(&mut self, tree: &'db Tree<R>, partition: usize, key: u64, row: &R) {
        let place = place_in_tree(tree, partition, key);
        self.worker.log.write(place, Target::Keyed(tree.partition(partition)), Some(row));
    }

    /// Removes the row of a key of a tree, and says whether it had one.
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing it.
    ///
    /// # Panics
    /// If there is no such partition.
    pub fn remove<R: Row>(&mut self, tree: &'db Tree<R>, partition: usize, key: u64) -> Result<bool, Conflict> {
        let was_there = self.get(tree, partition, key)?.is_some();
        if was_there {
            let place = place_in_tree(tree, partition, key);
            self.worker.log.write::<R>(place, Target::Keyed(tree.partition(partition)), None);
        }
        Ok(was_there)
    }

    /// All rows of a range of keys, in their order.
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing one.
    ///
    /// # Panics
    /// If there is no such partition, or if the range begins behind its end.
    pub fn scan<R: Row>(
        &mut self,
        tree: &'db Tree<R>,
        partition: usize,
        keys: RangeInclusive<u64>,
    ) -> Result<Vec<(u64, R)>, Conflict> {
        let mut rows = self.visit(tree, partition, keys, usize::MAX, false)?;
        rows.sort_unstable_by_key(|&(key, _)| key);
        Ok(rows)
    }

    /// The first row of a range of keys; see [`scan`](Transaction::scan).
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing it.
    pub fn first<R: Row>(
        &mut self,
        tree: &'db Tree<R>,
        partition: usize,
        keys: RangeInclusive<u64>,
    ) -> Result<Option<(u64, R)>, Conflict> {
        Ok(self.visit(tree, partition, keys, 1, false)?.into_iter().min_by_key(|&(key, _)| key))
    }

    /// The last row of a range of keys; see [`scan`](Transaction::scan).
    ///
    /// # Errors
    /// [`Conflict`] if somebody goes on writing it.
    pub fn last<R: Row>(
        &mut self,
        tree: &'db Tree<R>,
        partition: usize,
        keys: RangeInclusive<u64>,
    ) -> Result<Option<(u64, R)>, Conflict> {
        Ok(self.visit(tree, partition, keys, 1, true)?.into_iter().max_by_key(|&(key, _)| key))
    }

    /// Rows of a range: at least the first `limit` of them, or the last ones when `backwards`, and own ones behind.
    ///
    /// What is absent is seen too: it may come back without a new version of the partition.
    fn visit<R: Row>(
        &mut self,
        tree: &'db Tree<R>,
        partition: usize,
        keys: RangeInclusive<u64>,
        limit: usize,
        backwards: bool,
    ) -> Result<Vec<(u64, R)>, Conflict> {
        let log = &mut self.worker.log;
        let Place { table, .. } = place_in_tree(tree, partition, 0);
        let is_own = |place: &Place| place.table == table && place.partition == partition && keys.contains(&place.key);
        let own: Vec<_> = log.writes.iter().filter(|write| is_own(&write.place)).map(|write| write.place.key).collect();

        let part = tree.partition(partition);
        let entries = part.lock()?;
        log.scans.push((part, part.version()));
        log.removed = log.removed.max(entries.removed);
        let mut range = entries.records.range(keys.clone());
        let mut found = Vec::new();
        while found.len() < limit {
            let Some((&key, words)) = (if backwards { range.next_back() } else { range.next() }) else { break };
            if own.contains(&key) {
                continue;
            }
            let (word, row) = Record::of(words).read()?;
            log.reads.push((Held::Counted(words.clone()), word));
            found.extend(row.map(|row| (key, row)));
        }
        drop(entries);

        for key in own {
            let row = log.own(place_in_tree(tree, partition, key)).expect("it is one of the own writes");
            found.extend(row.map(|row| (key, row)));
        }
        Ok(found)
    }
}

impl Drop for Transaction<'_, '_> {
    fn drop(&mut self) {
        self.worker.log.clear();
    }
}

fn place_in_array<R>(array: &Array<R>, index: usize) -> Place {
    Place { table: from_ref(array) as usize, partition: 0, key: index as u64 }
}

fn place_in_tree<R>(tree: &Tree<R>, partition: usize, key: u64) -> Place {
    Place { table: from_ref(tree) as usize, partition, key }
}

impl<'db> Log<'db> {
    /// What the transaction has written to a place itself: a row, or none where it has removed it.
    fn own<R: Row>(&self, place: Place) -> Option<Option<R>> {
        let write = self.writes.iter().find(|write| write.place == place)?;
        Some(write.words.clone().map(|words| R::decode(&mut self.words[words].iter().copied())))
    }

    fn write<R: Row>(&mut self, place: Place, target: Target<'db>, row: Option<&R>) {
        let words = row.map(|row| self.append(row));
        match self.writes.iter_mut().find(|write| write.place == place) {
            Some(write) => write.words = words,
            None => self.writes.push(Write { place, target, words, locked: None }),
        }
    }

    fn append<R: Row>(&mut self, row: &R) -> Range<usize> {
        let start = self.words.len();
        row.encode(&mut self.words);
        start..self.words.len()
    }

    fn clear(&mut self) {
        self.reads.clear();
        self.scans.clear();
        self.writes.clear();
        self.words.clear();
        self.removed = Tid::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tid::{Epoch, Word};

    /// A record that is absent, but has not left its table yet, may come back without a new version of the partition.
    #[test]
    fn what_is_absent_is_seen() {
        for is_scan in [false, true] {
            let (epoch, mut tree) = (Epoch::default(), Tree::new(1));
            tree.load(0, 5, &5_u64);
            let tree = tree;
            let record = tree.partition(0).lock().expect("nobody else is at it").records[&5].clone();
            Record::of(&record).unlock(Word::absent(Tid::ZERO));
            let (mut ours, mut theirs) = (Worker::new(&epoch, 1), Worker::new(&epoch, 2));
            let mut transaction = Transaction::begin(&mut ours, 0);
            if is_scan {
                assert_eq!(transaction.scan(&tree, 0, 0..=9), Ok(Vec::new()));
            } else {
                assert_eq!(transaction.get(&tree, 0, 5), Ok(None));
            }
            transaction.put(&tree, 0, 1, &1);
            let mut other = Transaction::begin(&mut theirs, 0);
            other.put(&tree, 0, 5, &6);
            assert!(other.commit().is_ok());
            assert_eq!(transaction.commit(), Err(Conflict));
        }
    }
}
