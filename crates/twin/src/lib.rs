//! A digital twin of a server: a discrete-event model of interrupt moderation, CPU frequency,
//! idle states, power and tail latency.
//!
//! ```text
//!   clients ──► receive queues (one per core, RSS) ──► interrupt ──► application ──► response
//!               [arrivals]        [moderation]         [engine]      [costs]        [network]
//!                                                        │ nothing to do
//!                                                        ▼
//!                                                 idle state [idle]     frequency [frequency]
//!                                                        └──────► power [power] ◄──────┘
//! ```
//!
//! A [`Profile`] says what the server is made of, a [`Run`] what is asked of it, and
//! [`simulate`] answers with a [`Measurement`]. The crate is pure: simulated time and the seed
//! are arguments, nothing reads a clock, a file or a global generator, and the same run gives
//! the same measurement on every machine and with any number of threads.
//!
//! Sources named in the docs: \[D\] Dong et al., "Taming and Controlling Performance and Energy
//! Trade-offs Automatically in Network Applications"; Linux 5.5 for driver, governors and their
//! constants; the published measurements of \[D\] (`data/study_memcached.csv` and
//! `data/study_silo.csv`) for every fitted number.
//!
//! Not modelled: packet loss and retransmission, NUMA distance, thermal throttling, and memory or
//! network power.

mod arrivals;
mod balance;
mod batch;
mod costs;
mod engine;
mod frequency;
mod histogram;
mod idle;
mod knob;
mod measure;
mod moderation;
mod network;
mod normal;
mod power;
pub mod profile;
mod rng;
mod run;
mod service;
mod setting;
mod siblings;
mod time;
mod turbo;

pub use batch::{Stopped, simulate_batch};
pub use engine::simulate;
pub use knob::{Domain, Knob};
pub use measure::{IdleStateUse, Measurement, QUANTILES};
pub use power::Energy;
pub use profile::Profile;
pub use profile::values::Override;
pub use run::{Length, Load, Run};
pub use setting::Setting;
