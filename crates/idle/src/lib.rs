//! Idle governors: how deeply a core sleeps, chosen from what a kernel knows when the core goes idle.
//!
//! ```text
//!   packets came    ──► arrivals(when, how many)
//!   core goes idle  ──► select(states, what is known) ──► state, timer of its own, tick or not
//!   core runs again ──► reflect(states, how long, what woke it)
//! ```
//!
//! A [`Governor`] is told the past and the present, never the length of the period to come. There is no clock in here,
//! no allocation, no floating point and no `std`, so that whatever has a core to put to sleep can use the same governor:
//! a [`replay`](replay::replay) of recorded periods, a library OS, a kernel. [`follow`](follow::follow) holds one against the
//! choices that a kernel has made.
//!
//! Times are whole microseconds. Energies are relative to a core that polls: [`UNIT`] is what that takes in 1 us.

#![no_std]

mod bayop;
mod fixed;
pub mod follow;
mod governor;
mod haltpoll;
mod ladder;
mod menu;
pub mod replay;
mod states;
mod teo;
mod yawn;

pub use bayop::{BayOp, Plans, Shadow, Slo};
pub use fixed::Fixed;
pub use governor::{Choice, Governor, Slept, View, Waker};
pub use haltpoll::Haltpoll;
pub use ladder::Ladder;
pub use menu::{Menu, MenuOf};
pub use states::{MAX_STATES, Rule, State, States, UNIT};
pub use teo::Teo;
pub use yawn::{Expert, Experts, Faults, NetworkExpert, ResidencyExpert, Yawn};

/// From one tick of the kernel to the next, as distributions build it (`CONFIG_HZ=250`).
pub const TICK_US: u32 = 4_000;
