//! How long each CPU was busy and idle (`/proc/stat`, Documentation/filesystems/proc.rst section 1.7).

use super::reading::{Quantity, Sample};
use super::text::quote;
use crate::host::Host;
use crate::sysfs::CPUS;
use bayop_core::{Error, Result};

/// Where the kernel counts it.
pub(super) const FILE: &str = "proc/stat";
const BUSY: Quantity = Quantity::counter("cpu_busy_s", "s");
const IDLE: Quantity = Quantity::counter("cpu_idle_s", "s");
const STOLEN: Quantity = Quantity::counter("cpu_stolen_s", "s");

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
    /// What of the busy time the hypervisor gave to others (steal): 0 on bare metal, None where the kernel does not say.
    pub stolen: Option<u64>,
}

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    let source = format!("/{FILE}");
    match host.read(FILE).and_then(|text| parse(&text).map_err(|error| error.at(&source))) {
        Ok(cpus) => {
            for (cpu, times) in cpus {
                sample.add(BUSY, format!("cpu{cpu}"), &source, Ok(times.busy as f64 * TICK_S));
                sample.add(IDLE, format!("cpu{cpu}"), &source, Ok(times.idle as f64 * TICK_S));
                if let Some(stolen) = times.stolen {
                    sample.add(STOLEN, format!("cpu{cpu}"), &source, Ok(stolen as f64 * TICK_S));
                }
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
        host.names(CPUS).iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
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
    Error::malformed(quote(text), "a row of CPU times must be `cpuN` and at least four numbers").at(format!("/{FILE}"))
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
    let busy = sum(&[user, nice, system, irq, softirq, steal])?;
    let times = Times { busy, idle: sum(&[idle, iowait])?, stolen: (count >= 8).then_some(steal) };
    (count >= 4).then_some((name, times))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of a two-CPU virtual machine; guest time (the last two columns) is in user and nice.
    const STAT: &str = "\
cpu  10133 1 3121 199028 455 2 62 12 7 3
cpu0 3518 1 1071 101759 39 1 6 2 4 3
cpu3 6615 2 2049 97269 416 1 55 9 3 1
intr 231553 1 2 3
ctxt 399479
";

    #[test]
    fn offline_cpus_leave_a_gap_and_guests_count_once() {
        let busy = [3518 + 1 + 1071 + 1 + 6 + 2, 6615 + 2 + 2049 + 1 + 55 + 9];
        assert_eq!(
            parse(STAT).unwrap(),
            [
                (0, Times { busy: busy[0], idle: 101_759 + 39, stolen: Some(2) }),
                (3, Times { busy: busy[1], idle: 97_269 + 416, stolen: Some(9) }),
            ]
        );
        let all = Times { busy: 10_133 + 1 + 3121 + 2 + 62 + 12, idle: 199_028 + 455, stolen: Some(12) };
        assert_eq!(sum(STAT.as_bytes()), Ok(all));
    }

    #[test]
    fn kernels_that_count_less_are_understood() {
        assert_eq!(parse("cpu 1 2 3 4\ncpu0 1 2 3 4\n"), Ok(vec![(0, Times { busy: 6, idle: 4, stolen: None })]));
    }

    #[test]
    fn malformed_rows_are_refused() {
        for text in ["", "cpu 1 2 3 4", "cpu0 1 2 3", "cpu0 1 2 3 x", "cpux 1 2 3 4", "cpu0 1 2 3 -4", "ctxt 5"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let overflow = format!("cpu0 {0} {0} {0} {0}", u64::MAX);
        assert!(parse(&overflow).is_err());
        assert!(sum(b"cpu0 1 2 3 4\n").is_err());
        assert!(sum(b"cpu  1 2 3 4").is_err(), "a row without its end may be cut off");
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC{0,40}|(cpu[0-9 ]{0,40}\n){0,5}", bytes in any::<Vec<u8>>()) {
            prop_assert!(parse(&text).is_ok_and(|cpus| !cpus.is_empty()) || parse(&text).is_err());
            prop_assert!(sum(&bytes).is_err() || bytes.contains(&b'\n'));
        }

        #[test]
        fn cut_off_text_never_gives_a_zero(end in 0..STAT.len()) {
            let cpus = parse(&STAT[..end]).unwrap_or_default();
            prop_assert!(cpus.iter().all(|(_, times)| times.busy > 0 && times.idle > 0));
            prop_assert!(sum(&STAT.as_bytes()[..end]).is_ok_and(|times| times.busy == 13_331) || end <= STAT.find('\n').unwrap());
        }
    }
}
