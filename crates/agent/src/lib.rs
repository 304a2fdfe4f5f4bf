//! `bayop-agent`: the privileged daemon that reads sensors and applies settings.
//!
//! It runs as root, does little, and leaves no machine changed behind. From the inside out:
//!
//! - [`durable`]: a file that is either the old one or the new one after a power cut; [`fault`]: where tests kill it.
//! - [`files`]: files and folders that nobody but root can change or lead elsewhere; [`lock`]: one writer of each.
//! - [`journal`]: the originals of everything that was changed, on disk before the first write.
//! - [`undo`]: putting back what was read before; [`devices`]: each device apart, within a deadline; [`hold`]: what is
//!   held, applied all or nothing, and restored.
//! - [`bayop_core::lease`]: who may write, until when. Pure: time is an argument, and [`clock`] has it. [`token`]: what
//!   proves it.
//! - [`latency`]: what clients see, as it is pushed; [`guard`]: the conditions that a setting is held under, pure too.
//! - [`recordings`] and [`stays`]: interrupts recorded, and stays in idle states counted, as long as somebody asks, by
//!   programs that may load eBPF.
//! - [`peer`]: who asks, and what they may; [`allow_list`] and [`config`]: what may be written at all.
//! - [`calibration`]: what a network driver really does with the delay that it is asked for.
//! - [`knobs`], [`readings`], [`examination`], [`own`] and [`metrics`]: what the machine and the agent show of
//!   themselves.
//! - [`agent`]: all of these joined: one machine, its knobs and its sensors, asked and answering in [`messages`].
//! - [`api`] and [`server`]: the agent behind HTTP/1.1 and JSON on a Unix socket or mutual TLS.
//!
//! Each uses only what stands above it.
//!
//! Only `bayop-knobs` touches the kernel's interfaces. Whatever is said on standard error goes through [`log`].

#![deny(clippy::print_stderr)]

pub mod agent;
pub mod allow_list;
pub mod api;
pub mod calibration;
pub mod clock;
pub mod config;
pub mod devices;
pub mod durable;
pub mod examination;
pub mod fault;
pub mod files;
pub mod guard;
mod helper;
pub mod hold;
pub mod journal;
pub mod knobs;
pub mod latency;
pub mod lock;
pub mod log;
pub mod messages;
pub mod metrics;
pub mod own;
pub mod peer;
pub mod readings;
pub mod recordings;
pub mod server;
pub mod stays;
pub mod token;
pub mod undo;
