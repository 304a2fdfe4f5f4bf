//! The one error type of the crate: whose fault it is, a rule, what broke it, where, and a hint.

use std::fmt;

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The plan asks for something that makes no sense.
    Plan,
    /// The server refuses, or does not speak the protocol.
    Server,
    /// The machine of the load generator has run out of something.
    Machine,
}

/// A plan that cannot be run, or a server that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// Whose fault it is.
    pub fault: Fault,
    /// The rule that must hold, such as "a ratio lies between 0 and 1".
    pub rule: String,
    /// The offending value as it was written.
    pub value: String,
    /// Where: a field of the plan, or a server.
    pub place: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl LoadError {
    /// A plan that cannot be run: `place` is the field.
    pub fn plan(rule: impl Into<String>, value: impl fmt::Display, place: impl Into<String>) -> Self {
        Self::new(Fault::Plan, rule, value, place)
    }

    /// A server that cannot be loaded: `place` is its address.
    pub fn server(rule: impl Into<String>, value: impl fmt::Display, place: impl Into<String>) -> Self {
        Self::new(Fault::Server, rule, value, place)
    }

    /// A resource of this machine that ran out.
    pub fn machine(rule: impl Into<String>, value: impl fmt::Display, place: impl Into<String>) -> Self {
        Self::new(Fault::Machine, rule, value, place)
    }

    fn new(fault: Fault, rule: impl Into<String>, value: impl fmt::Display, place: impl Into<String>) -> Self {
        Self { fault, rule: rule.into(), value: value.to_string(), place: place.into(), hint: String::new() }
    }

    /// The same error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, but got {}", self.place, self.rule, self.value)?;
        if !self.hint.is_empty() {
            write!(f, " (hint: {})", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadError {}
