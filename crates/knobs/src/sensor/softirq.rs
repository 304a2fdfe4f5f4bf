//! The network's work in softirqs: how often each CPU ran it (`/proc/softirqs`, Documentation/filesystems/proc.rst) and
//! how many packets NAPI took (`/proc/net/softnet_stat`, net/core/net-procfs.c).

use super::reading::{Quantity, Sample};
use super::text::quote;
use crate::error::{Error, Result};
use crate::host::Host;

const SOFTIRQS_FILE: &str = "proc/softirqs";
const SOFTNET_FILE: &str = "proc/net/softnet_stat";
const SOFTIRQS: Quantity = Quantity::counter("softirqs", "1");
const PACKETS: Quantity = Quantity::counter("napi_packets", "1");
const SQUEEZED: Quantity = Quantity::counter("napi_squeezed", "1");

/// The softirqs that a NIC's interrupts and timers raise.
const NAMES: [&str; 2] = ["NET_RX", "NET_TX"];

/// A row of `/proc/softirqs` on one CPU.
#[derive(Debug, PartialEq, Eq)]
struct Softirq<'a> {
    name: &'a str,
    cpu: &'a str,
    count: u64,
}

/// A row of `/proc/net/softnet_stat`.
#[derive(Debug, PartialEq, Eq)]
struct Softnet {
    cpu: u32,
    packets: u32,
    /// How often the budget or the time of one softirq ran out with work left.
    squeezed: u32,
}

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    let source = format!("/{SOFTIRQS_FILE}");
    if host.has(SOFTIRQS_FILE) {
        let text = host.read(SOFTIRQS_FILE);
        match text.as_deref().map_err(Clone::clone).and_then(softirqs) {
            Ok(softirqs) => {
                for Softirq { name, cpu, count } in softirqs {
                    sample.add(SOFTIRQS, format!("{name}/{}", cpu.to_lowercase()), &source, Ok(count as f64));
                }
            }
            Err(error) => {
                sample.add(SOFTIRQS, "machine", &source, Err(error.at(&source)));
            }
        }
    }
    let source = format!("/{SOFTNET_FILE}");
    if host.has(SOFTNET_FILE) {
        match host.read(SOFTNET_FILE).and_then(|text| softnet(&text)) {
            Ok(rows) => {
                for Softnet { cpu, packets, squeezed } in rows {
                    sample.add(PACKETS, format!("cpu{cpu}"), &source, Ok(f64::from(packets)));
                    sample.add(SQUEEZED, format!("cpu{cpu}"), &source, Ok(f64::from(squeezed)));
                }
            }
            Err(error) => {
                sample.add(PACKETS, "machine", &source, Err(error.at(&source)));
            }
        }
    }
}

/// The counts of [`NAMES`] on every CPU.
///
/// # Errors
/// The header names no CPU, a row has no number for each, or a softirq is missing.
fn softirqs(text: &str) -> Result<Vec<Softirq<'_>>> {
    let malformed = |line: &str| Error::unsupported("a softirq's row has one number for each CPU").value(quote(line));
    let mut lines = text.lines();
    let cpus: Vec<&str> = lines.next().unwrap_or_default().split_ascii_whitespace().collect();
    if cpus.is_empty() || !cpus.iter().all(|cpu| cpu.starts_with("CPU")) {
        return Err(malformed(text));
    }
    let mut counts = Vec::with_capacity(NAMES.len() * cpus.len());
    for name in NAMES {
        let is_row = |line: &&str| line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
        let line = lines.clone().find(is_row).ok_or_else(|| malformed(text))?;
        let numbers = line.split_ascii_whitespace().skip(1).map(|word| word.parse().ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>().ok_or_else(|| malformed(line))?;
        if numbers.len() != cpus.len() {
            return Err(malformed(line));
        }
        counts.extend(cpus.iter().zip(numbers).map(|(cpu, count)| Softirq { name, cpu, count }));
    }
    Ok(counts)
}

/// The rows of the CPUs that are online.
///
/// # Errors
/// A row has fewer columns than up to the CPU's number, which kernels before 2020 leave out.
fn softnet(text: &str) -> Result<Vec<Softnet>> {
    const PACKETS: usize = 0;
    const SQUEEZED: usize = 2;
    const CPU: usize = 12;
    let malformed = |line: &str| Error::unsupported("a row has 13 or more hexadecimal numbers").value(quote(line));
    let row = |line: &str| {
        let columns = line.split_ascii_whitespace().map(|word| u32::from_str_radix(word, 16).ok());
        let columns: Vec<u32> = columns.collect::<Option<_>>()?;
        Some(Softnet { cpu: *columns.get(CPU)?, packets: columns[PACKETS], squeezed: columns[SQUEEZED] })
    };
    let rows = text.lines().map(|line| row(line).ok_or_else(|| malformed(line))).collect::<Result<Vec<_>>>()?;
    if rows.is_empty() { Err(malformed(text)) } else { Ok(rows) }
}
