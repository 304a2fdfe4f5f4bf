//! What can be set.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bayop_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The delay of a NIC's interrupts, in the catalogue.
pub const DELAY: &str = "nic.rx_usecs";

/// A number in the unit that the knob's id carries, or one of its words.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl From<&str> for Value {
    fn from(word: &str) -> Value {
        Value::Word(word.to_owned())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

/// The values that a knob takes.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// Whole numbers, the least and the greatest.
    Whole(u32, u32),
    /// Every so many of the whole numbers from the least to the greatest, by the last.
    Steps(u32, u32, u32),
    /// These words.
    Words(&'static [&'static str]),
}

/// Which knob it is.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// As the catalogue has it.
    pub id: &'static str,
    /// Where it is.
    pub at: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Of its numbers.
    pub unit: Option<&'static str>,
    /// At which end of its numbers the service is fastest.
    pub safest: Option<&'static str>,
    /// What it takes.
    pub domain: Domain,
}

impl About {
    /// Its id and place, such as `nic.rx_usecs@nic0`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.id, self.at)
    }

    /// Whether a setting means this knob.
    pub fn is_called(&self, name: &str) -> bool {
        name == self.id || name.split_once('@') == Some((self.id, self.at))
    }

    /// Refuses what the knob does not take.
    pub fn check(&self, value: &Value) -> Result<()> {
        // What is no whole number of 32 bits is another one as such.
        let is_in = |low: u32, high: u32, step: u32, number: f64| {
            let whole = number as u32;
            f64::from(whole) == number && (low..=high).contains(&whole) && (whole - low) % step == 0
        };
        let rule = match (self.domain, value) {
            (Domain::Whole(low, high), &Value::Number(number)) if is_in(low, high, 1, number) => return Ok(()),
            (Domain::Steps(low, high, step), &Value::Number(number)) if is_in(low, high, step, number) => return Ok(()),
            (Domain::Words(words), Value::Word(word)) if words.contains(&word.as_str()) => return Ok(()),
            (Domain::Whole(low, high), _) => format!("{} must be a whole number, {low} to {high}", self.id),
            (Domain::Steps(low, high, step), _) => format!("{} must be {low} to {high} in steps of {step}", self.id),
            (Domain::Words(words), _) => format!("{} must be one of {}", self.id, words.join(", ")),
        };
        Err(Error::cannot_use(value, rule).at(self.name()))
    }
}

/// A knob in its place, for whichever core asks.
pub trait Knob: Send {
    /// Which one it is.
    fn about(&self) -> About;

    /// What is in effect.
    fn value(&self) -> Value;

    /// Puts a value of its domain in effect.
    fn set(&mut self, value: &Value);
}

impl Serialize for Domain {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "snake_case")]
        enum Shape {
            Steps { low: f64, high: f64, step: f64, reserved: Vec<()> },
            Choices(&'static [&'static str]),
        }
        let steps = |low: u32, high: u32, step: u32| Shape::Steps {
            low: low.into(),
            high: high.into(),
            step: step.into(),
            reserved: Vec::new(),
        };
        match *self {
            Domain::Whole(low, high) => steps(low, high, 1),
            Domain::Steps(low, high, step) => steps(low, high, step),
            Domain::Words(words) => Shape::Choices(words),
        }
        .serialize(serializer)
    }
}
