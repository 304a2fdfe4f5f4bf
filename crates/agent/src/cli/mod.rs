//! One function per verb.

/// Adds a line to a text that is printed at the end.
macro_rules! outln {
    ($text:expr, $($line:tt)*) => {{
        $text.push_str(&format!($($line)*));
        $text.push('\n');
    }};
}

mod machine;
mod push;
mod restore;
mod show;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use bayop_agent::own::VERSION;
use bayop_agent::{api, log, server};
use clap::{Parser, Subcommand};

use machine::{Done, Machine};

/// Reads the sensors of a Linux server and applies settings to it, and puts back whatever it changed.
#[derive(Debug, Parser)]
#[command(version = VERSION, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve the API until SIGTERM, then restore the machine
    #[command(after_help = "Example:\n  bayop-agent serve\n  \
        curl --unix-socket /run/bayop/agent.sock http://agent/v1/status")]
    Serve(Machine),
    /// Put back what a stopped or killed agent left changed
    #[command(after_help = "Examples:\n  bayop-agent restore            # from the journal, without the agent\n  \
        bayop-agent restore --print    # the commands that do it, to paste")]
    Restore {
        #[command(flatten)]
        machine: Machine,
        /// Where the journal is; without it, the configuration's state_dir, which is all that is read of it
        #[arg(long, value_name = "DIR")]
        state_dir: Option<PathBuf>,
        /// Print the shell commands that restore the machine and change nothing
        #[arg(long)]
        print: bool,
        /// Forget a damaged journal, after a look at the machine
        #[arg(long, conflicts_with = "print")]
        discard_damaged: bool,
    },
    /// List the knobs of this machine: what is in effect, what the kernel takes, what may be written
    #[command(after_help = "Example:\n  bayop-agent knobs --json | jq '.missing'")]
    Knobs {
        #[command(flatten)]
        machine: Machine,
        /// Print what GET /v1/knobs answers
        #[arg(long)]
        json: bool,
    },
    /// Read every sensor of this machine once
    #[command(after_help = "Example:\n  bayop-agent sensors --json | jq '.[] | select(.name == \"energy_j\")'")]
    Sensors {
        #[command(flatten)]
        machine: Machine,
        /// Print the readings as GET /v1/sensors has them
        #[arg(long)]
        json: bool,
    },
    /// Say what this machine lets BayOp control and measure, what is missing, and the remedy
    #[command(after_help = "Example:\n  bayop-agent doctor || echo \"exit code 4: something blocks BayOp here\"")]
    Doctor {
        #[command(flatten)]
        machine: Machine,
        /// Print what GET /v1/doctor answers
        #[arg(long)]
        json: bool,
    },
    /// Check the configuration and say what it means
    #[command(after_help = "Example:\n  bayop-agent check-config --config ./agent.toml")]
    CheckConfig(Machine),
    /// Tell the agent what clients see: each line of standard input is one latency
    #[command(after_help = "Examples:\n  \
        echo '{\"vantage\": \"client\", \"p99_us\": 310}' | bayop-agent push\n  \
        bayop-probe --port 11211 --wait eth0 | bayop-agent push")]
    Push {
        /// The socket that takes latencies, beside the agent's own
        #[arg(long, value_name = "PATH", default_value = "/run/bayop/latency.sock")]
        socket: PathBuf,
    },
    /// Print the OpenAPI description of the API
    #[command(after_help = "Example:\n  bayop-agent openapi > agent-openapi.json")]
    Openapi,
}

/// Does what the command line says.
pub fn run() -> ExitCode {
    let done = match Cli::parse().verb {
        Verb::Serve(machine) => serve(&machine),
        Verb::Restore { machine, state_dir, print, discard_damaged } => {
            restore::folder(&machine, state_dir).and_then(|folder| {
                if print { restore::print(&folder) } else { restore::restore(&folder, machine.host(), discard_damaged) }
            })
        }
        Verb::Knobs { machine, json } => show::knobs(&machine, json),
        Verb::Sensors { machine, json } => show::sensors(&machine, json),
        Verb::Doctor { machine, json } => show::doctor(&machine, json),
        Verb::CheckConfig(machine) => show::config(&machine),
        Verb::Push { socket } => push::push(&socket),
        Verb::Openapi => Ok((api::description_text(), ExitCode::SUCCESS)),
    };
    match done {
        Ok((text, code)) => {
            // A reader that left early, such as `head`, has seen what it wanted.
            let _ = std::io::stdout().write_all(text.as_bytes());
            code
        }
        Err(error) => {
            log::say(error.report());
            ExitCode::from(error.exit_code())
        }
    }
}

fn serve(machine: &Machine) -> Done {
    let released = server::serve(machine.config()?, machine.host())?;
    log::event("stopped", &[("restored", &released.restored.len()), ("latched", &released.latched.len())]);
    // Drift: the machine is not as it was found.
    Ok((String::new(), if released.latched.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(3) }))
}
