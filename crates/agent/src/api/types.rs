//! What requests and answers look like.

use std::collections::BTreeMap;
use std::fmt;

use bayop_knobs::catalogue::End;
use bayop_knobs::knob::Domain;
use bayop_knobs::sensor::{self, Reading};
use bayop_knobs::{Host, Value, doctor};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Ref;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::calibration::Map;
use crate::config::Mode;
use crate::journal::State;
use bayop_core::Error;

/// A number in the unit that the knob's id carries, or a word such as `on`; in a request, `auto` hands the knob back.
#[derive(ToSchema)]
#[schema(as = Value)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the schema of bayop_knobs::Value, which has the documentation")]
pub enum ValueSchema {
    Number(f64),
    Word(String),
}

/// Reads a setting in which no name comes twice: JSON leaves open which of the two would count (RFC 8259, section 4).
fn each_once<'a, D: Deserializer<'a>>(deserializer: D) -> Result<BTreeMap<String, Value>, D::Error> {
    struct Names;
    impl<'a> Visitor<'a> for Names {
        type Value = BTreeMap<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("values by knob")
        }

        fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut setting = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if setting.contains_key(&name) {
                    return Err(de::Error::custom(format_args!("{name:?} comes twice")));
                }
                setting.insert(name, value);
            }
            Ok(setting)
        }
    }
    deserializer.deserialize_map(Names)
}

/// The schema of a map to values and nulls, which utoipa does not derive.
fn values_or_null() -> Object {
    let value =
        OneOfBuilder::new().item(Ref::from_schema_name("Value")).item(ObjectBuilder::new().schema_type(Type::Null));
    ObjectBuilder::new().additional_properties(Some(Schema::OneOf(value.build()))).build()
}

/// The values that a knob takes.
#[derive(ToSchema)]
#[schema(as = Domain)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code, reason = "the schema of bayop_knobs::knob::Domain, which is what is serialised")]
pub enum DomainSchema {
    /// Numbers from `low` to `high`, both included, in steps.
    Steps {
        /// The least value, in the knob's unit.
        low: f64,
        /// The greatest value.
        high: f64,
        /// The distance of two values.
        step: f64,
        /// Those in between that the driver keeps for itself.
        reserved: Vec<ReservedSchema>,
    },
    /// The values listed.
    #[schema(value_type = Vec<ValueSchema>)]
    Choices(Vec<Value>),
}

/// Values that a driver keeps for itself: they mean something else to it than their number, and are refused.
#[derive(ToSchema)]
#[schema(as = Reserved)]
#[allow(dead_code, reason = "the schema of bayop_knobs::catalogue::Reserved, which is what is serialised")]
pub struct ReservedSchema {
    /// The least of them.
    pub low: u32,
    /// The greatest of them.
    pub high: u32,
    /// What they mean to the driver.
    pub meaning: String,
}

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
    /// Why nothing may be applied: the journal was damaged and a person has to look.
    #[schema(required)]
    pub damage: Option<String>,
}

/// What the agent itself costs.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Own {
    /// Processor time, user and system.
    pub cpu_s: f64,
    /// Resident memory.
    pub rss_bytes: u64,
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
    #[schema(value_type = ValueSchema)]
    pub found: Value,
    /// Its value as requested.
    #[schema(value_type = ValueSchema)]
    pub requested: Value,
    /// Its value in effect; null when it can't be read.
    #[schema(value_type = Option<ValueSchema>, required)]
    pub effective: Option<Value>,
    /// How it stands.
    pub state: State,
    /// Why it is not simply held.
    #[schema(required)]
    pub reason: Option<String>,
}

/// The knobs of this machine.
#[derive(Debug, Serialize, ToSchema)]
pub struct Knobs {
    /// Those that it has.
    pub knobs: Vec<Knob>,
    /// Those that it has not, with the reason.
    pub missing: Vec<MissingKnob>,
}

/// One knob.
#[derive(Debug, Serialize, ToSchema)]
pub struct Knob {
    /// Such as `nic.rx_usecs`.
    pub id: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The unit of its numbers.
    #[schema(required)]
    pub unit: Option<&'static str>,
    /// Which end of its numbers makes the service fastest.
    #[schema(value_type = Option<SafestEnd>, required)]
    pub safest: Option<End>,
    /// Where it is.
    pub places: Vec<Place>,
}

