//! What eBPF sees on a server: latency of a TCP server's requests, idle periods of its CPUs, interrupts of its NICs; and
//! where it may choose: which CPU a task wakes up on.
//!
//! ```text
//!   eBPF programs ──► [counters] ──► [histogram] ──► [window] ──► one line of JSON      bayop-probe
//!   (probe.bpf.c)                    + [wait]
//!   (idle.bpf.c)  ──► [stay] ──► a line of a trace                                      bayop-idle-record
//!   (count.bpf.c, experts.h) ──► [count] ──► one line of JSON                           bayop-idle-count
//!   (balance.bpf.c) ──► a line of JSON a window                                         bayop-idle-balance
//!   (interrupts.bpf.c) ──► records, whose numbers [interrupt] places                    bayop-interrupts-record
//! ```
//!
//! This library is the pure half: what the programs counted becomes quantiles, with the wait before the interrupt added
//! where it has to be modelled, and what they recorded becomes traces. The binaries (feature `ebpf`) attach the programs
//! and print; [`ebpf`] is what they share, [`cost`] what all that takes, and [`recording`] what the recorders do.
//!
//! What is seen on the server alone is less than what clients see, by the time a packet waits for its interrupt:
//! exactly what interrupt moderation lengthens. Every window says from where it was seen, `server` or `server+wait`.

#[cfg(feature = "ebpf")]
pub mod cost;
pub mod count;
pub mod counters;
pub mod cpus;
#[cfg(feature = "ebpf")]
pub mod ebpf;
pub mod histogram;
pub mod interrupt;
#[cfg(feature = "ebpf")]
pub mod recording;
pub mod stay;
pub mod wait;
pub mod window;
