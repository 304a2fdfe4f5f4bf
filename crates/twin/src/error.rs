//! The one error type of the crate: a rule, what broke it, where, and a hint.

use std::fmt;

/// A profile, setting or run that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    /// The rule that must hold, such as "must be between 0 and 1000 us".
    pub rule: String,
    /// The offending value as it was written.
    pub value: String,
    /// Where: file, line and key as far as known.
    pub place: String,
    /// What to do about it; may be empty.
    pub hint: String,
}

impl ProfileError {
    /// An error without a hint.
    pub fn new(rule: impl Into<String>, value: impl Into<String>, place: impl Into<String>) -> Self {
        Self { rule: rule.into(), value: value.into(), place: place.into(), hint: String::new() }
    }

    /// The same error with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, but got {}", self.place, self.rule, self.value)?;
        if !self.hint.is_empty() {
            write!(f, " (hint: {})", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProfileError {}
