//! What the sensors read, as the API shows it.

use bayop_knobs::sensor::{self, Reading};
use serde::Serialize;
use utoipa::ToSchema;

use bayop_core::Error;

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
