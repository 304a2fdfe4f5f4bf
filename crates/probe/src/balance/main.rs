//! `bayop-idle-balance`: gathers awakened work on the first CPUs, so that the others sleep on, and says what it does.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bayop_core::{Error, Result};
use bayop_knobs::host::Host;
use bayop_knobs::sysfs::ONLINE;
use bayop_probe::cpus::parse_cpus;
use bayop_probe::ebpf::{ended, printed};
use bayop_probe::recording::{TAKE, is_read, seconds};
use clap::Parser;
use serde::Serialize;

mod kernel;
use kernel::{Balancer, Done, Rules};

const EXAMPLES: &str = "\
Examples:
  bayop-idle-balance
  bayop-idle-balance --order 0-7 --most-utilization 0.4 --windows 10
  ssh root@server bayop-idle-balance --windows 60";

/// Schedules this machine's tasks by eBPF (sched_ext): who wakes up goes to the first CPU that has room.
///
/// Prints an object a window as JSON: of each CPU its number, the part of its time that tasks ran, how many woke up and
/// were placed there, and how many came because no CPU had room. The kernel's own scheduler is back when it ends, however
/// it ends.
#[derive(Debug, Parser)]
#[command(name = "bayop-idle-balance", version, after_help = EXAMPLES)]
struct Arguments {
    /// CPUs, the one to be filled first in front, such as 0-7,16; all that are online if left out
    #[arg(long, value_parser = cpus)]
    order: Option<Cpus>,
    /// Part of its time that a CPU is filled to
    #[arg(long, default_value_t = 0.5, value_parser = share, allow_negative_numbers = true)]
    most_utilization: f64,
    /// A CPU has no room while as many tasks run and wait there
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    most_backlog: u32,
    /// Length of a window, in s
    #[arg(long, default_value_t = 1.0, value_parser = seconds, allow_negative_numbers = true)]
    window_s: f64,
    /// Windows to print before it ends; without end if left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    windows: Option<u64>,
}

/// CPUs in the order in which they are filled.
#[derive(Debug, Clone)]
struct Cpus(Vec<u32>);

/// What one window showed.
#[derive(Debug, Serialize)]
struct Window {
    duration_s: f64,
    cpus: Vec<Row>,
}

/// What one CPU did in it.
#[derive(Debug, Serialize)]
struct Row {
    cpu: u32,
    utilization: f64,
    placed: u64,
    spilled: u64,
}

fn main() -> ExitCode {
    ended(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let online = online()?;
    let order = match &arguments.order {
        Some(Cpus(order)) => order.clone(),
        None => online.clone(),
    };
    if let Some(absent) = order.iter().find(|cpu| !online.contains(cpu)) {
        return Err(Error::cannot_use(absent, "a CPU must be online").at("--order").hint(format!("cat /{ONLINE}")));
    }
    let Arguments { most_utilization, most_backlog, .. } = *arguments;
    let mut storage = MaybeUninit::uninit();
    let balancer = Balancer::attach(&Rules { order, most_utilization, most_backlog }, &mut storage)?;
    let window = Duration::from_secs_f64(arguments.window_s);
    let (mut began, mut then) = (Instant::now(), balancer.done());
    let mut windows = 0;
    while arguments.windows.is_none_or(|most| windows < most) {
        let ends = began + window;
        while Instant::now() < ends {
            if !is_read() {
                return Ok(());
            }
            balancer.check()?;
            sleep(TAKE.min(ends.saturating_duration_since(Instant::now())));
        }
        let (now, done) = (Instant::now(), balancer.done());
        let duration = now - began;
        let row = |cpu: &u32| row(*cpu, then[*cpu as usize], done[*cpu as usize], duration);
        let shown = Window { duration_s: duration.as_secs_f64(), cpus: online.iter().map(row).collect() };
        let line = serde_json::to_string(&shown).expect("a window is plain data");
        let mut out = io::stdout().lock();
        if !printed(writeln!(out, "{line}").and_then(|()| out.flush()))? {
            return Ok(());
        }
        (began, then) = (now, done);
        windows += 1;
    }
    Ok(())
}

fn online() -> Result<Vec<u32>> {
    let text = Host::live().read(ONLINE)?;
    parse_cpus(&text).map_err(|rule| Error::unsupported(rule).value(text).at(format!("/{ONLINE}")))
}

fn row(cpu: u32, then: Done, now: Done, duration: Duration) -> Row {
    Row {
        cpu,
        // What runs is counted at the kernel's ticks, so that a window may have what ran shortly before it.
        utilization: ((now.ran_ns - then.ran_ns) as f64 / duration.as_nanos() as f64).min(1.0),
        placed: now.placed - then.placed,
        spilled: now.spilled - then.spilled,
    }
}

fn cpus(text: &str) -> std::result::Result<Cpus, String> {
    parse_cpus(text).map(Cpus)
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.01..=1.0).contains(&number) => Ok(number),
        _ => Err("it must be a number from 0.01 to 1".to_owned()),
    }
}
