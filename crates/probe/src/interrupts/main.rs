//! `bayop-interrupts-record`: records the interrupts of a NIC, and prints them as they come.

use std::io::{self, BufRead as _, Read as _, Write};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bayop_core::{Error, Result, reason};
use bayop_probe::cost::Cost;
use bayop_probe::ebpf::{ended, printed};
use bayop_probe::interrupt::Field;
use bayop_probe::recording::{TAKE, cpu_time, is_read, seconds};
use clap::Parser;
use serde::Serialize;

mod counters;
mod kernel;
mod machine;
mod meter;
use counters::Counter;
use kernel::{Recorder, Watch};
use machine::Queue;
use meter::{Energy, Meter};

const EXAMPLES: &str = "\
Examples:
  bayop-interrupts-record --device eth0 --duration-s 10 >eth0.records
  bayop-interrupts-record --device eth0 --cost | tail -1        what the recorder itself takes
  bayop interrupts record --device eth0 --recorder 'ssh root@server bayop-interrupts-record' --out logs

It prints a line of JSON that says where each number of a record stands; then, for all the records of a moment, a line
of JSON with their number, the time and the delay that the device is asked for, and the records themselves; and at last
a line of JSON with what it has counted.";

/// How often the driver is asked for its delay, which may change meanwhile.
const LOOK: Duration = Duration::from_secs(1);

/// Records the interrupts of a NIC's queues, or the polls of a device without any, seen by eBPF.
#[derive(Debug, Parser)]
#[command(name = "bayop-interrupts-record", version, after_help = EXAMPLES)]
struct Arguments {
    /// The network device; `-`: the one that the first line of standard input names, as of a socket
    #[arg(long)]
    device: String,
    /// How long to record, in s
    #[arg(long, default_value_t = 10.0, value_parser = seconds, allow_negative_numbers = true)]
    duration_s: f64,
    /// The device's network namespace, /run/netns/NAME or /proc/PID/ns/net, whose polls are recorded; this one if left out
    #[arg(long, value_name = "FILE")]
    netns: Option<PathBuf>,
    /// What CPUs count, four things at most; those of the first four that this machine can if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    counters: Option<Vec<Counter>>,
    /// Also measure what the recorder takes, in ns a record; slows every eBPF program of this machine a little
    #[arg(long)]
    cost: bool,
}

/// The first line.
#[derive(Debug, Serialize)]
struct Header<'a> {
    device: &'a str,
    queues: &'a [Queue],
    record_bytes: usize,
    fields: Vec<Field>,
    /// Where energy is read; None on a machine without a meter.
    meter: Option<String>,
}

/// The line before the records of a moment, of which there may be none.
#[derive(Debug, Serialize)]
struct Chunk {
    records: usize,
    lost: u64,
    /// Since the recording began.
    time_s: f64,
    #[serde(flatten)]
    now: Now,
}

/// What was so in a moment.
#[derive(Debug, Serialize)]
struct Now {
    /// How long a packet may wait by what the device is asked.
    delay_us: Option<f64>,
    /// What the machine has drawn; None where the meter does not tell.
    energy: Option<Energy>,
}

/// The last line.
#[derive(Debug, Serialize)]
struct Summary {
    records: usize,
    lost: u64,
    duration_s: f64,
    rest_rx_packets: u64,
    rest_tx_packets: u64,
    uncounted: u64,
    #[serde(flatten)]
    cost: Option<Cost>,
}

fn main() -> ExitCode {
    ended(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let mut storage = MaybeUninit::uninit();
    let Arguments { netns, counters, cost, .. } = arguments;
    let device = &asked_for(&arguments.device)?;
    let watch = Watch { device, netns: netns.as_deref(), counters: counters.as_deref(), cost: *cost };
    let mut recorder = Recorder::attach(watch, &mut storage)?;
    let mut meter = Meter::open()?;
    let record_bytes = recorder.sources.bytes();
    let mut out = Printer { out: io::stdout(), record_bytes, records: 0, is_open: true };
    out.line(&Header {
        device,
        queues: &recorder.queues,
        record_bytes,
        fields: recorder.sources.fields(),
        meter: meter.as_ref().map(|meter| meter.method.to_string()),
    })?;
    let (began, began_cpu) = (Instant::now(), cpu_time()?);
    let ends = began + Duration::from_secs_f64(arguments.duration_s);
    let (mut looked, mut delay_us) = (began, recorder.delay_us());
    let mut energy = || meter.as_mut().and_then(|meter| meter.read().transpose()).transpose();
    out.records(&[], 0, Duration::ZERO, Now { delay_us, energy: energy()? })?;
    while Instant::now() < ends && out.is_open && is_read() {
        sleep(TAKE.min(ends.saturating_duration_since(Instant::now())));
        if looked.elapsed() >= LOOK {
            (looked, delay_us) = (Instant::now(), recorder.delay_us());
        }
        let (records, lost) = (recorder.take()?, recorder.rest()?.lost);
        out.records(&records, lost, began.elapsed(), Now { delay_us, energy: energy()? })?;
    }
    let (duration, taken) = (began.elapsed(), recorder.taken()?);
    let last = recorder.finish()?;
    let rest = recorder.rest()?;
    out.records(&last, rest.lost, duration, Now { delay_us, energy: energy()? })?;
    let reader = cpu_time()? - began_cpu;
    out.line(&Summary {
        records: out.records,
        lost: rest.lost,
        duration_s: duration.as_secs_f64(),
        rest_rx_packets: rest.rx_packets,
        rest_tx_packets: rest.tx_packets,
        uncounted: rest.uncounted,
        cost: taken
            .filter(|_| out.records > 0)
            .map(|kernel| Cost::of(out.records, "record", kernel, reader).with_core_share_at(200)),
    })
}

/// The device that an argument means.
fn asked_for(device: &str) -> Result<String> {
    const MOST: u64 = 256;
    if device != "-" {
        return Ok(device.to_owned());
    }
    let mut line = String::new();
    let read = io::stdin().lock().take(MOST).read_line(&mut line);
    read.map_err(|error| Error::input(format!("standard input names no device: {}", reason(&error))).at("--device"))?;
    Ok(line.trim_end().to_owned())
}

/// Prints, until nobody reads any more.
struct Printer {
    out: io::Stdout,
    record_bytes: usize,
    records: usize,
    is_open: bool,
}

impl Printer {
    fn records(&mut self, records: &[u8], lost: u64, time: Duration, now: Now) -> Result<()> {
        let count = records.len() / self.record_bytes;
        self.records += count;
        self.line(&Chunk { records: count, lost, time_s: time.as_secs_f64(), now })?;
        self.bytes(records)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(value).expect("it is plain data");
        self.bytes(format!("{line}\n").as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if !self.is_open {
            return Ok(());
        }
        let mut out = self.out.lock();
        self.is_open = printed(out.write_all(bytes).and_then(|()| out.flush()))?;
        Ok(())
    }
}
