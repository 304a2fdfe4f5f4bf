//! Why a transaction is tried again.

use core::error::Error;
use core::fmt;

/// Another transaction was faster: what this one had read is not so any more, or something that it needs is taken.
///
/// Nothing of it is in the store. Whoever wants it done runs it again, and lets others have the core first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another transaction was faster; this one must be run again")
    }
}

impl Error for Conflict {}
