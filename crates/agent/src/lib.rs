//! `bayop-agent`: the privileged daemon that reads sensors and applies settings.
//!
//! It runs as root, does little, and leaves no machine changed behind. From the inside out:
//!
//! - [`durable`]: a file that is either the old one or the new one after a power cut; [`fault`]: where tests kill it.
//! - [`journal`]: the originals of everything that was changed, on disk before the first write.
//! - [`undo`]: putting back what was read before; [`hold`]: what is held, applied all or nothing, and restored.
//! - [`lease`]: who may write, until when. Pure: time is an argument.
//! - [`allow_list`] and [`config`]: what may be written at all, from a file that only root can change.
//! - [`calibration`]: what a network driver really does with the delay that it is asked for.
//! - [`agent`]: all of these joined: one machine, its knobs and its sensors.
//! - [`api`], [`metrics`] and [`server`]: the agent behind HTTP/1.1 and JSON on a Unix socket or mutual TLS.
//!
//! Only `bayop-knobs` touches the kernel's interfaces.

pub mod agent;
pub mod allow_list;
pub mod api;
pub mod calibration;
pub mod config;
pub mod durable;
pub mod fault;
pub mod hold;
pub mod journal;
pub mod knobs;
pub mod lease;
pub mod lock;
pub mod log;
pub mod metrics;
pub mod own;
pub mod server;
pub mod undo;
