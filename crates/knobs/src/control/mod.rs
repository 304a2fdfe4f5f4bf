//! One kernel attribute each: how to read it, write it, and undo a write by hand.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::host::Host;

/// The address of one kernel attribute that a knob writes.
///
/// Serialisable, because a journal of originals must still name it after a crash. Values are the kernel's own text
/// (`2900000` in `scaling_setspeed`), so that what was read can be written back unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Control {
    /// A file of sysfs or procfs, by its path without the leading slash.
    File {
        /// Such as `sys/devices/system/cpu/cpufreq/policy0/scaling_governor`.
        path: String,
    },
}

/// One write of a plan: a control and the kernel's text for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Where.
    pub control: Control,
    /// What, as the kernel spells it.
    pub text: String,
}

impl Control {
    /// A sysfs or procfs file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into() }
    }

    /// What the attribute holds now, as the kernel spells it.
    ///
    /// # Errors
    /// The kernel does not offer it (any more) or refuses.
    pub fn read(&self, host: &Host) -> Result<String> {
        match self {
            Self::File { path } => host.read(path),
        }
    }

    /// Writes the kernel's text. Says nothing about what is in effect afterwards: read it back.
    ///
    /// # Errors
    /// The kernel does not offer the attribute (any more) or refuses the value.
    pub fn write(&self, host: &Host, text: &str) -> Result<()> {
        match self {
            Self::File { path } => host.write(path, text),
        }
    }

    /// The shell command that writes `text`, for a person who restores a machine without BayOp.
    pub fn command(&self, text: &str) -> String {
        match self {
            Self::File { path } => format!("echo {} > /{path}", quoted(text)),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(f, "/{path}"),
        }
    }
}

/// `text` as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
