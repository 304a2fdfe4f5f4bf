//! `bayop-idle-count`: counts how long this machine's CPUs stay in their idle states, and prints one line a window.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bayop_core::Result;
use bayop_knobs::host::Host;
use bayop_knobs::idle_states::{IdleState, idle_states};
use bayop_probe::count::{Row, bounds_us};
use bayop_probe::ebpf::{ended, printed};
use bayop_probe::recording::{cpu_time, seconds};
use clap::Parser;
use serde::Serialize;

mod kernel;
use kernel::Counter;

const EXAMPLES: &str = "\
Examples:
  bayop-idle-count --windows 10
  bayop-idle-count --windows 10 --cost        what counting takes
  bayop idle govern --recorder 'ssh root@server bayop-idle-count' --agent https://server:9617";

/// Counts the stays of this machine's CPUs in their idle states by length, seen by eBPF.
///
/// Prints the machine's idle states and where the bins of lengths begin, as JSON, and then an object a window: its stays
/// as rows of CPU, state, bin and how many.
#[derive(Debug, Parser)]
#[command(name = "bayop-idle-count", version, after_help = EXAMPLES)]
struct Arguments {
    /// Length of a window, in s
    #[arg(long, default_value_t = 1.0, value_parser = seconds, allow_negative_numbers = true)]
    window_s: f64,
    /// Windows to print before it ends; without end if left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    windows: Option<u64>,
    /// Also measure what counting takes, in ns a stay; slows every eBPF program of this machine a little
    #[arg(long)]
    cost: bool,
}

/// The first line.
#[derive(Debug, Serialize)]
struct Header {
    /// Name, exit latency and target residency of each.
    states: Vec<(String, u32, u32)>,
    bounds_us: Vec<f64>,
}

/// What one window showed.
#[derive(Debug, Serialize)]
struct Window {
    duration_s: f64,
    stays: Vec<[u64; 4]>,
    #[serde(flatten)]
    cost: Option<Taken>,
}

/// What counting took in it.
#[derive(Debug, Serialize)]
struct Taken {
    /// The programs in the kernel, as the kernel measures them.
    kernel_ns_per_stay: f64,
    /// What it measures of programs that do nothing.
    nothing_ns_per_stay: f64,
    /// This process, reading the numbers.
    reader_ns_per_stay: f64,
}

fn main() -> ExitCode {
    ended(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let states = idle_states(&Host::live())?;
    let mut storage = MaybeUninit::uninit();
    let mut counter = Counter::attach(arguments.cost, &mut storage)?;
    let row = |state: IdleState| (state.name, state.exit_latency_us, state.target_residency_us);
    let header = Header { states: states.into_iter().map(row).collect(), bounds_us: bounds_us().to_vec() };
    if !print(&header)? {
        return Ok(());
    }
    let window = Duration::from_secs_f64(arguments.window_s);
    let (mut began, mut counted) = (Instant::now(), counter.counts()?);
    let (mut taken_ns, mut reader) = (counter.run_times_ns()?, cpu_time()?);
    let mut windows = 0;
    while arguments.windows.is_none_or(|most| windows < most) {
        sleep((began + window).saturating_duration_since(Instant::now()));
        let (now, total, total_ns, total_reader) =
            (Instant::now(), counter.counts()?, counter.run_times_ns()?, cpu_time()?);
        let rows = total.since(&counted);
        let stays = rows.iter().map(|row| row.stays).sum::<u64>() as usize;
        let shown = Window {
            duration_s: (now - began).as_secs_f64(),
            stays: rows.iter().map(Row::numbers).collect(),
            cost: total_ns.zip(taken_ns).filter(|_| stays > 0).map(|(now_ns, then_ns)| Taken {
                kernel_ns_per_stay: (now_ns.0 - then_ns.0) as f64 / stays as f64,
                nothing_ns_per_stay: (now_ns.1 - then_ns.1) as f64 / stays as f64,
                reader_ns_per_stay: (total_reader - reader).as_nanos() as f64 / stays as f64,
            }),
        };
        if !print(&shown)? {
            return Ok(());
        }
        (began, counted, taken_ns, reader) = (now, total, total_ns, total_reader);
        windows += 1;
    }
    Ok(())
}

/// Prints one line; false when nobody reads any more.
fn print(line: &impl Serialize) -> Result<bool> {
    let line = serde_json::to_string(line).expect("a line is plain data");
    let mut out = io::stdout().lock();
    printed(writeln!(out, "{line}").and_then(|()| out.flush()))
}
