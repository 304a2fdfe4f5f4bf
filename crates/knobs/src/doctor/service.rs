//! Who listens on the machine: the agent and its helpers.

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use super::finding::{Finding, Status};

/// Who has to listen at a socket.
#[derive(Debug, Clone)]
pub struct Service {
    /// What it is called.
    pub name: &'static str,
    /// The socket.
    pub path: PathBuf,
    /// What it is for.
    pub why: &'static str,
    /// What systemd has to start.
    pub unit: String,
}

impl Service {
    /// The agent.
    pub fn agent(path: PathBuf) -> Self {
        Self { name: "agent", path, why: "the agent reads sensors and applies settings", unit: "bayop-agent".into() }
    }

    /// Whether somebody can listen there.
    pub(super) fn finding(&self) -> Finding {
        let Self { name, path, why, unit } = self;
        let found = path.display().to_string();
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.file_type().is_socket() => Finding::ok(*name, found, *why),
            _ => Finding::new(*name, Status::Missing, format!("no socket {found}"), *why)
                .remedy(format!("systemctl enable --now {unit}")),
        }
    }
}
