//! The network's work in softirqs: how often each CPU ran it (`/proc/softirqs`, Documentation/filesystems/proc.rst) and
//! how many packets NAPI took (`/proc/net/softnet_stat`, net/core/net-procfs.c).

use super::reading::{Quantity, Sample};
use super::text::quote;
use crate::host::Host;
use bayop_core::{Error, Result};

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
                sample.add(SOFTIRQS, "machine", &source, Err(error));
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
                sample.add(PACKETS, "machine", &source, Err(error));
            }
        }
    }
}

/// The counts of [`NAMES`] on every CPU.
///
/// # Errors
/// The header names no CPU, a row has no number for each, or a softirq is missing.
fn softirqs(text: &str) -> Result<Vec<Softirq<'_>>> {
    let malformed = |line: &str| {
        let rule = "a softirq's row must have one number for each CPU";
        Error::malformed(quote(line), rule).at(format!("/{SOFTIRQS_FILE}"))
    };
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
    let malformed = |line: &str| {
        let rule = "a row must have 13 or more hexadecimal numbers";
        Error::malformed(quote(line), rule).at(format!("/{SOFTNET_FILE}"))
    };
    let row = |line: &str| {
        let columns = line.split_ascii_whitespace().map(|word| u32::from_str_radix(word, 16).ok());
        let columns: Vec<u32> = columns.collect::<Option<_>>()?;
        Some(Softnet { cpu: *columns.get(CPU)?, packets: columns[PACKETS], squeezed: columns[SQUEEZED] })
    };
    let rows = text.lines().map(|line| row(line).ok_or_else(|| malformed(line))).collect::<Result<Vec<_>>>()?;
    if rows.is_empty() { Err(malformed(text)) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SOFTIRQS: &str = "                    CPU0       CPU2       
          HI:          1          2
      NET_TX:          4          5
      NET_RX:       3781       5410
         RCU:         31         32
";

    const SOFTNET: &str = "\
000021d3 00000001 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
00000012 00000001 0000000b 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000002 00000000 00000000
";

    #[test]
    fn the_networks_softirqs_are_counted_by_cpu() {
        let count = |name, cpu, count| Softirq { name, cpu, count };
        let expected = [
            count("NET_RX", "CPU0", 3781),
            count("NET_RX", "CPU2", 5410),
            count("NET_TX", "CPU0", 4),
            count("NET_TX", "CPU2", 5),
        ];
        assert_eq!(softirqs(SOFTIRQS).unwrap(), expected);
    }

    #[test]
    fn softnet_rows_name_their_cpu() {
        let expected =
            [Softnet { cpu: 0, packets: 0x21d3, squeezed: 10 }, Softnet { cpu: 2, packets: 0x12, squeezed: 11 }];
        assert_eq!(softnet(SOFTNET).unwrap(), expected);
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in
            ["", "CPU0\n", "CPU0\nNET_RX: 1\n", "CPU0 CPU1\nNET_RX: 1\nNET_TX: 1 2", "CPU0\nNET_RX: x\nNET_TX: 1"]
        {
            assert!(softirqs(text).is_err(), "{text}");
        }
        for text in ["", "00000012 00000000 00000000", "zz", &SOFTNET.replace("000021d3", "100000000")] {
            assert!(softnet(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC{0,200}|(CPU[0-9]\n)?( *NET_[RT]X: [0-9 ]{0,20}\n){0,4}|([0-9a-f]{0,9} ){0,16}") {
            prop_assert!(softirqs(&text).is_ok_and(|counts| !counts.is_empty()) || softirqs(&text).is_err());
            prop_assert!(softnet(&text).is_ok_and(|rows| !rows.is_empty()) || softnet(&text).is_err());
        }

        #[test]
        fn cut_off_text_never_gives_a_zero(end in 0..SOFTIRQS.len(), row in 0..SOFTNET.len()) {
            prop_assert!(softirqs(&SOFTIRQS[..end]).unwrap_or_default().iter().all(|softirq| softirq.count > 0));
            let rows = softnet(&SOFTNET[..row]).unwrap_or_default();
            prop_assert!(rows.iter().all(|row| row.packets > 0 && row.squeezed > 0));
        }
    }
}
