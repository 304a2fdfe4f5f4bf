//! The machine's cores, as the runtime wants them: what images have in common.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod core;
mod pace;

pub use crate::core::MachineCore;
pub use crate::pace::Pace;
