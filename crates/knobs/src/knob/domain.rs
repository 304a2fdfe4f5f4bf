//! The values that a knob takes.

use std::fmt;

use serde::Serialize;

use crate::catalogue::Reserved;
use crate::value::{KnobValue, Value};
use bayop_core::{Error, Result};

/// The values that a knob takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
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
        /// Those in between that the driver keeps for itself.
        #[cfg_attr(feature = "utoipa", schema(value_type = Vec<crate::catalogue::ReservedSchema>))]
        reserved: Vec<Reserved>,
    },
    /// The values listed.
    Choices(Vec<KnobValue>),
}

/// How far from a whole number of steps a value may be, in steps: what decimal fractions lose in binary.
const TOLERANCE: f64 = 1e-3;

impl Domain {
    /// Every step from `low` to `high`.
    pub(crate) fn steps(low: f64, high: f64, step: f64) -> Self {
        Self::Steps { low, high, step, reserved: Vec::new() }
    }

    /// What `number` means to the driver that keeps it for itself.
    pub fn reserved(&self, number: f64) -> Option<&Reserved> {
        let Self::Steps { reserved, .. } = self else { return None };
        reserved.iter().find(|reserved| (f64::from(reserved.low)..=f64::from(reserved.high)).contains(&number))
    }

    /// Refuses a value that the knob does not take.
    ///
    /// # Errors
    /// The value is outside the domain, between two steps, or one that the driver keeps for itself.
    pub fn check(&self, value: &Value) -> Result<()> {
        let is_valid = match (self, value) {
            (Self::Choices(choices), value) => choices.contains(value),
            (Self::Steps { low, high, step, .. }, Value::Number(number)) => {
                let steps = (number - low) / step;
                // What is written is a whole number of steps, so that is what must not be the driver's own.
                if let Some(reserved) = self.reserved(low + steps.round() * step) {
                    return Err(Error::input(format!("the driver keeps {value} for itself: {}", reserved.meaning))
                        .rule(format!("the value must be {self}"))
                        .value(value)
                        .hint("auto hands the choice back to the driver"));
                }
                (low..=high).contains(&number) && (steps - steps.round()).abs() < TOLERANCE
            }
            (Self::Steps { .. }, Value::Word(_)) => false,
        };
        if is_valid { Ok(()) } else { Err(Error::cannot_use(value, format!("the value must be {self}"))) }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps { low, high, step, reserved } => {
                write!(f, "{low} to {high} in steps of {step}")?;
                let gaps = reserved.iter().map(Reserved::to_string).collect::<Vec<_>>();
                if gaps.is_empty() { Ok(()) } else { write!(f, " without {}", gaps.join(", ")) }
            }
            Self::Choices(choices) => {
                write!(f, "one of {}", choices.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}
