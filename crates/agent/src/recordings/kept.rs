//! The newest records of a device, in the recorder's own bytes.

use std::collections::VecDeque;

use bayop_core::{Error, Kind, Result};
use serde_json::{Map, Value};

/// What one answer has at most, in bytes: as many as there may be connections have one each within the unit's memory, though
/// nobody reads them.
const MOST_ANSWERED: usize = 1 << 17;

/// The records of a moment, as the recorder says them.
#[derive(Debug)]
pub(super) struct Chunk {
    /// What was so then: its `records` and `lost` are about the recording as a whole.
    pub head: Map<String, Value>,
    /// The records.
    pub bytes: Vec<u8>,
}

/// What an answer says.
#[derive(Debug)]
pub(super) struct Answer {
    /// How many records it has.
    pub records: u64,
    /// A line of JSON, and the records behind it.
    pub text: Vec<u8>,
}

/// Records, the oldest of which make room.
#[derive(Debug)]
pub(super) struct Kept {
    /// The recorder's first line: the device, its queues, where each number of a record stands.
    header: Map<String, Value>,
    /// The last chunk's line.
    now: Map<String, Value>,
    record_bytes: usize,
    most_bytes: usize,
    bytes: VecDeque<u8>,
    /// The number of the next record.
    next: u64,
}

impl Kept {
    /// None yet.
    ///
    /// # Errors
    /// The recorder does not say how long a record is.
    pub fn new(header: Map<String, Value>, most_bytes: usize) -> Result<Self> {
        let record_bytes =
            header.get("record_bytes").and_then(Value::as_u64).filter(|bytes| (1..=4096).contains(bytes));
        let record_bytes = record_bytes.ok_or_else(|| {
            Error::new(Kind::Failed, "the recorder does not say what its records are").at("record_bytes")
        })? as usize;
        let most_bytes = most_bytes - most_bytes % record_bytes;
        let (now, bytes) = (Map::new(), VecDeque::with_capacity(most_bytes));
        Ok(Self { header, now, record_bytes, most_bytes, bytes, next: 0 })
    }

    /// How long a record is.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// Takes the records of a moment.
    pub fn add(&mut self, Chunk { head, bytes }: Chunk) {
        self.next += (bytes.len() / self.record_bytes) as u64;
        // Room is made before it is taken: else the queue would grow to twice the memory that it may have.
        let newest = &bytes[bytes.len().saturating_sub(self.most_bytes)..];
        let surplus = (self.bytes.len() + newest.len()).saturating_sub(self.most_bytes);
        self.bytes.drain(..surplus);
        self.bytes.extend(newest);
        self.now = head;
    }

    /// The records from a number on that are kept, as many as an answer has.
    pub fn since(&self, number: u64) -> Answer {
        let oldest = self.next - (self.bytes.len() / self.record_bytes) as u64;
        let first = number.clamp(oldest, self.next);
        let records = (self.next - first).min((MOST_ANSWERED / self.record_bytes) as u64);
        let begin = (first - oldest) as usize * self.record_bytes;
        let end = begin + records as usize * self.record_bytes;
        let mut head = self.header.clone();
        head.extend(self.now.iter().map(|(key, value)| (key.clone(), value.clone())));
        // How many the recorder had no room for, since it began: of those nobody knows the number.
        let no_room = head.insert("lost".into(), oldest.saturating_sub(number).into());
        head.insert("lost_by_recorder".into(), no_room.unwrap_or_else(|| 0.into()));
        for (key, value) in [("records", records), ("next", first + records), ("left", self.next - first - records)] {
            head.insert(key.into(), value.into());
        }
        let mut text = serde_json::to_vec(&head).expect("it is JSON");
        text.push(b'\n');
        text.extend(self.bytes.range(begin..end));
        Answer { records, text }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("it is an object") };
        map
    }

    fn kept(most_bytes: usize) -> Kept {
        Kept::new(map(json!({"device": "eth0", "record_bytes": 2})), most_bytes).unwrap()
    }

    fn add(kept: &mut Kept, numbers: std::ops::Range<u8>, lost: u64) {
        let bytes = numbers.clone().flat_map(|number| [number, 0]).collect();
        kept.add(Chunk { head: map(json!({"records": numbers.len(), "lost": lost, "time_s": 0.5})), bytes });
    }

    fn told(kept: &Kept, since: u64) -> (Value, Vec<u8>) {
        let text = kept.since(since).text;
        let line = text.iter().position(|byte| *byte == b'\n').unwrap();
        (serde_json::from_slice(&text[..line]).unwrap(), text[line + 1..].to_vec())
    }

    #[test]
    fn records_are_told_from_a_number_on() {
        let mut kept = kept(100);
        add(&mut kept, 0..3, 0);
        add(&mut kept, 3..5, 7);
        let (head, bytes) = told(&kept, 2);
        assert_eq!(bytes, [2, 0, 3, 0, 4, 0]);
        let expected = json!({"device": "eth0", "record_bytes": 2, "records": 3, "lost": 0, "lost_by_recorder": 7,
            "next": 5, "left": 0, "time_s": 0.5});
        assert_eq!(head, expected);
        // Who does not know where to begin asks for what no record has yet.
        let (head, bytes) = told(&kept, u64::MAX);
        assert_eq!((&head["next"], &head["records"], bytes.len()), (&json!(5), &json!(0), 0));
    }

    #[test]
    fn the_oldest_make_room_and_who_comes_late_is_told_how_many() {
        let mut kept = kept(7);
        add(&mut kept, 0..3, 0);
        add(&mut kept, 3..5, 0);
        let (head, bytes) = told(&kept, 1);
        assert_eq!((&head["lost"], bytes), (&json!(1), vec![2, 0, 3, 0, 4, 0]));
        add(&mut kept, 5..25, 0);
        assert_eq!(told(&kept, 0).1, [22, 0, 23, 0, 24, 0], "a chunk may be larger than the room");
    }

    #[test]
    fn an_answer_is_bounded_and_says_what_is_left() {
        let mut kept = kept(2 * MOST_ANSWERED);
        kept.add(Chunk { head: Map::new(), bytes: vec![1; MOST_ANSWERED + 20] });
        let (head, bytes) = told(&kept, 0);
        assert_eq!((&head["left"], bytes.len()), (&json!(10), MOST_ANSWERED));
        assert_eq!(told(&kept, head["next"].as_u64().unwrap()).1.len(), 20);
    }

    #[test]
    fn a_recorder_that_does_not_say_what_records_are_is_refused() {
        for header in
            [json!({}), json!({"record_bytes": 0}), json!({"record_bytes": "2"}), json!({"record_bytes": 5000})]
        {
            assert!(Kept::new(map(header), 100).is_err());
        }
    }
}
