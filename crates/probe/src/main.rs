//! `bayop-probe`: prints the latency of a TCP server's requests, one JSON object a window.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bayop_core::{Error, Result};
use bayop_probe::ebpf::{ended, printed};
use bayop_probe::wait::Moderation;
use bayop_probe::window::{Wait, Window};
use clap::Parser;

mod kernel;
use kernel::{Probe, Watch};

const EXAMPLES: &str = "\
Examples:
  bayop-probe --port 11211
  bayop-probe --port 11211 --wait eth0 --netns /run/netns/server     the clients share this kernel (veth)
  bayop-probe --port 11211 --rx-usecs 50 --queues 16                 a NIC that delays its interrupts
  bayop-probe --port 11211 --window-s 10 --windows 1 --cost";

/// Latency of a TCP server's requests, seen by eBPF on the server.
///
/// Prints one JSON object a window. What is seen on the server alone leaves out the time that a packet waits for its
/// interrupt: then "vantage" is "server". It is "server+wait" with --wait, --rx-usecs or --gro-flush-timeout-us.
#[derive(Debug, Parser)]
#[command(name = "bayop-probe", version, after_help = EXAMPLES)]
struct Arguments {
    /// TCP port of the server
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Length of a window, in s
    #[arg(long, default_value_t = 1.0, value_parser = seconds, allow_negative_numbers = true)]
    window_s: f64,
    /// Windows to print before it ends; without end if left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    windows: Option<u64>,
    /// The server's cgroup (version 2); all of them if left out
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
    /// The server's network namespace, /run/netns/NAME or /proc/PID/ns/net; this one if left out
    #[arg(long, value_name = "FILE")]
    netns: Option<PathBuf>,
    /// Count from the client's departure, which packets of this virtual device carry (veth)
    #[arg(long, value_name = "DEVICE", group = "added")]
    wait: Option<String>,
    /// Add the wait that this ITR-delay causes, in us; given twice, the last counts, here and below
    #[arg(long, value_name = "US", group = "added", value_parser = microseconds, allow_negative_numbers = true, overrides_with = "rx_usecs")]
    rx_usecs: Option<f64>,
    /// Add the wait that this deferral of the NAPI causes, in us
    #[arg(long, value_name = "US", group = "added", value_parser = microseconds, allow_negative_numbers = true, overrides_with = "gro_flush_timeout_us")]
    gro_flush_timeout_us: Option<f64>,
    /// Quiet timeouts after which the interrupt is enabled again: napi_defer_hard_irqs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "gro_flush_timeout_us",
        overrides_with = "defer_hard_irqs"
    )]
    defer_hard_irqs: u32,
    /// Receive queues that share the packets, for a wait that is modelled
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    queues: u32,
    /// Also measure what the probe costs, in ns a request; slows every eBPF program of this machine a little
    #[arg(long)]
    cost: bool,
}

impl Arguments {
    fn added_wait(&self) -> Wait {
        let modelled = |delay_us, quiet_delays| Wait::Modelled(Moderation { delay_us, quiet_delays }, self.queues);
        match (&self.wait, self.rx_usecs, self.gro_flush_timeout_us) {
            (Some(_), ..) => Wait::Departure,
            (_, Some(delay_us), _) => modelled(delay_us, 1),
            // Without any deferral the timeout has no effect.
            (.., Some(_)) if self.defer_hard_irqs == 0 => modelled(0.0, 1),
            (.., Some(delay_us)) => modelled(delay_us, self.defer_hard_irqs),
            _ => Wait::None,
        }
    }
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    within(text, 0.01, 86_400.0)
}

fn microseconds(text: &str) -> std::result::Result<f64, String> {
    within(text, 0.0, 1e6)
}

fn within(text: &str, low: f64, high: f64) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(format!("it must be a number from {low} to {high}")),
    }
}

fn main() -> ExitCode {
    ended(run(Arguments::parse()))
}

fn run(arguments: Arguments) -> Result<()> {
    let wait = arguments.added_wait();
    let watch = Watch {
        port: arguments.port,
        cgroup: arguments.cgroup,
        netns: arguments.netns,
        wait: arguments.wait,
        cost: arguments.cost,
    };
    let mut storage = MaybeUninit::uninit();
    let probe = Probe::attach(&watch, &mut storage)?;
    let mut count = 0;
    let (mut began, mut counted, mut taken_ns) = (Instant::now(), probe.counters()?, probe.run_time_ns()?);
    while arguments.windows.is_none_or(|windows| count < windows) {
        sleep((began + Duration::from_secs_f64(arguments.window_s)).saturating_duration_since(Instant::now()));
        let (now, total, total_ns) = (Instant::now(), probe.counters()?, probe.run_time_ns()?);
        let run_time_ns = total_ns.zip(taken_ns).map(|(now, then)| now - then);
        let window = Window::new(&total.since(&counted), (now - began).as_secs_f64(), wait, run_time_ns);
        if window.requests == 0 && window.undated > 0 {
            return Err(Error::unsupported(format!("{} requests came without their departure", window.undated))
                .rule("received packets must say when their client sent them")
                .at(format!("--wait {}", watch.wait.unwrap_or_default()))
                .hint("that takes a virtual device between client and server, in one kernel; else --rx-usecs"));
        }
        if !print(&window)? {
            return Ok(());
        }
        (began, counted, taken_ns) = (now, total, total_ns);
        count += 1;
    }
    Ok(())
}

/// Prints one line; false when nobody reads any more.
fn print(window: &Window) -> Result<bool> {
    let line = serde_json::to_string(window).expect("a window is plain data");
    let mut out = io::stdout().lock();
    printed(writeln!(out, "{line}").and_then(|()| out.flush()))
}
