//! The command line of `bayop-agent`: parse, call, print.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
