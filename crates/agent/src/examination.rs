//! What the machine lets BayOp control and measure, as the API shows it.

use bayop_knobs::Host;
use bayop_knobs::doctor::{self, Finding, Status};
use serde::Serialize;
use utoipa::ToSchema;

/// What this machine lets BayOp control and measure.
#[derive(Debug, Serialize, ToSchema)]
pub struct Examination {
    /// One or more per check, also when all is well.
    pub findings: Vec<Finding>,
    /// How many of them keep BayOp from doing anything.
    pub blockers: usize,
}

impl Examination {
    /// The findings on a machine.
    pub fn of(host: &Host, options: &doctor::Options) -> Self {
        let findings = doctor::examine(host, options);
        let blockers = findings.iter().filter(|finding| finding.status == Status::Blocker).count();
        Self { findings, blockers }
    }
}
