//! What it is asked and what it answers, as docs/reference/agent-openapi.json describes it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use bayop_core::Error;
use serde::{Deserialize, Serialize};

use crate::knob::{Domain, Value};
use crate::reading::Shown;

#[derive(Serialize)]
pub struct Failure<'a> {
    pub error: &'a Error,
}

#[derive(Serialize)]
pub struct Status {
    pub version: &'static str,
    pub mode: &'static str,
    pub boot_id: String,
    pub uptime_s: f64,
    pub lease: Option<LeaseInForce>,
    pub kept: bool,
    pub applied_by: Option<AppliedBy>,
    pub held: Vec<HeldKnob>,
    pub hold: Option<()>,
    pub damage: Option<()>,
}

#[derive(Serialize)]
pub struct LeaseInForce {
    pub holder: String,
    pub age_s: f64,
    pub expires_in_s: f64,
}

#[derive(Serialize)]
pub struct AppliedBy {
    pub holder: String,
    pub age_s: f64,
}

#[derive(Serialize)]
pub struct HeldKnob {
    pub knob: String,
    pub found: Value,
    pub requested: Value,
    pub effective: Value,
    pub state: &'static str,
    pub reason: Option<()>,
}

#[derive(Serialize)]
pub struct Knobs {
    pub knobs: Vec<KnobInPlace>,
    pub missing: Vec<()>,
}

#[derive(Serialize)]
pub struct KnobInPlace {
    pub id: &'static str,
    pub summary: &'static str,
    pub unit: Option<&'static str>,
    pub safest: Option<&'static str>,
    pub places: [Place; 1],
}

#[derive(Serialize)]
pub struct Place {
    pub at: &'static str,
    pub domain: Domain,
    pub allowed: Domain,
    pub effective: Value,
    pub error: Option<()>,
}

#[derive(Serialize)]
pub struct Readings<'a> {
    pub time_s: f64,
    pub readings: Vec<Shown<'a>>,
}

#[derive(Serialize)]
pub struct NoHold {
    pub hold: Option<()>,
}

#[derive(Serialize)]
pub struct NoCalibrations {
    pub calibrations: [(); 0],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    pub holder: String,
    pub ttl_s: f64,
}

#[derive(Serialize)]
pub struct Lease {
    pub lease: String,
    pub ttl_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    pub lease: String,
    #[serde(default)]
    pub ttl_s: Option<f64>,
}

#[derive(Serialize)]
pub struct Renewed {
    pub expires_in_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    pub lease: Option<String>,
    #[serde(deserialize_with = "bayop_core::each_once")]
    pub setting: BTreeMap<String, Value>,
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Serialize)]
pub struct Applied {
    pub changes: Vec<Change>,
    pub setting: BTreeMap<String, Option<Value>>,
    pub advised: bool,
}

#[derive(Serialize)]
pub struct Change {
    pub knob: String,
    pub before: Value,
    pub requested: Value,
    pub effective: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    pub lease: String,
    #[serde(default)]
    pub keep: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {}

#[derive(Default, Serialize)]
pub struct Released {
    pub restored: Vec<String>,
    pub latched: [(); 0],
    pub stood_down: [(); 0],
}
