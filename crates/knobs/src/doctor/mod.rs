//! What this machine lets BayOp control and measure, what is missing, and the exact remedy.
//!
//! Reads only. Every check gives at least one [`Finding`], also when all is well, so that a reader sees what was looked
//! at.

pub(crate) mod cpu;
mod knobs;
pub(crate) mod machine;
mod network;
mod power;
pub(crate) mod rivals;

use std::path::PathBuf;

use serde::Serialize;

use crate::host::Host;
use crate::sensor;
use bayop_core::Error;

/// What a finding means for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Works, but something should be known or may be better.
    Note,
    /// A knob or a sensor that this machine does not offer as it is.
    Missing,
    /// BayOp can do nothing here until this is solved.
    Blocker,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at: `kernel`, `knob nic.rx_usecs`, `rival tuned`.
    pub check: String,
    /// What it means.
    pub status: Status,
    /// What is there.
    pub found: String,
    /// Why it matters.
    pub why: String,
    /// What to do; none when there is nothing to do.
    pub remedy: Option<String>,
}

/// What is examined.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The knobs that the user wants to tune, by id; empty for all of the catalogue.
    pub knobs: Vec<String>,
    /// How the energy of the machine is to be found.
    pub power: sensor::Options,
    /// Where the agent listens, to see whether it does; none when the agent itself asks.
    pub socket: Option<PathBuf>,
}

/// Examines a machine: the machine itself, its knobs, its meters, its devices, and what else may turn its knobs.
pub fn examine(host: &Host, options: &Options) -> Vec<Finding> {
    if let Err(finding) = machine::linux(host) {
        return vec![finding];
    }
    let survey = crate::knob::survey(host);
    let mut findings = machine::examine(host);
    findings.extend(knobs::examine(&survey, &options.knobs));
    findings.extend(power::examine(host, &options.power));
    findings.extend(cpu::examine(host));
    findings.extend(network::examine(host, &survey));
    findings.extend(rivals::examine(host));
    findings.extend(options.socket.as_deref().map(machine::agent));
    findings
}

impl Finding {
    fn new(check: impl Into<String>, status: Status, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self { check: check.into(), status, found: found.into(), why: why.into(), remedy: None }
    }

    fn ok(check: impl Into<String>, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(check, Status::Ok, found, why)
    }

    fn note(check: impl Into<String>, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(check, Status::Note, found, why)
    }

    /// What an error says of something that is not there.
    fn missing(check: impl Into<String>, error: &Error, why: impl Into<String>) -> Self {
        Self { remedy: error.hint.clone().map(Into::into), ..Self::new(check, Status::Missing, error.to_string(), why) }
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
