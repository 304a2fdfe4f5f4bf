//! Values of knobs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number in the unit that the knob's id carries, or a word such as `on`; in a request, `auto` hands the knob back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[allow(missing_docs, reason = "the API's description would repeat it in every variant")]
pub enum Value {
    Number(f64),
    Word(String),
}

/// [`Value`] where it has a schema: what is called `Value` there is any JSON to utoipa.
pub type KnobValue = Value;

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
