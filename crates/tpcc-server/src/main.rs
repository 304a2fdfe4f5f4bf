//! `bayop-tpcc`: TPC-C behind memcached's binary protocol, until SIGTERM.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::UNIX_EPOCH;

use bayop_core::{Error, Result, reason};
use bayop_tpcc::service::{Counts, populate};
use bayop_tpcc::store::Worker;
use bayop_tpcc::{Database, Scale, violations};
use bayop_tpcc_server::serve;
use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

const EXAMPLE: &str = "\
Example:
  bayop-tpcc --listen 127.0.0.1:11311 --check &
  bayop load -s 127.0.0.1:11311 --binary --noload -q 10kqps -c 8
  kill %1";

/// TPC-C in memory behind memcached's binary protocol: each GET, whatever its key, runs one transaction of the mix.
///
/// NOOP, VERSION, STAT and QUIT are answered too. At SIGTERM or Ctrl-C it ends, and prints what it has done. Nothing is
/// kept, and nobody is asked who he is: whoever reaches the address may use it.
#[derive(Debug, Parser)]
#[command(name = "bayop-tpcc", version, after_help = EXAMPLE, max_term_width = 100)]
struct Arguments {
    /// Where to listen; port 0 takes one that is free, and prints it
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:11311")]
    listen: SocketAddr,
    /// Threads that run transactions, each for warehouses of its own (default: one for each processor)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    workers: Option<u8>,
    /// Warehouses of the specification's size, of 90 MB each (default: one for each worker)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    warehouses: Option<u32>,
    /// Seed of the database and the transactions
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Look at the end whether the conditions of consistency 1 to 4 hold; exit code 1 if one does not
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}", error.report());
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let workers = arguments.workers.unwrap_or_else(processors);
    let warehouses = arguments.warehouses.unwrap_or(workers.into());
    if warehouses < workers.into() {
        let rule = format!("there must be a warehouse for each of {workers} workers");
        return Err(Error::cannot_use(warehouses, rule).at("--warehouses").hint("fewer --workers"));
    }
    let now_us = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64);
    let (database, terminals) = populate(Scale::standard(warehouses), workers, arguments.seed, now_us);
    let counts = Counts::default();
    // Only now, so that who can connect is answered.
    let listener = TcpListener::bind(arguments.listen).map_err(|error| cannot("listen", &error))?;
    let address = listener.local_addr().map_err(|error| cannot("listen", &error))?;
    let stop = stop().map_err(|error| cannot("wait for signals", &error))?;
    let (warehouses, workers) = (number(warehouses, "warehouse"), number(workers.into(), "worker"));
    say(&format!("listening on {address}: {warehouses}, {workers}"));
    serve(&listener, &stop, &database, terminals, &counts).map_err(|error| cannot("serve", &error))?;
    counts.rows().for_each(|(name, count)| say(&format!("{name} {count}")));
    Ok(if arguments.check { check(&database) } else { ExitCode::SUCCESS })
}

/// `1 worker`, `2 workers`.
fn number(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// One for each processor, as far as they can be counted.
fn processors() -> u8 {
    available_parallelism().map_or(1, |processors| processors.get().min(u8::MAX.into()) as u8)
}

/// What has something to read once SIGTERM or SIGINT has come.
fn stop() -> io::Result<UnixStream> {
    let (stop, signal) = UnixStream::pair()?;
    pipe::register(SIGTERM, signal.try_clone()?)?;
    pipe::register(SIGINT, signal)?;
    Ok(stop)
}

/// Prints the conditions that do not hold.
fn check(database: &Database) -> ExitCode {
    let violations = violations(&mut Worker::new(&database.epoch, 0), database).expect("the workers have ended");
    for violation in &violations {
        let [left, right] = violation.values;
        let district = violation.district.map_or(String::new(), |district| format!(", district {district}"));
        let (condition, warehouse) = (violation.condition, violation.warehouse);
        say(&format!("condition {condition} is violated: {left} is not {right} (warehouse {warehouse}{district})"));
    }
    if violations.is_empty() {
        say("conditions 1 to 4 hold");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// A line on standard output, if anybody still reads it.
fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn cannot(what: &str, error: &io::Error) -> Error {
    Error::failed(format!("cannot {what}: {}", reason(error)))
}
