//! What verbs have in common: which machine they are about, and how they end.

use std::path::PathBuf;
use std::process::ExitCode;

use bayop_agent::config::Config;
use bayop_core::Result;
use bayop_knobs::Host;
use clap::Args;

/// What a verb prints, and its exit code.
pub type Done = Result<(String, ExitCode)>;

// No comment for rustdoc, because clap would describe the verbs by it.
#[derive(Debug, Args)]
pub struct Machine {
    /// The configuration; without it, /etc/bayop/agent.toml, or nothing but observing when that is absent
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A recorded machine in place of this one: a folder with its sys and proc
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

impl Machine {
    /// The configuration, checked.
    pub fn config(&self) -> Result<Config> {
        Config::load(self.config.as_deref())
    }

    /// The machine.
    pub fn host(&self) -> Host {
        self.root.as_ref().map_or_else(Host::live, Host::recorded)
    }
}
