//! `bayop-idle-count`: counts how long this machine's CPUs stay in their idle states, and prints one line a window.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bayop_core::{Error, Result, reason};
use bayop_knobs::host::Host;
use bayop_knobs::idle_states::{IdleState, idle_states};
use bayop_probe::cost::Cost;
use bayop_probe::count::{EXPERTS, Row, bounds_us};
use bayop_probe::ebpf::{ended, printed};
use bayop_probe::recording::{cpu_time, seconds};
use clap::Parser;
use nix::poll::{PollFd, PollFlags, poll};
use serde::Serialize;

mod kernel;
use kernel::Counter;

const EXAMPLES: &str = "\
Examples:
  bayop-idle-count --windows 10
  bayop-idle-count --windows 10 --cost        what counting takes
  bayop idle govern --recorder 'ssh root@server bayop-idle-count' --agent https://server:9617";

/// Who has not asked for so long asks no more, in ms.
const SILENCE_MS: u16 = 30_000;

/// Counts the stays of this machine's CPUs in their idle states by length, seen by eBPF.
///
/// Prints the machine's idle states and where the bins of lengths begin, as JSON, and then an object a window: its stays
/// as rows of CPU, state, bin and how many, and how well experts have forecast them, as rows of CPU, expert, forecasts,
/// hits, loss in us and weight in thousandths. With --asked, an object for each line of standard input: all stays so far.
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
    /// Print no windows, but all stays since the start whenever a line comes; ends when none has come for 30 s
    #[arg(long, conflicts_with_all = ["window_s", "windows", "cost"])]
    asked: bool,
}

/// The first line.
#[derive(Debug, Serialize)]
struct Header {
    /// Name, exit latency and target residency of each.
    states: Vec<(String, u32, u32)>,
    bounds_us: Vec<f64>,
    experts: [&'static str; EXPERTS.len()],
}

/// What one window showed, or all the time since the start.
#[derive(Debug, Serialize)]
struct Window {
    duration_s: f64,
    stays: Vec<[u64; 4]>,
    forecasts: Vec<[u64; 6]>,
    #[serde(flatten)]
    cost: Option<Cost>,
}

fn main() -> ExitCode {
    ended(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let states = idle_states(&Host::live())?;
    let mut storage = MaybeUninit::uninit();
    let mut counter = Counter::attach(&states, arguments.cost, &mut storage)?;
    let row = |state: IdleState| (state.name, state.exit_latency_us, state.target_residency_us);
    let states = states.into_iter().map(row).collect();
    let header = Header { states, bounds_us: bounds_us().to_vec(), experts: EXPERTS };
    if !print(&header)? {
        return Ok(());
    }
    if arguments.asked { answer(&mut counter) } else { print_windows(arguments, &mut counter) }
}

/// Prints all stays so far, as often as somebody asks.
fn answer(counter: &mut Counter) -> Result<()> {
    let mut asking = Asking::of_stdin()?;
    let (began, before) = (Instant::now(), counter.counts()?);
    while asking.wait()? {
        let total = counter.counts()?;
        let stays = total.since(&before).iter().map(Row::numbers).collect();
        let (duration_s, forecasts) = (began.elapsed().as_secs_f64(), total.scored_since(&before));
        if !print(&Window { duration_s, stays, forecasts, cost: None })? {
            break;
        }
    }
    Ok(())
}

/// Who asks, by a line each time.
struct Asking(File);

impl Asking {
    fn of_stdin() -> Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned().map_err(|error| unread(&error))?.into()))
    }

    /// Waits until somebody asks; false when nobody does any more.
    fn wait(&mut self) -> Result<bool> {
        loop {
            let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            if poll(&mut watched, SILENCE_MS).map_err(|error| unread(&error.into()))? == 0 {
                return Ok(false);
            }
            let mut byte = [0];
            match self.0.read(&mut byte) {
                Ok(0) => return Ok(false),
                Ok(_) if byte[0] == b'\n' => return Ok(true),
                Ok(_) => {}
                Err(error) => return Err(unread(&error)),
            }
        }
    }
}

fn unread(error: &io::Error) -> Error {
    Error::input(format!("cannot read standard input: {}", reason(error))).at("--asked")
}

fn print_windows(arguments: &Arguments, counter: &mut Counter) -> Result<()> {
    let window = Duration::from_secs_f64(arguments.window_s);
    let (mut began, mut counted) = (Instant::now(), counter.counts()?);
    let (mut taken, mut reader) = (counter.taken()?, cpu_time()?);
    let mut windows = 0;
    while arguments.windows.is_none_or(|most| windows < most) {
        sleep((began + window).saturating_duration_since(Instant::now()));
        let (now, total, total_taken, total_reader) =
            (Instant::now(), counter.counts()?, counter.taken()?, cpu_time()?);
        let rows = total.since(&counted);
        let stays = rows.iter().map(|row| row.stays).sum::<u64>() as usize;
        let shown = Window {
            duration_s: (now - began).as_secs_f64(),
            stays: rows.iter().map(Row::numbers).collect(),
            forecasts: total.scored_since(&counted),
            cost: total_taken
                .zip(taken)
                .filter(|_| stays > 0)
                .map(|(now, then)| Cost::of(stays, "stay", now - then, total_reader - reader)),
        };
        if !print(&shown)? {
            return Ok(());
        }
        (began, counted, taken, reader) = (now, total, total_taken, total_reader);
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
