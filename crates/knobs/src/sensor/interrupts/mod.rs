//! Interrupts of each NIC queue (`/proc/interrupts`; Documentation/filesystems/proc.rst section 1.2).
//!
//! Which interrupts are a device's is read from sysfs (Documentation/ABI/testing/sysfs-bus-pci, `msi_irqs`), never from
//! the names that drivers give them; the name only tells the queue.

mod queue;

use super::reading::{Quantity, Sample};
use super::text::quote;
use crate::host::Host;
use crate::sysfs::NET;
use bayop_core::{Error, Result};
use queue::Interrupt;

const FILE: &str = "proc/interrupts";
const INTERRUPTS: Quantity = Quantity::counter("interrupts", "1");

/// The interrupts of each network device but the loopback; none for one without a device.
pub(crate) fn nic_interrupts(host: &Host) -> Vec<(String, Vec<u32>)> {
    host.devices().into_iter().map(|device| (device.clone(), interrupts_of(host, &device))).collect()
}

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    let devices = nic_interrupts(host);
    if devices.iter().all(|(_, irqs)| irqs.is_empty()) {
        return;
    }
    let source = format!("/{FILE}");
    let text = host.read(FILE);
    let is_of_a_nic = |irq| devices.iter().any(|(_, irqs)| irqs.contains(&irq));
    match text.as_deref().map_err(Clone::clone).and_then(|text| parse(text, is_of_a_nic)) {
        Ok(interrupts) => {
            for (device, irqs) in devices {
                let own: Vec<&Interrupt> = interrupts.iter().filter(|one| irqs.contains(&one.irq)).collect();
                for (place, interrupt) in queue::places(&device, &own).into_iter().zip(own) {
                    sample.add(INTERRUPTS, place, &source, Ok(interrupt.count as f64));
                }
            }
        }
        Err(error) => {
            sample.add(INTERRUPTS, "machine", &source, Err(error));
        }
    }
}

/// The interrupts of a network device: its message-signalled ones, or those of the device that it is a function of
/// (virtio, auxiliary devices), else its one line.
pub fn interrupts_of(host: &Host, device: &str) -> Vec<u32> {
    let folder = format!("{NET}/{device}/device");
    let numbers = |names: Vec<String>| -> Vec<u32> { names.iter().filter_map(|name| name.parse().ok()).collect() };
    let signalled = ["msi_irqs", "../msi_irqs"]
        .map(|list| numbers(host.names(&format!("{folder}/{list}"))))
        .into_iter()
        .find(|irqs| !irqs.is_empty());
    let line = || host.read(&format!("{folder}/irq")).ok().and_then(|irq| irq.parse().ok()).filter(|&irq| irq > 0);
    signalled.unwrap_or_else(|| line().into_iter().collect())
}

/// The wanted interrupts. Those that no driver has requested have no row.
///
/// # Errors
/// The header names no CPU, or a wanted row has no number for each.
fn parse(text: &str, filter: impl Fn(u32) -> bool) -> Result<Vec<Interrupt<'_>>> {
    let malformed = |line: &str| {
        Error::malformed(quote(line), "an interrupt's row must have one number for each CPU").at(format!("/{FILE}"))
    };
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let cpus = header.split_ascii_whitespace().count();
    if cpus == 0 || !header.split_ascii_whitespace().all(|word| word.starts_with("CPU")) {
        return Err(malformed(text));
    }
    let rows = lines.filter_map(|line| {
        let (irq, row) = line.split_once(':')?;
        let irq = irq.trim().parse().ok().filter(|&irq| filter(irq))?;
        Some((irq, row, line))
    });
    rows.map(|(irq, row, line)| {
        let (count, description) = sum(row, cpus).ok_or_else(|| malformed(line))?;
        Ok(Interrupt { irq, count, name: name(description) })
    })
    .collect()
}

/// The sum of a row's first `cpus` numbers, and what follows them.
fn sum(row: &str, cpus: usize) -> Option<(u64, &str)> {
    let mut rest = row;
    let mut sum = 0_u64;
    for _ in 0..cpus {
        let (number, after) = rest.trim_start().split_at_checked(digits(rest.trim_start()))?;
        sum = sum.checked_add(number.parse().ok()?)?;
        rest = after;
    }
    Some((sum, rest))
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

/// What follows the chip, the hardware number and the trigger: `PCI-MSIX-0000:3b:00.0   3-edge      eth0-TxRx-3`. Names
/// may hold spaces (`eth0 (queue 3)`), so the columns before them are counted off.
fn name(description: &str) -> &str {
    let words: Vec<&str> = description.split_ascii_whitespace().collect();
    let triggered = words.iter().position(|word| {
        let trigger = word.rsplit_once('-').map_or(*word, |(_, trigger)| trigger);
        matches!(trigger.to_ascii_lowercase().as_str(), "edge" | "level" | "fasteoi")
    });
    let first = triggered.map_or(words.len().saturating_sub(1), |index| index + 1);
    words.get(first).map_or("", |word| {
        // Both are slices of the same text, so that their distance is the word's place in it.
        let start = word.as_ptr() as usize - description.as_ptr() as usize;
        description[start..].trim_end()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU2       
   0:         35          1  IR-IO-APIC    2-edge      timer
  45:        102          2  IR-PCI-MSIX-0000:3b:00.0    0-edge      eth0-TxRx-0
  46:          3        104  PCI-MSI 524289-edge      eth0-TxRx-1
  47:          5          6  ITS-MSI 131072 Edge      mlx5_comp0@pci:0000:01:00.0
  48:          7          8  PCI-MSI 12-edge      eth0 (queue 3)
  16:          9          1  IO-APIC   16-fasteoi   ehci_hcd:usb1, eth1
 NMI:          1          1   Non-maskable interrupts
 ERR:          1
";

    #[test]
    fn wanted_rows_are_summed_over_cpus_and_keep_their_names() {
        let found = parse(INTERRUPTS, |irq| irq >= 16).unwrap();
        let found: Vec<_> = found.iter().map(|one| (one.irq, one.count, one.name)).collect();
        let expected = [
            (45, 104, "eth0-TxRx-0"),
            (46, 107, "eth0-TxRx-1"),
            (47, 11, "mlx5_comp0@pci:0000:01:00.0"),
            (48, 15, "eth0 (queue 3)"),
            (16, 10, "ehci_hcd:usb1, eth1"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn malformed_text_is_refused() {
        for text in ["", "45: 1 eth0", "CPU0 CPU1\n45: 1 edge eth0", "CPU0\n45: x edge eth0", "CPU0\n45:"] {
            assert!(parse(text, |_| true).is_err(), "{text}");
        }
        let overflow = format!("CPU0 CPU1\n45: {0} {0} edge eth0", u64::MAX);
        assert!(parse(&overflow, |_| true).is_err());
    }

    #[test]
    fn a_malformed_row_of_another_device_does_no_harm() {
        assert_eq!(parse("CPU0\n44: x\n45: 7 edge eth0", |irq| irq == 45).unwrap()[0].count, 7);
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC{0,200}|(CPU[0-9] ?){1,3}\n([0-9]{1,3}:[0-9 ]{0,20}[a-z0-9@ -]{0,20}\n){0,4}") {
            for interrupt in parse(&text, |_| true).unwrap_or_default() {
                queue::places("eth0", &[&interrupt]);
            }
        }

        #[test]
        fn cut_off_text_never_gives_a_zero(end in 0..INTERRUPTS.len()) {
            prop_assert!(parse(&INTERRUPTS[..end], |_| true).unwrap_or_default().iter().all(|one| one.count > 0));
        }
    }
}
