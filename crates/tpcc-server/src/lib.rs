//! TPC-C as a service of Linux: `bayop_tpcc::service` behind sockets.
//!
//! ```text
//!   accept ──► hands each connection to the next worker          server
//!   worker ──► epoll; reads what is there, answers it whole      worker, connection
//!   service ─► bytes in, transactions, bytes out                 crates/tpcc
//! ```
//!
//! A worker is a thread with warehouses of its own, and runs a connection's transactions to completion.
#![forbid(unsafe_code)]

mod connection;
mod server;
mod worker;

pub use server::serve;