/// Which end of a numeric domain makes the service fastest.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the schema of bayop_knobs::catalogue::End, which has the documentation")]
pub enum SafestEnd {
    Low,
    High,
}

/// A knob in one place.
#[derive(Debug, Serialize, ToSchema)]
pub struct Place {
    /// Such as `eth0`.
    pub at: String,
    /// What the kernel takes.
    #[schema(value_type = DomainSchema)]
    pub domain: Domain,
    /// What of it the allow-list lets be written; null when nothing.
    #[schema(value_type = Option<DomainSchema>, required)]
    pub allowed: Option<Domain>,
    /// Its value in effect; null when it can't be read.
    #[schema(value_type = Option<ValueSchema>, required)]
    pub effective: Option<Value>,
    /// Why it can't be read.
    #[schema(required)]
    pub error: Option<Error>,
}

/// A knob that this machine does not have.
#[derive(Debug, Serialize, ToSchema)]
pub struct MissingKnob {
    /// Such as `power.cap_w`.
    pub id: &'static str,
    /// Why, and what to do about it.
    pub error: Error,
}

/// What the sensors read.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readings {
    /// Since the agent started: the clock of every `time_s` here.
    pub time_s: f64,
    /// One per sensor and place.
    pub readings: Vec<SensorReading>,
}

/// One reading of one sensor in one place.
#[derive(Debug, Serialize, ToSchema)]
pub struct SensorReading {
    /// What is read, with its unit: `energy_j`, `cpu_busy_s`.
    pub name: &'static str,
    /// Where: `machine`, `cpu3`, `cpu3/C6`, `eth0/rx-1`.
    pub at: String,
    /// The value; null when it could not be read.
    #[schema(required)]
    pub value: Option<f64>,
    /// Its unit; `1` for a count.
    pub unit: &'static str,
    /// Whether it counts up or stands for a moment.
    pub kind: SensorKind,
    /// The kernel's file, with the method where the value is derived from it.
    pub source: String,
    /// Whether the value comes from a model instead of a measurement.
    pub estimated: bool,
    /// When it was read.
    pub time_s: f64,
    /// Why it could not be read.
    #[schema(required)]
    pub error: Option<Error>,
}

/// Whether a reading counts up or stands for a moment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SensorKind {
    /// A count since some start: only differences mean something, and one that falls has started anew.
    Counter,
    /// A quantity at `time_s`.
    Gauge,
}

impl From<Reading> for SensorReading {
    fn from(reading: Reading) -> Self {
        let Reading { name, at, value, unit, kind, source, estimated, time_s } = reading;
        let kind = match kind {
            sensor::Kind::Counter => SensorKind::Counter,
            sensor::Kind::Gauge => SensorKind::Gauge,
        };
        let (value, error) = match value {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error)),
        };
        Self { name, at, value, unit, kind, source, estimated, time_s, error }
    }
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
    #[schema(value_type = BTreeMap<String, ValueSchema>)]
    #[serde(deserialize_with = "each_once")]
    pub setting: BTreeMap<String, Value>,
    /// Whether to say what would change and write nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a setting changed, or would change.
#[derive(Debug, Serialize, ToSchema)]
pub struct Applied {
    /// By place.
    pub changes: Vec<Change>,
    /// The values in effect, by the names that were asked; null where the places of one name differ, or in a dry run.
    #[schema(schema_with = values_or_null)]
    pub setting: BTreeMap<String, Option<Value>>,
    /// Whether this is advice only, since the agent is in the mode `advise`.
    pub advised: bool,
}

/// One knob's change.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Change {
    /// Such as `nic.rx_usecs@eth0`.
    pub knob: String,
    /// Its value before this request.
    #[schema(value_type = ValueSchema)]
    pub before: Value,
    /// Its value as requested.
    #[schema(value_type = ValueSchema)]
    pub requested: Value,
    /// Its value in effect, read back; null in a dry run.
    #[schema(value_type = Option<ValueSchema>, required)]
    pub effective: Option<Value>,
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

/// What a finding means.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the schema of bayop_knobs::doctor::Status, which has the documentation")]
pub enum FindingStatus {
    Ok,
    Note,
    Missing,
    Blocker,
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

/// The stored calibrations.
#[derive(Debug, Serialize, ToSchema)]
pub struct Calibrations {
    /// One per network device.
    pub calibrations: Vec<Map>,
}

/// How every request that fails is answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Failure {
    /// What is wrong, and what to do.
    pub error: Error,
}
