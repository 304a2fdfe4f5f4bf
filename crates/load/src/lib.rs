//! An open-loop load generator.
//!
//! Every request has an intended send time that an arrival process draws ahead of it ([`arrivals`]), and its latency
//! counts from that time, whatever the server or the generator's own queue does: a server that stalls is charged for
//! every request that was due meanwhile (no coordinated omission). How late the generator itself was is measured too,
//! so that a result from an overloaded generator can be told from one of an overloaded server.
//!
//! A [`plan::Plan`] says what to do. [`preload::preload`] stores the records, [`run::run`] runs the plan, and the
//! resulting [`report::Report`] merges exactly with those of other machines. [`interval::quantile`] reads latency
//! quantiles with confidence intervals off it.
//!
//! The timing loop ([`worker`]) is the only place that looks at a clock or waits.

pub mod arrivals;
pub mod body;
pub mod clock;
pub mod connection;
pub mod connections;
pub mod distribution;
pub mod header;
pub mod histogram;
mod http2;
pub mod http_request;
mod input;
pub mod interval;
mod link;
mod links;
mod login;
pub mod mix;
pub mod plan;
mod poller;
pub mod popularity;
pub mod preload;
pub mod protocol;
pub mod received;
pub mod recorder;
pub mod records;
pub mod report;
pub mod run;
pub mod server;
pub mod sql_query;
pub mod summary;
pub mod tls;
pub mod trace;
pub mod worker;
