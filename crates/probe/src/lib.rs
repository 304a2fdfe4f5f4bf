//! Latency of a TCP server's requests, seen on the server.
//!
//! ```text
//!   eBPF programs ──► [counters] ──► [histogram] ──► [window] ──► one line of JSON
//!   (probe.bpf.c)                    + [wait]
//! ```
//!
//! This library is the pure half: what the programs counted becomes quantiles, with the wait before the interrupt added
//! where it has to be modelled. The binary `bayop-probe` (feature `ebpf`) attaches the programs and prints the windows.
//!
//! What is seen on the server alone is less than what clients see, by the time a packet waits for its interrupt:
//! exactly what interrupt moderation lengthens. Every window says from where it was seen, `server` or `server+wait`.

pub mod counters;
pub mod histogram;
pub mod wait;
pub mod window;
