//! A store in memory whose transactions are serializable, after Silo (Tu et al., "Speedy transactions in multicore
//! in-memory databases", SOSP 2013).
//!
//! ```text
//!   begin ──► read, get, scan ──► what was seen, and its version     no record is written
//!             update, put, remove ──► what is to be written          by this worker alone
//!   commit ─► 1. lock what is to be written, in one order            new keys appear, absent and locked
//!             2. read the epoch; is all that was seen as it was?     else unlock, and Conflict
//!             3. write under a TID above all seen, and unlock
//! ```
//!
//! Nothing waits for long: what another transaction holds for more than a moment is a [`Conflict`] too, and the caller
//! runs the transaction again, after others have had the core. So threads of whatever priority can't stop each other.
//!
//! A record is a [TID word](Tid) with the words of a [`Row`] behind it, all of them atomic: a reader that is overtaken by
//! a writer sees it by the TID word and reads again, without a race and without unsafe code.

mod array;
mod commit;
mod conflict;
#[allow(unsafe_code, reason = "lock_api asks for a promise")]
mod lock;
mod record;
mod row;
mod tid;
mod transaction;
mod tree;
mod worker;

pub use array::Array;
pub use conflict::Conflict;
pub(crate) use row::row;
pub use row::{Row, Text};
pub use tid::{EPOCH_US, Epoch, Tid};
pub use transaction::Transaction;
pub use tree::Tree;
pub use worker::Worker;
