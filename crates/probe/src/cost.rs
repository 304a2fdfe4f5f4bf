//! What a program's eBPF programs and its own process take, where that is asked.

use std::io;
use std::mem::size_of;
use std::ops::Sub;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use bayop_core::{Result, reason};
use libbpf_rs::Object;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

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

/// What each thing that is recorded took on average, in ns: `kernel_ns_per_stay` as a line of JSON has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// What is recorded.
    noun: &'static str,
    /// The programs in the kernel, as it measures them.
    kernel_ns: f64,
    /// What it measures of programs that do nothing.
    nothing_ns: f64,
    /// This process.
    reader_ns: f64,
    /// At how many thousands a second the share of a core is told, if it is.
    rate_k: Option<u32>,
}

impl Cost {
    /// Of so many of what a noun names.
    pub fn of(count: usize, noun: &'static str, kernel: KernelTime, reader: Duration) -> Self {
        let each = |ns: f64| ns / (count.max(1) as f64);
        Self {
            noun,
            kernel_ns: each(kernel.ns),
            nothing_ns: each(kernel.nothing_ns),
            reader_ns: each(reader.as_nanos() as f64),
            rate_k: None,
        }
    }

    /// The same with the share of a core that is taken at so many thousands a second while nothing is measured.
    pub fn with_core_share_at(self, rate_k: u32) -> Self {
        Self { rate_k: Some(rate_k), ..self }
    }

    fn core_share_at(&self, rate_k: u32) -> f64 {
        ((self.kernel_ns - self.nothing_ns).max(0.0) + self.reader_ns) * f64::from(1_000 * rate_k) / 1e9
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (what, ns) in [("kernel", self.kernel_ns), ("nothing", self.nothing_ns), ("reader", self.reader_ns)] {
            map.serialize_entry(&format!("{what}_ns_per_{}", self.noun), &ns)?;
        }
        if let Some(rate_k) = self.rate_k {
            map.serialize_entry(&format!("core_share_at_{rate_k}k_per_s"), &self.core_share_at(rate_k))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line {
        stays: usize,
        #[serde(flatten)]
        cost: Option<Cost>,
    }

    #[test]
    fn cost_is_spread_over_what_is_recorded_and_measuring_is_not_counted() {
        let kernel = KernelTime { ns: 400_000.0, nothing_ns: 150_000.0 };
        let cost = Cost::of(1_000, "stay", kernel, Duration::from_micros(50));
        let line = |cost| serde_json::to_string(&Line { stays: 1_000, cost }).unwrap();
        let times = r#"{"stays":1000,"kernel_ns_per_stay":400.0,"nothing_ns_per_stay":150.0,"reader_ns_per_stay":50.0"#;
        assert_eq!(line(Some(cost)), format!("{times}}}"));
        assert_eq!(line(Some(cost.with_core_share_at(100))), format!(r#"{times},"core_share_at_100k_per_s":0.03}}"#));
    }
}
