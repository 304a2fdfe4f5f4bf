//! What may be recorded, and what that may take.

use std::path::PathBuf;

use bayop_core::{Error, Result};
use serde::Deserialize;

/// So that it fits into the memory that the agent's unit has, with all else.
const MOST_KEPT_MB: u64 = 24;

/// The `[interrupts]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Where the recorder listens.
    #[serde(default = "default_recorder")]
    pub recorder: PathBuf,
    /// The network devices whose interrupts may be recorded.
    pub devices: Vec<String>,
    /// How much memory the newest records of all devices together may take, in MB.
    #[serde(default = "default_keep_mb")]
    pub keep_mb: u64,
    /// A device that interrupts more often is not recorded any further: what recording takes grows with it.
    #[serde(default = "default_most_per_s")]
    pub most_per_s: u64,
}

fn default_recorder() -> PathBuf {
    "/run/bayop/recorder.sock".into()
}

fn default_keep_mb() -> u64 {
    16
}

fn default_most_per_s() -> u64 {
    100_000
}

impl Quota {
    /// Refuses what can't be meant.
    ///
    /// # Errors
    /// A number is out of bounds, or the path is relative.
    pub fn check(&self) -> Result<()> {
        for (key, value, most) in [("keep_mb", self.keep_mb, MOST_KEPT_MB), ("most_per_s", self.most_per_s, 10_000_000)]
        {
            if !(1..=most).contains(&value) {
                return Err(Error::cannot_use(value, format!("{key} must be from 1 to {most}")));
            }
        }
        if self.devices.is_empty() {
            return Err(Error::input("devices names none").rule("there must be one at least"));
        }
        if !self.recorder.is_absolute() {
            return Err(Error::cannot_use(self.recorder.display(), "recorder must be an absolute path"));
        }
        Ok(())
    }
}
