//! What a check finds.

use serde::Serialize;

use bayop_core::Error;

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema), schema(as = FindingStatus))]
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
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub struct Finding {
    /// What was looked at: `kernel`, `knob nic.rx_usecs`.
    pub check: String,
    /// What it means.
    pub status: Status,
    /// What is there.
    pub found: String,
    /// Why it matters.
    pub why: String,
    /// What to do; null when there is nothing to do.
    #[cfg_attr(feature = "utoipa", schema(required))]
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn new(
        check: impl Into<String>,
        status: Status,
        found: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self { check: check.into(), status, found: found.into(), why: why.into(), remedy: None }
    }

    pub(super) fn ok(check: impl Into<String>, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(check, Status::Ok, found, why)
    }

    pub(super) fn note(check: impl Into<String>, found: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(check, Status::Note, found, why)
    }

    /// What an error says of something that is not there.
    pub(super) fn missing(check: impl Into<String>, error: &Error, why: impl Into<String>) -> Self {
        Self { remedy: error.hint.clone().map(Into::into), ..Self::new(check, Status::Missing, error.to_string(), why) }
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}
