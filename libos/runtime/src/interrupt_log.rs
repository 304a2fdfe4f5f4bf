//! A record of each interrupt, as `bayop interrupts` reads them: [D] sections 2.4 and 4.3 look at the same columns.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use spin::Mutex;

use crate::counters::Totals;

/// An interrupt, and what it led to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record {
    /// Which core.
    pub core: usize,
    /// When the core woke up.
    pub time_us: u64,
    /// Frames that came from then until the next one.
    pub received_frames: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// How often the core has looked for them.
    pub turns: u64,
    /// Frames that were sent since the record before.
    pub sent_frames: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// How long the core has slept since the record before.
    pub slept_us: u64,
}

/// The newest records of all cores, each with a number that grows by one.
#[derive(Debug)]
pub struct InterruptLog {
    records: VecDeque<Record>,
    most: usize,
    /// The number of the next record.
    next: u64,
}

impl InterruptLog {
    /// Keeps so many.
    pub fn new(most: usize) -> InterruptLog {
        InterruptLog { records: VecDeque::with_capacity(most), most, next: 0 }
    }

    /// The number that the next record will have.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The number of the oldest record that is kept.
    pub fn first(&self) -> u64 {
        self.next - self.records.len() as u64
    }

    /// The records that are kept, from a number on.
    pub fn since(&self, number: u64) -> impl Iterator<Item = &Record> {
        self.records.iter().skip(number.saturating_sub(self.first()) as usize)
    }

    fn add(&mut self, record: Record) {
        if self.records.len() == self.most {
            self.records.pop_front();
        }
        self.records.push_back(record);
        self.next += 1;
    }
}

/// Writes the records of one core.
#[derive(Debug)]
pub struct Writer {
    log: Arc<Mutex<InterruptLog>>,
    core: usize,
    /// The interrupt of which it is not known yet what it leads to: when it came, and the counts then.
    open: Option<(u64, Totals)>,
    /// The counts of the interrupt before.
    before: Totals,
}

impl Writer {
    /// Into the log of all, those of the core of this number.
    pub fn new(log: Arc<Mutex<InterruptLog>>, core: usize) -> Writer {
        Writer { log, core, open: None, before: Totals::default() }
    }

    /// An interrupt came when the core had counted so far; what the last one led to is known then.
    pub(crate) fn note(&mut self, time_us: u64, now: Totals) {
        if let Some((time_us, then)) = self.open.replace((time_us, now)) {
            self.log.lock().add(Record {
                core: self.core,
                time_us,
                received_frames: now.received_frames - then.received_frames,
                received_bytes: now.received_bytes - then.received_bytes,
                turns: now.turns - then.turns,
                sent_frames: then.sent_frames - self.before.sent_frames,
                sent_bytes: then.sent_bytes - self.before.sent_bytes,
                slept_us: then.slept_us - self.before.slept_us,
            });
            self.before = then;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn totals(received: u64, sent: u64, slept_us: u64) -> Totals {
        Totals {
            received_frames: received,
            received_bytes: 60 * received,
            sent_frames: sent,
            sent_bytes: 100 * sent,
            turns: 2 * received,
            sleeps: 0,
            slept_us,
            interrupts: 0,
        }
    }

    #[test]
    fn a_record_has_what_came_until_the_next_and_what_went_since_the_last() {
        let log = Arc::new(Mutex::new(InterruptLog::new(10)));
        let mut writer = Writer::new(log.clone(), 1);
        writer.note(50, totals(0, 0, 50));
        writer.note(80, totals(3, 2, 70));
        assert_eq!(log.lock().next(), 1);
        writer.note(95, totals(4, 5, 80));
        let log = log.lock();
        let records: Vec<_> = log.since(0).map(|r| (r.time_us, r.received_frames, r.sent_frames, r.slept_us)).collect();
        assert_eq!(records, [(50, 3, 0, 50), (80, 1, 2, 20)]);
        assert_eq!(log.since(1).map(|record| (record.turns, record.sent_bytes)).collect::<Vec<_>>(), [(2, 200)]);
    }

    #[test]
    fn the_oldest_make_room() {
        let log = Arc::new(Mutex::new(InterruptLog::new(3)));
        let mut writers = [0, 1].map(|core| Writer::new(log.clone(), core));
        (0..=6).for_each(|each| writers[each as usize % 2].note(each, totals(each, each, 0)));
        let log = log.lock();
        assert_eq!((log.first(), log.next()), (2, 5));
        let records: Vec<_> = log.since(0).map(|record| (record.core, record.time_us)).collect();
        assert_eq!(records, [(0, 2), (1, 3), (0, 4)]);
        assert_eq!(log.since(4).map(|record| record.time_us).collect::<Vec<_>>(), [4]);
        assert_eq!(log.since(99).count(), 0);
    }
}
