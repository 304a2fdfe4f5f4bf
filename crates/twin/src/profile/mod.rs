//! What a modelled server is made of: a machine, an operating system, an application.
//!
//! A profile is a TOML file; these structures are its schema. Every key carries its unit as
//! its last word: `_us` microseconds, `_mhz` megahertz, `_w` watts, `_bytes`, `_share` a part
//! of one, `_kcycles` thousands of CPU cycles (so that `kcycles / GHz` are microseconds).
//! Unknown keys are refused and every number has a range (see [`limits`]).

pub mod app;
pub mod exchange;
pub mod limits;
pub mod machine;
pub mod os;
mod parse;
pub mod values;

use serde::{Deserialize, Serialize};

pub use app::{App, Arrivals};
pub use exchange::Exchange;
pub use machine::{IdleState, Machine, Nic, Power};
pub use os::{Dispatch, FrequencyPolicy, IdlePolicy, ModerationPolicy, Os};

/// A complete server: the machine, the operating system on it and the application it serves.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What people call this server, such as "memcached on Linux".
    pub name: String,
    /// The hardware.
    pub machine: Machine,
    /// The operating system: where work runs, what it costs, and the default policies.
    pub os: Os,
    /// The application and its clients.
    pub app: App,
    /// The closed loop, when the load is one message that goes back and forth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

impl Profile {
    /// Cores that serve requests, each with its own receive queue and application thread.
    pub fn serving_cores(&self) -> usize {
        self.machine.cores.saturating_sub(self.app.spare_cores).max(1)
    }
}
