//! What a sensor said, and when.

use bayop_core::Result;

/// Whether a reading counts up or stands for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A count since some start; only differences mean something. A counter that is less than it was has wrapped (the
    /// kernel keeps interrupts and softirqs in 32 bits) or started anew: discard that window.
    Counter,
    /// A quantity at `time_s`.
    Gauge,
}

/// One reading of one sensor in one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What is read, with its unit: `energy_j`, `cpu_busy_s`.
    pub name: &'static str,
    /// Where: `machine`, `package-0`, `cpu3`, `cpu3/C6`, `eth0/rx-1`.
    pub at: String,
    /// The value in `unit`, or why there is none.
    pub value: Result<f64>,
    /// `J`, `W`, `s`, `MHz`, `B`, or `1` for a count.
    pub unit: &'static str,
    /// Whether it counts up.
    pub kind: Kind,
    /// The kernel file, with the method where the value is derived from it.
    pub source: String,
    /// Whether the value comes from a model instead of a measurement.
    pub estimated: bool,
    /// When, on the caller's clock.
    pub time_s: f64,
}

impl Reading {
    /// The name with its place: `energy_j@package-0`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.at)
    }
}

/// What a sensor gives: the part of a [`Reading`] that is the same in all of its places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    pub name: &'static str,
    pub unit: &'static str,
    pub kind: Kind,
}

impl Quantity {
    pub const fn counter(name: &'static str, unit: &'static str) -> Self {
        Self { name, unit, kind: Kind::Counter }
    }

    pub const fn gauge(name: &'static str, unit: &'static str) -> Self {
        Self { name, unit, kind: Kind::Gauge }
    }
}

/// The readings of one sample.
#[derive(Debug)]
pub(super) struct Sample {
    pub readings: Vec<Reading>,
    pub time_s: f64,
}

impl Sample {
    /// Adds what was measured, or why it could not be.
    pub fn add(
        &mut self,
        quantity: Quantity,
        at: impl Into<String>,
        source: impl Into<String>,
        value: Result<f64>,
    ) -> &mut Reading {
        let Quantity { name, unit, kind } = quantity;
        let (at, source, time_s) = (at.into(), source.into(), self.time_s);
        self.readings.push(Reading { name, at, value, unit, kind, source, estimated: false, time_s });
        self.readings.last_mut().expect("a reading was just added")
    }
}
