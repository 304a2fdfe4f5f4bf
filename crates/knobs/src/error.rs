//! One shape for everything that can go wrong: the rule, the offending value, where it came from, what to do.

use std::fmt;

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request was wrong: an unknown knob, a value outside its domain.
    Input,
    /// This machine can't: the kernel does not offer the interface, or refuses.
    Unsupported,
    /// The machine did not do, or no longer shows, what was asked.
    Drift,
}

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What the caller can do about it.
    pub kind: Kind,
    /// What must hold, as one sentence without a full stop.
    pub rule: String,
    /// The offending value as the user would recognise it.
    pub value: Option<String>,
    /// Where it came from: a knob id, a file.
    pub place: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A wrong request.
    pub fn input(rule: impl Into<String>) -> Self {
        Self::new(Kind::Input, rule)
    }

    /// Something that this machine can't do.
    pub fn unsupported(rule: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, rule)
    }

    /// A machine that did not do what was asked.
    pub fn drift(rule: impl Into<String>) -> Self {
        Self::new(Kind::Drift, rule)
    }

    fn new(kind: Kind, rule: impl Into<String>) -> Self {
        Self { kind, rule: rule.into(), value: None, place: None, hint: None }
    }

    /// The same error with the offending value.
    pub fn value(mut self, value: impl fmt::Display) -> Self {
        self.value = Some(value.to_string());
        self
    }

    /// The same error with its place; a known place is kept.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place.get_or_insert_with(|| place.to_string());
        self
    }

    /// The same error with what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    /// The error on one line: place, rule, value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.rule)?;
        match &self.value {
            Some(value) => write!(f, ", but got {value:?}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
