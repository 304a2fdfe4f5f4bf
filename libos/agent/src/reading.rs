//! What has been counted, as the agent's sensors show it.

use alloc::borrow::Cow;

use serde::Serialize;

/// A counter, read at a moment: only differences mean something; or what is at that moment.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The quantity with its unit, such as `interrupts`.
    pub name: &'static str,
    /// Where: a core, a NIC, the machine.
    pub at: Cow<'static, str>,
    /// How far it has counted.
    pub value: f64,
    /// Of the value; `1` of a count.
    pub unit: &'static str,
    /// What counts.
    pub source: Cow<'static, str>,
    /// Whether it is no counter.
    pub is_gauge: bool,
    /// Whether a model says so, and no meter.
    pub is_estimated: bool,
}

/// As the API has it.
#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    name: &'a str,
    at: &'a str,
    value: f64,
    unit: &'a str,
    kind: &'static str,
    source: &'a str,
    estimated: bool,
    time_s: f64,
    error: Option<()>,
}

impl Reading {
    pub(crate) fn shown(&self, time_s: f64) -> Shown<'_> {
        Shown {
            name: self.name,
            at: &self.at,
            value: self.value,
            unit: self.unit,
            kind: if self.is_gauge { "gauge" } else { "counter" },
            source: &self.source,
            estimated: self.is_estimated,
            time_s,
            error: None,
        }
    }
}
