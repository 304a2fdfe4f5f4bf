//! What every crate of BayOp shares: the [error](Error), and a [histogram](Histogram).

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod error;
#[cfg(feature = "std")]
mod file;
mod histogram;
mod quote;

pub use error::{Error, Kind, Result};
#[cfg(feature = "std")]
pub use file::reason;
pub use histogram::{Bucket, Histogram};
