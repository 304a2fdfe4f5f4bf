//! The knobs that a machine has, each in its places.

mod powercap;

use serde::Serialize;

use crate::catalogue::{Entry, entry};
use crate::control::Write;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::value::Value;

/// The values that a knob takes in one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// Numbers from `low` to `high`, both included, in steps.
    Steps {
        /// The least value, in the knob's unit.
        low: f64,
        /// The greatest value.
        high: f64,
        /// The distance of two values.
        step: f64,
    },
    /// The values listed.
    Choices(Vec<Value>),
}

/// One knob in one place of this machine: `nic.rx_usecs@eth0`, `power.cap_w@package-0/long_term`.
#[derive(Debug, Clone)]
pub struct Instance {
    /// What the knob is.
    pub knob: &'static Entry,
    /// Where: a device, a queue, a frequency policy, a powercap constraint.
    pub at: String,
    /// What it takes there.
    pub domain: Domain,
    kind: &'static dyn Kind,
}

/// A knob that this machine does not offer in some place.
#[derive(Debug, Clone)]
pub struct Missing {
    /// What the knob is.
    pub knob: &'static Entry,
    /// Why, and what to do about it.
    pub why: Error,
}

/// What the catalogue's knobs come to on one machine.
#[derive(Debug, Default)]
pub struct Survey {
    /// The knobs that can be read and, by root, written.
    pub instances: Vec<Instance>,
    /// The knobs that can't, with the reason.
    pub missing: Vec<Missing>,
}

/// How one kind of knob is found, read and set.
trait Kind: std::fmt::Debug + Sync {
    /// The id in the catalogue.
    fn id(&self) -> &'static str;

    /// The places on this machine with what the knob takes there; the error says why there is none.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>>;

    /// The value in effect, in the knob's unit.
    fn read(&self, host: &Host, at: &str) -> Result<Value>;

    /// The writes that set `value`, in their order.
    fn plan(&self, host: &Host, at: &str, value: &Value) -> Result<Vec<Write>>;
}

const KINDS: &[&dyn Kind] = &[&powercap::Cap];

/// Looks for every knob of the catalogue on this machine. Reads only.
pub fn survey(host: &Host) -> Survey {
    let mut survey = Survey::default();
    for &kind in KINDS {
        let knob = entry(kind.id()).expect("every kind has an entry, by the test of the catalogue");
        match kind.places(host) {
            Ok(places) => {
                survey.instances.extend(places.into_iter().map(|(at, domain)| Instance { knob, at, domain, kind }))
            }
            Err(why) => survey.missing.push(Missing { knob, why }),
        }
    }
    survey
}

impl Instance {
    /// The name that settings and messages use: `nic.rx_usecs@eth0`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.knob.id, self.at)
    }

    /// The value in effect.
    ///
    /// # Errors
    /// The kernel no longer offers the knob here.
    pub fn read(&self, host: &Host) -> Result<Value> {
        self.kind.read(host, &self.at).map_err(|error| error.at(self.name()))
    }

    /// The writes that set `value`, in their order. Changes nothing.
    ///
    /// # Errors
    /// The value is outside the domain, or the machine no longer has what the writes need.
    pub fn plan(&self, host: &Host, value: &Value) -> Result<Vec<Write>> {
        self.domain
            .check(value)
            .and_then(|()| self.kind.plan(host, &self.at, value))
            .map_err(|error| error.at(self.name()))
    }
}

impl Domain {
    /// Refuses a value that the knob does not take.
    ///
    /// # Errors
    /// The value is outside the domain or between two steps.
    pub fn check(&self, value: &Value) -> Result<()> {
        let known = match (self, value) {
            (Self::Choices(choices), value) => choices.contains(value),
            (Self::Steps { low, high, step }, Value::Number(number)) => {
                let steps = (number - low) / step;
                (low..=high).contains(&number) && (steps - steps.round()).abs() < 1e-6
            }
            (Self::Steps { .. }, Value::Word(_)) => false,
        };
        if known { Ok(()) } else { Err(Error::input(format!("the value is {self}")).value(value)) }
    }
}

impl std::fmt::Display for Domain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Steps { low, high, step } => write!(f, "{low} to {high} in steps of {step}"),
            Self::Choices(choices) => {
                write!(f, "one of {}", choices.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}
