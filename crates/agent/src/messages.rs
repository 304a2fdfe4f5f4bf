//! What the agent is asked, and what it answers.

use std::collections::BTreeMap;

use bayop_knobs::KnobValue;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Ref;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::calibration::{Map, Point};
use crate::config::Mode;
use crate::guard::{Condition, Conditions};
use crate::journal::State;
use crate::own::Own;
use bayop_core::Error;

/// The agent and what it holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Status {
    /// The agent's version.
    pub version: &'static str,
    /// How far it goes.
    pub mode: Mode,
    /// The kernel's id of this boot.
    pub boot_id: String,
    /// Since the agent started.
    pub uptime_s: f64,
    /// What the agent itself costs.
    pub own: Own,
    /// The lease in force.
    #[schema(required)]
    pub lease: Option<LeaseInForce>,
    /// Whether something stays applied without a lease, as its release asked.
    pub kept: bool,
    /// Whose setting is in effect; null when nothing was applied since the last restore.
    #[schema(required)]
    pub applied_by: Option<AppliedBy>,
    /// The knobs that are held, or could not be restored.
    pub held: Vec<HeldKnob>,
    /// The conditions under which they are held; null when there are none.
    #[schema(required)]
    pub hold: Option<HoldInForce>,
    /// Why nothing may be applied: the journal was damaged and a person has to look.
    #[schema(required)]
    pub damage: Option<String>,
}

/// Who may write, and for how long.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeaseInForce {
    /// Who asked for it.
    pub holder: String,
    /// How long ago it was granted.
    pub age_s: f64,
    /// When it ends unless it is renewed.
    pub expires_in_s: f64,
}

/// Who applied what is in effect.
#[derive(Debug, Serialize, ToSchema)]
pub struct AppliedBy {
    /// Who held the lease, in its own words.
    pub holder: String,
    /// How long ago it applied its first setting.
    pub age_s: f64,
}

/// A knob that is held.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldKnob {
    /// Such as `nic.rx_usecs@eth0`.
    pub knob: String,
    /// Its value before BayOp.
    pub found: KnobValue,
    /// Its value as requested.
    pub requested: KnobValue,
    /// Its value in effect; null when it can't be read.
    #[schema(required)]
    pub effective: Option<KnobValue>,
    /// How it stands.
    pub state: State,
    /// Why it is not simply held.
    #[schema(required)]
    pub reason: Option<String>,
}

/// Asks for the right to write.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// Who asks, for people to read.
    pub holder: String,
    /// How long the lease lasts without being renewed: 2 to 3600.
    pub ttl_s: f64,
}

/// The right to write.
#[derive(Debug, Serialize, ToSchema)]
pub struct Lease {
    /// The secret that proves it.
    pub lease: String,
    /// How long it lasts without being renewed.
    pub ttl_s: f64,
}

/// Renews a lease.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// The secret that proves it.
    pub lease: String,
    /// How long it lasts from now on without being renewed, 2 to 3600; left out, as long as before.
    #[serde(default)]
    pub ttl_s: Option<f64>,
}

/// A lease that was renewed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Renewed {
    /// When it ends unless it is renewed again.
    pub expires_in_s: f64,
}

/// Asks for a setting.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyRequest {
    /// The secret that proves the lease; a dry run needs none.
    pub lease: Option<String>,
    /// Values by knob (`nic.rx_usecs`: every allowed place, a device for its queues) or by place
    /// (`nic.rx_usecs@eth0/rx-3`). A place that is set apart stays so when its whole is set or handed back.
    #[serde(deserialize_with = "bayop_core::each_once")]
    pub setting: BTreeMap<String, KnobValue>,
    /// Whether to say what would change and write nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// Asks for a setting that is held under conditions, and for what takes its place when one of them breaks. Both are whole:
/// a knob that is held and not named has the machine's own value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// The secret that proves the lease.
    pub lease: String,
    /// Values by knob or by place, as of an apply.
    #[serde(deserialize_with = "bayop_core::each_once")]
    pub setting: BTreeMap<String, KnobValue>,
    /// What is in effect once a condition has broken; nothing in it is the machine's own setting.
    #[serde(deserialize_with = "bayop_core::each_once")]
    pub fall_back: BTreeMap<String, KnobValue>,
    /// What has to be so.
    pub conditions: Conditions,
}

