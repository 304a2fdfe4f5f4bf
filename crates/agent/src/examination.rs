//! What the machine lets BayOp control and measure, as the API shows it.

use bayop_knobs::{Host, doctor};
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema::FindingStatus;

/// What this machine lets BayOp control and measure.
#[derive(Debug, Serialize, ToSchema)]
pub struct Examination {
    /// One or more per check, also when all is well.
    pub findings: Vec<Finding>,
    /// How many of them keep BayOp from doing anything.
    pub blockers: usize,
}

/// The result of one check.
#[derive(Debug, Serialize, ToSchema)]
pub struct Finding {
    /// What was looked at: `kernel`, `knob nic.rx_usecs`.
    pub check: String,
    /// What it means.
    #[schema(value_type = FindingStatus)]
    pub status: doctor::Status,
    /// What is there.
    pub found: String,
    /// Why it matters.
    pub why: String,
    /// What to do; null when there is nothing to do.
    #[schema(required)]
    pub remedy: Option<String>,
}

impl Examination {
    /// The findings on a machine.
    pub fn of(host: &Host, options: &doctor::Options) -> Self {
        let findings = doctor::examine(host, options);
        let blockers = findings.iter().filter(|finding| finding.status == doctor::Status::Blocker).count();
        let finding =
            |doctor::Finding { check, status, found, why, remedy }| Finding { check, status, found, why, remedy };
        Self { findings: findings.into_iter().map(finding).collect(), blockers }
    }
}
