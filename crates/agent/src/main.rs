//! The command line of `bayop-agent`: parse, call, print.

#![deny(clippy::print_stderr)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
