//! One shape for everything that can go wrong, as python/bayop/errors.py has it for Python.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;

use crate::quote::Quoted;

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub enum Kind {
    /// The request was wrong.
    Input,
    /// The allow-list, the mode or the access rules say no.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// Somebody else writes, or the knob is latched or stood down.
    Conflict,
    /// The body is larger than any request.
    TooLarge,
    /// Somebody else does not do their part, such as a server that is down.
    Failed,
    /// This machine can't.
    Unsupported,
    /// The machine did not do, or no longer shows, what was asked.
    Drift,
}

impl Kind {
    /// As JSON and Python have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Failed => "failed",
            Self::Unsupported => "unsupported",
            Self::Drift => "drift",
        }
    }

    /// The status with which HTTP answers it.
    pub fn http_status(self) -> u16 {
        match self {
            Self::Input => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::Failed | Self::Unsupported | Self::Drift => 502,
        }
    }
}

/// What is wrong, the rule, where it came from, what to do.
///
/// No error states a rule alone: it is made of [what happened](Error::new), or of [a value](Error::cannot_use) that
/// breaks a rule.
///
/// ```
/// use bayop_core::Error;
///
/// let error = Error::cannot_use("50W", "rx_usecs must be microseconds").at("nic.rx_usecs").hint("50us");
/// assert_eq!(error.to_string(), "cannot use '50W': rx_usecs must be microseconds (nic.rx_usecs)");
/// assert_eq!(error.report(), format!("error: {error}\nhint: 50us"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema))]
pub struct Error {
    /// What the caller can do about it.
    pub kind: Kind,
    /// What happened; null when that is just a value that can't be used.
    #[cfg_attr(feature = "utoipa", schema(required, value_type = Option<String>))]
    pub wrong: Option<Box<str>>,
    /// What must hold, as one sentence without a full stop; null where `wrong` alone says it.
    #[cfg_attr(feature = "utoipa", schema(required, value_type = Option<String>))]
    pub rule: Option<Box<str>>,
    /// The offending value as the user would recognise it.
    #[cfg_attr(feature = "utoipa", schema(required, value_type = Option<String>))]
    pub value: Option<Box<str>>,
    /// Where it came from: a knob, a file with its line.
    #[cfg_attr(feature = "utoipa", schema(required, value_type = Option<String>))]
    pub place: Option<Box<str>>,
    /// What to do about it.
    #[cfg_attr(feature = "utoipa", schema(required, value_type = Option<String>))]
    pub hint: Option<Box<str>>,
}

/// The result of everything that can fail.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// What happened: "cannot read nope.csv: no such file".
    pub fn new(kind: Kind, wrong: impl Into<Box<str>>) -> Self {
        Self { kind, wrong: Some(wrong.into()), rule: None, value: None, place: None, hint: None }
    }

    /// A value that breaks a rule: "cannot use 'x': the value must be a number".
    pub fn cannot_use(value: impl fmt::Display, rule: impl Into<Box<str>>) -> Self {
        let (value, rule) = (Some(value.to_string().into()), Some(rule.into()));
        Self { kind: Kind::Input, wrong: None, rule, value, place: None, hint: None }
    }

    /// A value that this machine shows and nobody can use.
    pub fn malformed(value: impl fmt::Display, rule: impl Into<Box<str>>) -> Self {
        Self { kind: Kind::Unsupported, ..Self::cannot_use(value, rule) }
    }

    /// A wrong request.
    pub fn input(wrong: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Input, wrong)
    }

    /// A refusal by the allow-list, the mode or the access rules.
    pub fn forbidden(wrong: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Forbidden, wrong)
    }

    /// A request that somebody or something else stands against.
    pub fn conflict(wrong: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Conflict, wrong)
    }

    /// Something that somebody else did not do.
    pub fn failed(wrong: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Failed, wrong)
    }

    /// Something that this machine can't do.
    pub fn unsupported(wrong: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Unsupported, wrong)
    }

    /// A machine that did not do what was asked.
    pub fn drift(wrong: impl Into<Box<str>>) -> Self {
        Self::new(Kind::Drift, wrong)
    }

    /// The same error of another kind.
    pub fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error with what must hold, as one sentence with "must".
    pub fn rule(mut self, rule: impl Into<Box<str>>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// The same error with the offending value.
    pub fn value(mut self, value: impl fmt::Display) -> Self {
        self.value = Some(value.to_string().into());
        self
    }

    /// The same error with its place; a known place is kept.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place.get_or_insert_with(|| place.to_string().into());
        self
    }

    /// The same error with what to do.
    pub fn hint(mut self, hint: impl Into<Box<str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error as a command line prints it: two lines, of which the second says what to do, where that is known.
    pub fn report(&self) -> String {
        match &self.hint {
            Some(hint) => format!("error: {self}\nhint: {hint}"),
            None => format!("error: {self}"),
        }
    }

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Failed => 1,
            Kind::Drift => 3,
            Kind::Unsupported | Kind::Forbidden | Kind::Conflict => 4,
            Kind::Input | Kind::NotFound | Kind::TooLarge => 2,
        }
    }
}

impl fmt::Display for Error {
    /// The error on one line: what is wrong, the rule, and the place, unless what is wrong names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.wrong, &self.value) {
            (Some(wrong), _) => f.write_str(wrong)?,
            (None, Some(value)) => write!(f, "cannot use {}", Quoted(value))?,
            (None, None) => {}
        }
        if let Some(rule) = &self.rule {
            let between = if self.wrong.is_some() { "; " } else { ": " };
            write!(f, "{between}{rule}")?;
        }
        match &self.place {
            Some(place) if !self.wrong.as_ref().is_some_and(|wrong| names(wrong, place)) => write!(f, " ({place})"),
            _ => Ok(()),
        }
    }
}

/// Whether a text has `place` in it, and not as a part of a longer name.
fn names(text: &str, place: &str) -> bool {
    let is_longer =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || "_-".contains(letter));
    text.match_indices(place).any(|(at, _)| {
        !is_longer(text[..at].chars().next_back()) && !is_longer(text[at + place.len()..].chars().next())
    })
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_comes_first() {
        let wrong = Error::conflict("the lease is over");
        assert_eq!(wrong.to_string(), "the lease is over");
        let ruled = wrong.rule("a lease must be renewed every 10 s").value(12).at("lease").at("elsewhere");
        assert_eq!(ruled.to_string(), "the lease is over; a lease must be renewed every 10 s");
        assert_eq!(ruled.report(), "error: the lease is over; a lease must be renewed every 10 s");
        assert_eq!(Error::input("the leases are over").at("lease").to_string(), "the leases are over (lease)");
        assert_eq!(
            Error::cannot_use(-1, "a rate must be positive").to_string(),
            "cannot use '-1': a rate must be positive"
        );
    }
}
