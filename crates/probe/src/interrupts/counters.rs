//! What CPUs count, as perf has it: opened on every CPU, for the eBPF programs to read.

use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use bayop_core::{Error, Result, reason};
use bayop_probe::ebpf::refused;
use bayop_probe::interrupt::MOST_COUNTERS;
use clap::ValueEnum;
use nix::errno::Errno;
use nix::libc;

/// What a CPU counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Counter {
    /// Instructions that it has retired.
    Instructions,
    /// Cycles of its clock while it was not halted.
    Cycles,
    /// Cycles of a clock with one frequency while it was not halted.
    RefCycles,
    /// What the kernel takes for misses of the last-level cache.
    LlcMisses,
    /// Of tasks.
    ContextSwitches,
    /// Of programs.
    PageFaults,
    /// Tasks that came from another CPU.
    CpuMigrations,
}

/// What is counted where nobody says, as far as the machine can.
const USUAL: [Counter; MOST_COUNTERS] =
    [Counter::Instructions, Counter::Cycles, Counter::RefCycles, Counter::LlcMisses];

impl Counter {
    /// What its column is called.
    pub fn column(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::RefCycles => "ref_cycles",
            Self::LlcMisses => "llc_misses",
            Self::ContextSwitches => "context_switches",
            Self::PageFaults => "page_faults",
            Self::CpuMigrations => "cpu_migrations",
        }
    }

    /// Its type and configuration; perf_event_open(2).
    fn event(self) -> (u32, u32) {
        use libbpf_sys as sys;
        match self {
            Self::Instructions => (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_INSTRUCTIONS),
            Self::Cycles => (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES),
            Self::RefCycles => (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_REF_CPU_CYCLES),
            Self::LlcMisses => (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CACHE_MISSES),
            Self::ContextSwitches => (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CONTEXT_SWITCHES),
            Self::PageFaults => (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_PAGE_FAULTS),
            Self::CpuMigrations => (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_MIGRATIONS),
        }
    }
}

/// A counter that runs, on every CPU that is online.
#[derive(Debug)]
pub struct Running {
    pub counter: Counter,
    /// By the CPU's number.
    pub cpus: Vec<(usize, OwnedFd)>,
}

/// Has every CPU count.
///
/// # Errors
/// More is asked for than a record has room for, or what this machine can't count.
pub fn run(asked: Option<&[Counter]>, cpus: usize) -> Result<Vec<Running>> {
    let Some(asked) = asked else {
        return USUAL.into_iter().filter_map(|counter| run_one(counter, cpus).transpose()).collect();
    };
    if asked.len() > MOST_COUNTERS || (1..asked.len()).any(|place| asked[..place].contains(&asked[place])) {
        return Err(Error::input("too many counters, or one twice")
            .rule(format!("--counters must name {MOST_COUNTERS} different ones at most"))
            .at("--counters"));
    }
    let missing = |counter: Counter| {
        Error::unsupported(format!("the CPUs of this machine don't count {}", counter.column())).at("--counters").hint(
            "virtual machines often have no counters, and those that perf, or nmi_watchdog, has taken are not free",
        )
    };
    asked.iter().map(|&counter| run_one(counter, cpus)?.ok_or_else(|| missing(counter))).collect()
}

/// None where the machine has no such counter, or none that is free.
fn run_one(counter: Counter, cpus: usize) -> Result<Option<Running>> {
    let mut running = Running { counter, cpus: Vec::new() };
    for cpu in 0..cpus {
        match open(counter, cpu) {
            Ok(event) if counts(&event) => running.cpus.push((cpu, event)),
            Err(Errno::ENODEV) => {} // The CPU is offline.
            Ok(_) | Err(Errno::ENOENT | Errno::EOPNOTSUPP | Errno::EINVAL) => return Ok(None),
            Err(error) => return Err(refused("count", &reason(&error.into())).at("--counters")),
        }
    }
    Ok(Some(running).filter(|running| !running.cpus.is_empty()))
}

fn open(counter: Counter, cpu: usize) -> nix::Result<OwnedFd> {
    let (kind, config) = counter.event();
    let mut attributes = libbpf_sys::perf_event_attr { type_: kind, config: config.into(), ..Default::default() };
    attributes.size = size_of::<libbpf_sys::perf_event_attr>() as u32;
    // It counts all the time or not at all: what is shared in turns would have to be guessed.
    attributes.set_pinned(1);
    let (any_process, no_group) = (-1, -1);
    let cpu = i32::try_from(cpu).expect("CPUs are few");
    // SAFETY: the kernel reads `size` bytes of the attributes, and no other memory of ours.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            any_process,
            cpu,
            no_group,
            u64::from(libbpf_sys::PERF_FLAG_FD_CLOEXEC),
        )
    };
    let event = Errno::result(event)?;
    // SAFETY: the call has just opened it for us, and nobody else closes it.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(event).expect("a file descriptor is an int")) })
}

/// Whether it does: one that found no place in the CPU ends as soon as it is read.
fn counts(event: &OwnedFd) -> bool {
    nix::unistd::read(event, &mut [0; size_of::<u64>()]).is_ok_and(|bytes| bytes > 0)
}

/// Its number in the programs' array is that of the counter and the CPU.
pub fn indices(running: &[Running], cpus: usize) -> impl Iterator<Item = (usize, i32)> {
    running.iter().enumerate().flat_map(move |(place, counter)| {
        counter.cpus.iter().map(move |(cpu, event)| (place * cpus + cpu, event.as_raw_fd()))
    })
}