/// The hold, if there is one.
#[derive(Debug, Serialize, ToSchema)]
pub struct Holding {
    /// Null while nothing is held under conditions.
    #[schema(required)]
    pub hold: Option<HoldInForce>,
}

/// A setting that is held under conditions, or was until one of them broke.
#[derive(Debug, Serialize, ToSchema)]
pub struct HoldInForce {
    /// What was asked.
    pub setting: BTreeMap<String, KnobValue>,
    /// What takes its place.
    pub fall_back: BTreeMap<String, KnobValue>,
    /// What has to be so.
    pub conditions: Conditions,
    /// How long ago it began.
    pub age_s: f64,
    /// The last push that named the watched quantity.
    #[schema(required)]
    pub latest: Option<Pushed>,
    /// The load, once its window is over.
    #[schema(required)]
    pub packets_per_s: Option<f64>,
    /// How it gave way to the fall-back; null while the setting is held.
    #[schema(required)]
    pub fell_back: Option<FellBack>,
}

/// What was pushed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pushed {
    /// The watched quantity.
    pub latency_us: f64,
    /// How long ago.
    pub age_s: f64,
}

/// Why and how a hold gave way to its fall-back.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FellBack {
    /// Which condition broke.
    pub condition: Condition,
    /// What was seen, for people.
    pub seen: String,
    /// How long ago it was seen.
    pub age_s: f64,
    /// How long it took from then until the fall-back was in effect.
    pub took_s: f64,
    /// Why the fall-back is not in effect; the machine was restored then, and the lease ended.
    #[schema(required)]
    pub error: Option<Error>,
}

/// The agent has heard.
#[derive(Debug, Serialize, ToSchema)]
pub struct Heard {
    /// Whether a hold is watched by it.
    pub watched: bool,
}

/// What a setting changed, or would change.
#[derive(Debug, Serialize, ToSchema)]
pub struct Applied {
    /// By place.
    pub changes: Vec<Change>,
    /// The values in effect, by the names that were asked; null where the places of one name differ, or in a dry run.
    #[schema(schema_with = values_or_null)]
    pub setting: BTreeMap<String, Option<KnobValue>>,
    /// Whether this is advice only, since the agent is in the mode `advise`.
    pub advised: bool,
}

/// The schema of a map to values and nulls, which utoipa does not derive.
fn values_or_null() -> Object {
    let value =
        OneOfBuilder::new().item(Ref::from_schema_name("Value")).item(ObjectBuilder::new().schema_type(Type::Null));
    ObjectBuilder::new().additional_properties(Some(Schema::OneOf(value.build()))).build()
}

/// One knob's change.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Change {
    /// Such as `nic.rx_usecs@eth0`.
    pub knob: String,
    /// Its value before this request.
    pub before: KnobValue,
    /// Its value as requested.
    pub requested: KnobValue,
    /// Its value in effect, read back; null in a dry run.
    #[schema(required)]
    pub effective: Option<KnobValue>,
}

/// Ends a lease.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// The secret that proves it.
    pub lease: String,
    /// Whether what is applied stays until `restore`, the agent's exit, or the end of a later lease that applies.
    #[serde(default)]
    pub keep: bool,
}

/// Asks for nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {}

/// What became of the knobs that were held.
#[derive(Debug, Serialize, ToSchema)]
pub struct Released {
    /// They are as they were found.
    pub restored: Vec<String>,
    /// They could not be restored; nothing is written to them until they are.
    pub latched: Vec<Latched>,
    /// Somebody else changed them, so they were left as they are.
    pub stood_down: Vec<String>,
}

/// A knob that could not be restored.
#[derive(Debug, Serialize, ToSchema)]
pub struct Latched {
    /// Such as `nic.rx_usecs@eth0`.
    pub knob: String,
    /// Why.
    pub reason: String,
}

/// The map of one network device, to be stored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrateRequest {
    /// The lease.
    pub lease: String,
    /// Such as `eth0`.
    pub device: String,
    /// Its driver.
    #[serde(default)]
    pub driver: Option<String>,
    /// What was measured, requests rising.
    pub points: Vec<Point>,
}

/// The stored calibrations.
#[derive(Debug, Serialize, ToSchema)]
pub struct Calibrations {
    /// One per network device.
    pub calibrations: Vec<Map>,
}
