//! What all kinds of knobs can do.

use std::fmt::Debug;

use super::domain::Domain;
use crate::control::Write;
use crate::host::Host;
use crate::value::Value;
use bayop_core::Result;

/// How one kind of knob is found, read and set.
pub(super) trait Kind: Debug + Sync {
    /// The id in the catalogue.
    fn id(&self) -> &'static str;

    /// The places on this machine with what the knob takes there; the error says why there is none.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>>;

    /// The value in effect, in the knob's unit.
    fn read(&self, host: &Host, at: &str) -> Result<Value>;

    /// The writes that set `value`, in their order.
    fn plan(&self, host: &Host, at: &str, value: &Value) -> Result<Vec<Write>>;
}
