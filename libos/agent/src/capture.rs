//! The interrupt log as a recorder of interrupts prints it: what each number is, and the numbers as they lie in memory.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use libos_runtime::interrupt_log::{InterruptLog, Record};
use serde::Serialize;

use crate::NIC;

/// The most records of an answer: with less than 64 KiB it is no burden to those who are served meanwhile.
const MOST: usize = 1000;
/// Packets that one look for frames might bring.
const BUDGET: u64 = libos_runtime::BUDGET as u64;

/// What an answer is made of.
pub struct Captured {
    pub head: Head,
    pub records: Vec<u8>,
}

/// The first line.
#[derive(Serialize)]
pub struct Head {
    by: &'static str,
    device: &'static str,
    queues: Vec<Queue>,
    fields: &'static [Field],
    record_bytes: u32,
    records: usize,
    /// How many of those that were asked for are not kept any more.
    lost: u64,
    /// What to ask for next.
    next: u64,
    /// How many there are from there on.
    left: u64,
    time_s: f64,
    delay_us: Option<f64>,
}

#[derive(Serialize)]
struct Queue {
    irq: u32,
    name: Cow<'static, str>,
}

#[derive(Serialize)]
struct Field {
    name: &'static str,
    offset: u32,
    bytes: u32,
}

/// Names of a record's numbers, as `bayop-interrupts-record` has them.
const FIELDS: [Field; 10] = [
    Field { name: "time_ns", offset: 0, bytes: 8 },
    Field { name: "idle_ns_C1", offset: 8, bytes: 8 },
    Field { name: "rx_packets", offset: 16, bytes: 4 },
    Field { name: "rx_bytes", offset: 20, bytes: 4 },
    Field { name: "tx_packets", offset: 24, bytes: 4 },
    Field { name: "tx_bytes", offset: 28, bytes: 4 },
    Field { name: "polls", offset: 32, bytes: 4 },
    Field { name: "budget", offset: 36, bytes: 4 },
    Field { name: "irq", offset: 40, bytes: 4 },
    Field { name: "cpu", offset: 44, bytes: 4 },
];
const RECORD_BYTES: usize = 48;

/// The records from a number on, as many as an answer has, of a NIC with a pair of queues for each core, which is asked to
/// wait so long. An interrupt has its core's number.
pub fn since(log: &InterruptLog, cores: usize, number: u64, time_s: f64, delay_us: Option<f64>) -> Captured {
    let first = number.clamp(log.first(), log.next());
    let mut records = Vec::with_capacity(RECORD_BYTES * MOST.min((log.next() - first) as usize));
    log.since(first).take(MOST).for_each(|record| write(record, &mut records));
    let count = records.len() / RECORD_BYTES;
    let head = Head {
        by: "library OS",
        device: NIC,
        queues: (0..cores).map(|core| Queue { irq: core as u32, name: name_of(core, cores) }).collect(),
        fields: &FIELDS,
        record_bytes: RECORD_BYTES as u32,
        records: count,
        lost: log.first().saturating_sub(number),
        next: first + count as u64,
        left: log.next() - first - count as u64,
        time_s,
        delay_us,
    };
    Captured { head, records }
}

/// A queue of several has its number.
fn name_of(core: usize, cores: usize) -> Cow<'static, str> {
    if cores == 1 { NIC.into() } else { format!("{NIC}-{core}").into() }
}

fn write(record: &Record, out: &mut Vec<u8>) {
    for number in [record.time_us, record.slept_us] {
        out.extend((1000 * number).to_le_bytes());
    }
    let Record { received_frames, received_bytes, sent_frames, sent_bytes, turns, .. } = *record;
    for number in [received_frames, received_bytes, sent_frames, sent_bytes, turns, BUDGET * turns] {
        out.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
    for number in [record.core as u32; 2] {
        out.extend(number.to_le_bytes());
    }
}
