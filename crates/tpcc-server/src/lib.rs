//! TPC-C as a service of Linux: each GET of memcached's binary protocol runs one transaction of the mix, whatever its key.
//!
//! ```text
//!   accept ──► hands each connection to the next worker          server
//!   worker ──► epoll; reads what is there, answers it whole      worker, connection
//!   answers ─► bytes in, bytes out; no I/O, no clock             protocol, answers
//!   service ─► draws a request and runs it until it commits      service (crates/tpcc)
//! ```
//!
//! A worker is a thread with warehouses of its own, and runs a connection's transactions to completion. So does the
//! service that [D] tunes: silo behind memcached's binary protocol.
#![forbid(unsafe_code)]

mod answers;
mod connection;
mod counts;
pub mod protocol;
mod server;
mod service;
mod worker;

pub use answers::{Ending, answer};
pub use counts::Counts;
pub use server::serve;
pub use service::{Done, Service, populate};
