//! The knobs and sensors of a Linux server.
//!
//! The only crate that touches `/sys`, `/proc`, netlink and MSRs, but for what eBPF programs are told of the machine that
//! they look at (`probe`). From the outside in:
//!
//! - [`catalogue`]: what every knob is, as data: unit, domain, kernel interface, hazards, source.
//! - [`knob`]: the knobs that this machine has. An [`knob::Instance`] is one knob in one place
//!   (`nic.rx_usecs@eth0`); it reads a [`Value`] in the knob's unit and plans the writes that set it.
//! - [`control`]: one kernel attribute each (a sysfs file, a coalescing parameter, an MSR), with how to read it, write
//!   it and undo a write by hand. Whoever writes saves what [`control::Control::read`] gave first.
//! - [`network`]: coalescing and NAPI deferral of network devices, by netlink and ioctl.
//! - [`sensor`]: what the machine shows: energy, utilization, interrupts, idle states, as [`sensor::Reading`]s.
//! - [`doctor`]: what the machine lets BayOp control and measure, and what to do about the rest.
//! - [`idle_states`]: the kernel's table of idle states.
//! - [`serving`]: what the machine serves, and through which network device.
//! - [`sysfs`]: its folders, and its units in ours.
//! - [`host`]: where the kernel's interfaces are: the live machine, or a recorded one, unpacked by [`tree`].
//! - [`recording`]: a machine as such a text, with no more in it than BayOp looks at.
//!
//! Nothing here decides whether a write is allowed, remembers an original or restores one: that is the agent's work.

pub mod catalogue;
pub mod control;
pub mod doctor;
pub mod host;
pub mod idle_states;
pub mod knob;
pub mod network;
mod overwrite;
pub mod recording;
mod refusal;
pub mod sensor;
pub mod serving;
pub mod sysfs;
pub mod tree;
pub mod value;

pub use host::Host;
pub use value::{KnobValue, Value};
