//! How long each CPU was busy and idle (`/proc/stat`, Documentation/filesystems/proc.rst section 1.7).

use super::reading::{Quantity, Sample};
use super::text::quote;
use crate::error::{Error, Result};
use crate::host::Host;

/// Where the kernel counts it.
pub(super) const FILE: &str = "proc/stat";
const BUSY: Quantity = Quantity::counter("cpu_busy_s", "s");
const IDLE: Quantity = Quantity::counter("cpu_idle_s", "s");

/// The unit of `/proc/stat`: USER_HZ, which the kernel's interface fixes at 100 on every architecture in use.
const TICK_S: f64 = 0.01;

/// Enough bytes of the file for its first row: a word and ten numbers of up to twenty digits.
pub(super) const SUM_LENGTH: usize = 256;

/// What a CPU did since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// Everything but idle: user, nice, system, irq, softirq, steal. Guest time is in user and nice already.
    pub busy: u64,
    /// Idle and waiting for I/O: the CPU could have taken work.
    pub idle: u64,
}

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    let source = format!("/{FILE}");
    match host.read(FILE).and_then(|text| parse(&text).map_err(|error| error.at(&source))) {
        Ok(cpus) => {
            for (cpu, times) in cpus {
                sample.add(BUSY, format!("cpu{cpu}"), &source, Ok(times.busy as f64 * TICK_S));
                sample.add(IDLE, format!("cpu{cpu}"), &source, Ok(times.idle as f64 * TICK_S));
            }
        }
        Err(error) => {
            sample.add(BUSY, "machine", source, Err(error));
        }
    }
}

/// The CPUs that sysfs knows, `cpu0` first.
pub(super) fn names(host: &Host) -> Vec<String> {
    let mut cpus: Vec<u32> =
        host.names("sys/devices/system/cpu").iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    cpus.into_iter().map(|cpu| format!("cpu{cpu}")).collect()
}

/// The CPUs that are online, each with its times.
///
/// # Errors
/// A row is not what proc.rst says, or there is none.
fn parse(text: &str) -> Result<Vec<(u32, Times)>> {
    let rows = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    let cpus = rows
        .map(|line| row(line).and_then(|(name, times)| Some((name.strip_prefix("cpu")?.parse().ok()?, times))))
        .collect::<Option<Vec<_>>>();
    cpus.filter(|cpus| !cpus.is_empty()).ok_or_else(|| malformed(text))
}

/// The sum of all CPUs: the first row, from the beginning of the file.
///
/// # Errors
/// The row is not what proc.rst says, or not complete.
pub(super) fn sum(head: &[u8]) -> Result<Times> {
    let end = head.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let line = std::str::from_utf8(&head[..end]).ok();
    let (name, times) = line.and_then(row).ok_or_else(|| malformed(&String::from_utf8_lossy(head)))?;
    if name == "cpu" { Ok(times) } else { Err(malformed(name)) }
}

fn malformed(text: &str) -> Error {
    Error::unsupported("a row of CPU times is `cpuN` and at least four numbers").value(quote(text))
}

fn row(line: &str) -> Option<(&str, Times)> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?;
    let mut ticks = [0_u64; 8];
    let mut count = 0;
    for word in words {
        let number = word.parse().ok()?;
        if let Some(tick) = ticks.get_mut(count) {
            *tick = number;
        }
        count += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let sum = |times: &[u64]| times.iter().try_fold(0_u64, |sum, &time| sum.checked_add(time));
    let times = Times { busy: sum(&[user, nice, system, irq, softirq, steal])?, idle: sum(&[idle, iowait])? };
    (count >= 4).then_some((name, times))
}
