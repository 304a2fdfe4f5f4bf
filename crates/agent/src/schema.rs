//! How the API's description shows what `bayop-knobs` serialises: it knows nothing of descriptions.

use bayop_knobs::Value;
use utoipa::ToSchema;
use utoipa::openapi::Ref;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

/// A number in the unit that the knob's id carries, or a word such as `on`; in a request, `auto` hands the knob back.
#[derive(ToSchema)]
#[schema(as = Value)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the schema of bayop_knobs::Value, which has the documentation")]
pub enum ValueSchema {
    Number(f64),
    Word(String),
}

/// The schema of a map to values and nulls, which utoipa does not derive.
pub(crate) fn values_or_null() -> Object {
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

/// Which end of a numeric domain makes the service fastest.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the schema of bayop_knobs::catalogue::End, which has the documentation")]
pub enum SafestEnd {
    Low,
    High,
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
