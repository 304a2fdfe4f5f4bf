//! One shape for every refusal: the rule, the offending value, where it came from, what to do.

use std::fmt;
use std::io;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
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
    /// This machine can't.
    Unsupported,
    /// The machine did not do, or no longer shows, what was asked.
    Drift,
}

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Error {
    /// What the caller can do about it.
    pub kind: Kind,
    /// What must hold, as one sentence without a full stop.
    pub rule: String,
    /// The offending value as the user would recognise it.
    #[schema(required)]
    pub value: Option<String>,
    /// Where it came from: a knob, a file with its line.
    #[schema(required)]
    pub place: Option<String>,
    /// What to do about it.
    #[schema(required)]
    pub hint: Option<String>,
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A rule of that kind.
    pub fn new(kind: Kind, rule: impl Into<String>) -> Self {
        Self { kind, rule: rule.into(), value: None, place: None, hint: None }
    }

    /// A wrong request.
    pub fn input(rule: impl Into<String>) -> Self {
        Self::new(Kind::Input, rule)
    }

    /// A refusal by the allow-list, the mode or the access rules.
    pub fn forbidden(rule: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, rule)
    }

    /// A request that somebody or something else stands against.
    pub fn conflict(rule: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, rule)
    }

    /// Something that this machine can't do.
    pub fn unsupported(rule: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, rule)
    }

    /// A machine that did not do what was asked.
    pub fn drift(rule: impl Into<String>) -> Self {
        Self::new(Kind::Drift, rule)
    }

    /// A file operation that failed.
    pub fn file(rule: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::unsupported(format!("{rule} ({error})")).at(path.display())
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

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::Drift => 3,
            Kind::Unsupported => 4,
            Kind::Input | Kind::Forbidden | Kind::NotFound | Kind::Conflict | Kind::TooLarge => 2,
        })
    }
}

impl From<bayop_knobs::Error> for Error {
    fn from(error: bayop_knobs::Error) -> Self {
        let kind = match error.kind {
            bayop_knobs::error::Kind::Input => Kind::Input,
            bayop_knobs::error::Kind::Unsupported => Kind::Unsupported,
            bayop_knobs::error::Kind::Drift => Kind::Drift,
        };
        Self { kind, rule: error.rule, value: error.value, place: error.place, hint: error.hint }
    }
}

impl fmt::Display for Error {
    /// Place, rule and value on one line; the hint on a second one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.rule)?;
        if let Some(value) = &self.value {
            write!(f, ", but got {value:?}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
