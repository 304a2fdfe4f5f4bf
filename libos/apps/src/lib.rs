//! Services of the library OS.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod echo;
pub mod hello;
pub mod memcached;
pub mod tpcc;
