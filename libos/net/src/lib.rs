//! The network of the library OS: frames in, frames out, and services in between.
//!
//! ```text
//!   device ──► stack ──► tcp ──► service       frames, segments, bytes
//!     virtio     arp       a connection's machine, the table of them, a wheel of timers
//!                icmp
//!                udp ─────────► service       datagrams
//! ```
//!
//! [`wire`] reads and writes headers, [`tcp`] is RFC 9293's machine, [`stack`] joins them. None of these reads a clock
//! or touches a device: time and frames are arguments, so that they run and are tested on Linux too. What a segment
//! costs does not depend on how many connections there are.
//!
//! Not supported: IPv6, fragments, options of IP, those of TCP but MSS, window scale and SACK, connections that we open.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod device;
#[cfg(target_arch = "x86_64")]
pub mod driver;
mod random;
pub mod service;
pub mod stack;
pub mod tcp;
pub mod wire;
