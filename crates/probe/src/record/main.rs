//! `bayop-idle-record`: records how this machine's CPUs were idle, and prints one line a stay.

use std::io::{self, BufWriter, Write};
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bayop_core::Result;
use bayop_probe::cost::Cost;
use bayop_probe::ebpf::{ended, printed};
use bayop_probe::recording::{TAKE, cpu_time, is_read, seconds};
use bayop_probe::stay::{BYTES, COLUMNS, Stay};
use clap::Parser;
use serde::Serialize;

mod kernel;
use kernel::{Cpuidle, Recorder};

const EXAMPLES: &str = "\
Examples:
  bayop-idle-record --duration-s 10 >stays.csv
  bayop-idle-record --duration-s 10 --cost | tail -1        what the recorder itself takes
  bayop idle record --recorder 'ssh root@server bayop-idle-record' --out traces";

/// Records how this machine's CPUs are idle, seen by eBPF.
///
/// When the time is over it prints a line for each stay in an idle state, and then what it has counted, as JSON. Meanwhile
/// it only keeps what comes; what finds no room is counted as lost.
#[derive(Debug, Parser)]
#[command(name = "bayop-idle-record", version, after_help = EXAMPLES)]
struct Arguments {
    /// How long to record, in s
    #[arg(long, default_value_t = 10.0, value_parser = seconds, allow_negative_numbers = true)]
    duration_s: f64,
    /// Stays to keep; each takes 56 bytes of memory
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    most_stays: u32,
    /// Also measure what the recorder takes, in ns a stay; slows every eBPF program of this machine a little
    #[arg(long)]
    cost: bool,
}

/// The last line.
#[derive(Debug, Serialize)]
struct Summary {
    stays: usize,
    lost: u64,
    duration_s: f64,
    governor: String,
    driver: String,
    timers: bool,
    #[serde(flatten)]
    cost: Option<Cost>,
}

fn main() -> ExitCode {
    ended(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let cpuidle = Cpuidle::of_this_machine();
    let mut storage = MaybeUninit::uninit();
    let mut recorder = Recorder::attach(&cpuidle, arguments.most_stays as usize, arguments.cost, &mut storage)?;
    let (began, began_cpu) = (Instant::now(), cpu_time()?);
    let ends = began + Duration::from_secs_f64(arguments.duration_s);
    while Instant::now() < ends {
        if !is_read() {
            return Ok(());
        }
        sleep(TAKE.min(ends.saturating_duration_since(Instant::now())));
        recorder.take()?;
    }
    let (duration, taken, reader) = (began.elapsed(), recorder.taken()?, cpu_time()? - began_cpu);
    let (timers, (stays, lost)) = (recorder.timers(), recorder.finish()?);
    let count = stays.len() / BYTES;
    let summary = Summary {
        stays: count,
        lost,
        duration_s: duration.as_secs_f64(),
        governor: cpuidle.governor,
        driver: cpuidle.driver,
        timers,
        cost: taken.filter(|_| count > 0).map(|kernel| Cost::of(count, "stay", kernel, reader).with_core_share_at(100)),
    };
    printed(print(&stays, &summary)).map(|_| ())
}

fn print(stays: &[u8], summary: &Summary) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    writeln!(out, "{COLUMNS}")?;
    for stay in stays.chunks_exact(BYTES).map(Stay::of) {
        writeln!(out, "{stay}")?;
    }
    writeln!(out, "{}", serde_json::to_string(summary).expect("a summary is plain data"))?;
    out.flush()
}
