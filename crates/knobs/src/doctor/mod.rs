//! What this machine lets BayOp control and measure, what is missing, and the exact remedy.
//!
//! Reads only. Every check gives at least one [`Finding`], also when all is well, so that a reader sees what was looked
//! at.

pub(crate) mod cpu;
mod finding;
mod knobs;
pub(crate) mod machine;
mod network;
mod power;
pub(crate) mod rivals;
mod service;

use crate::host::Host;
use crate::sensor;

pub use finding::{Finding, Status};
pub use service::Service;

/// What is examined.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The knobs that the user wants to tune, by id; empty for all of the catalogue.
    pub knobs: Vec<String>,
    /// How the energy of the machine is to be found.
    pub power: sensor::Options,
    /// Who has to listen here: the agent, unless it asks itself, and its helpers.
    pub services: Vec<Service>,
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
    findings.extend(options.services.iter().map(Service::finding));
    findings
}
