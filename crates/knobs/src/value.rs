//! Values of knobs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a knob is set to: a number in the unit that the knob's id carries, or a word of its choices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the knob's unit.
    Number(f64),
    /// One of the knob's named choices, such as `balance_power` or `on`.
    Word(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}
