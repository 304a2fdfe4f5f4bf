//! What a program's eBPF programs and its own process take, where that is asked.

use std::io;
use std::mem::size_of;
use std::ops::Sub;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use bayop_core::{Result, reason};
use libbpf_rs::Object;

use crate::ebpf::{owned, refused};

/// The program that does nothing, of objects whose programs run so often that measuring takes as long as they do.
const NOTHING: &str = "on_nothing";

/// The kernel takes the time of eBPF programs, all that there are, for as long as this lives.
#[derive(Debug)]
pub struct Statistics(#[expect(dead_code, reason = "it is open")] OwnedFd);

impl Statistics {
    /// Has the kernel begin.
    ///
    /// # Errors
    /// It does not.
    pub fn enable() -> Result<Self> {
        // SAFETY: the call takes a constant and no memory.
        let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        owned(statistics, "take the time of eBPF programs", "leave out --cost").map(Self)
    }

    /// What an object's programs have taken so far.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn taken_by(&self, object: &Object) -> Result<KernelTime> {
        let (mut all, mut nothing) = (RunTime::default(), RunTime::default());
        for program in object.progs().filter(|program| program.autoload()) {
            let sum = if program.name() == NOTHING { &mut nothing } else { &mut all };
            let time = run_time(&program)?;
            (sum.ns, sum.runs) = (sum.ns + time.ns, sum.runs + time.runs);
        }
        let of_one_ns = nothing.ns as f64 / nothing.runs.max(1) as f64;
        Ok(KernelTime { ns: all.ns as f64, nothing_ns: all.runs as f64 * of_one_ns })
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct RunTime {
    ns: u64,
    runs: u64,
}

fn run_time(program: &impl AsFd) -> Result<RunTime> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the program's file descriptor is open, and `info` is a structure of `length` bytes.
    let code = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_fd().as_raw_fd(), &mut info, &mut length) };
    if code < 0 {
        return Err(refused("tell the time of a program", &reason(&io::Error::from_raw_os_error(-code))));
    }
    Ok(RunTime { ns: info.run_time_ns, runs: info.run_cnt })
}

/// What programs have taken in the kernel since they were loaded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelTime {
    /// As it measures them.
    pub ns: f64,
    /// As it would measure as many runs of a program that does nothing: what measuring takes.
    pub nothing_ns: f64,
}

impl Sub for KernelTime {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { ns: self.ns - before.ns, nothing_ns: self.nothing_ns - before.nothing_ns }
    }
}

/// What a record, or a stay, took on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The programs in the kernel, as it measures them, in ns.
    pub kernel_ns: f64,
    /// What it measures of programs that do nothing.
    pub nothing_ns: f64,
    /// This process.
    pub reader_ns: f64,
}

impl Cost {
    /// Of some records.
    pub fn of(records: usize, kernel: KernelTime, reader: Duration) -> Self {
        let per_record = |ns: f64| ns / (records.max(1) as f64);
        Self {
            kernel_ns: per_record(kernel.ns),
            nothing_ns: per_record(kernel.nothing_ns),
            reader_ns: per_record(reader.as_nanos() as f64),
        }
    }

    /// The share of a core that is taken at a rate while nothing is measured.
    pub fn core_share_at(self, records_per_s: f64) -> f64 {
        ((self.kernel_ns - self.nothing_ns).max(0.0) + self.reader_ns) * records_per_s / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_spread_over_the_records_and_measuring_is_not_counted() {
        let kernel = KernelTime { ns: 400_000.0, nothing_ns: 150_000.0 };
        let cost = Cost::of(1_000, kernel, Duration::from_micros(50));
        assert_eq!(cost, Cost { kernel_ns: 400.0, nothing_ns: 150.0, reader_ns: 50.0 });
        assert_eq!(cost.core_share_at(100_000.0), 0.03);
    }
}
