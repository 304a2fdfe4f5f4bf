//! What every crate of BayOp shares: the [error](Error), a [histogram](Histogram), and the right to write, a [lease].

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "serde")]
mod each_once;
mod error;
#[cfg(feature = "std")]
mod file;
mod histogram;
pub mod lease;
mod quote;

#[cfg(feature = "serde")]
pub use each_once::each_once;
pub use error::{Error, Kind, Result};
#[cfg(feature = "std")]
pub use file::{open_regular, reason};
pub use histogram::{Bucket, Histogram};
