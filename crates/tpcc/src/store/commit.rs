//! The commit protocol (Silo, figure 2).

use core::mem::take;
use core::sync::atomic::{Ordering, fence};

use super::conflict::Conflict;
use super::record::{Held, Record};
use super::tid::{Tid, Word};
use super::transaction::Transaction;
use super::worker::{Log, Target, Worker, Write};

impl Transaction<'_, '_> {
    /// Makes all that it wrote visible at once, and says under which TID.
    ///
    /// # Errors
    /// [`Conflict`] if what it has seen is not so any more, or if others keep a record locked; then nothing is written.
    pub fn commit(self) -> Result<Tid, Conflict> {
        let tid = self.worker.log.lock().and_then(|()| self.worker.validate());
        self.worker.unlock(tid.ok());
        self.worker.collect();
        tid
    }
}

impl Log<'_> {
    /// Phase 1: locks all that is to be written, in the order of places. Keys that have no record get one, which nobody
    /// can read before it is unlocked.
    fn lock(&mut self) -> Result<(), Conflict> {
        self.writes.sort_unstable_by_key(|write| write.place);
        for write in &mut self.writes {
            let held = match write.target {
                Target::Fixed(words) => Held::Fixed(words),
                Target::Keyed(partition) => {
                    let mut entries = partition.lock()?;
                    match (entries.records.get(&write.place.key), &write.words) {
                        (Some(record), _) => Held::Counted(record.clone()),
                        (None, Some(words)) => {
                            let (record, before) = partition.link(&mut entries, write.place.key, words.len());
                            // To what this transaction has seen of the partition, its own key is no change.
                            let same = self.scans.iter_mut().filter(|(scanned, _)| core::ptr::eq(*scanned, partition));
                            same.for_each(|(_, seen)| *seen += 1);
                            write.locked = Some((Held::Counted(record), before));
                            continue;
                        }
                        // It is gone already, or this transaction put it there itself: so it must stay.
                        (None, None) => {
                            self.removed = self.removed.max(entries.removed);
                            self.scans.push((partition, partition.version()));
                            continue;
                        }
                    }
                }
            };
            let before = held.record().lock()?;
            write.locked = Some((held, before));
        }
        Ok(())
    }

    /// Phase 2: whether all that was seen is still so, and nobody is about to change it.
    fn is_as_seen(&self) -> bool {
        self.scans.iter().all(|(partition, version)| partition.version() == *version)
            && self.reads.iter().all(|(held, word)| {
                let now = held.record().word();
                now == *word || (now == word.locked() && self.has_locked(held.record()))
            })
    }

    fn has_locked(&self, record: Record<'_>) -> bool {
        self.writes.iter().filter_map(|write| write.locked.as_ref()).any(|(held, _)| held.record().is(record))
    }

    /// The greatest TID of what was read, what will be written over, and what is gone.
    fn greatest_tid(&self) -> Tid {
        let read = self.reads.iter().map(|(_, word)| word.tid());
        let locked = self.writes.iter().filter_map(|write| write.locked.as_ref()).map(|(_, before)| before.tid());
        read.chain(locked).fold(self.removed, Tid::max)
    }
}

impl Worker<'_> {
    /// Phase 2, once all is locked: the TID under which the transaction takes effect, if it can.
    fn validate(&self) -> Result<Tid, Conflict> {
        // Two transactions that each read what the other writes: with a fence between the locks and the looks of both, at
        // least one of them sees the other's lock.
        fence(Ordering::SeqCst);
        // It takes effect here: all that it writes is locked, and what it has seen is about to be found unchanged.
        let epoch = self.epoch.now();
        fence(Ordering::SeqCst);
        if !self.log.is_as_seen() {
            return Err(Conflict);
        }
        Ok(Tid::above(self.log.greatest_tid().max(self.last), epoch, self.number))
    }

    /// Phase 3: unlocks all that is locked: written under a TID, or without one as it was.
    fn unlock(&mut self, tid: Option<Tid>) {
        self.last = tid.unwrap_or(self.last);
        let mut writes = take(&mut self.log.writes);
        for Write { place, target, words, locked } in writes.drain(..) {
            let Some((held, before)) = locked else { continue };
            let after = match (tid, words) {
                (None, _) => before,
                (Some(tid), None) => Word::absent(tid),
                (Some(tid), Some(words)) => {
                    held.record().install(&self.log.words[words], Word::present(tid));
                    continue;
                }
            };
            held.record().unlock(after);
            if after.is_absent() {
                self.discard(place, target, held);
            }
        }
        self.log.writes = writes;
    }
}
