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
mod names;
mod never;
pub mod os;
mod parse;
pub mod values;

use serde::{Deserialize, Serialize};

pub use app::{App, Arrivals};
pub use exchange::{Acknowledgement, Exchange};
pub use machine::{IdleState, Machine, Nic, Power};
pub use os::{Dispatch, FrequencyPolicy, IdlePolicy, ModerationPolicy, Os, WakeBalancer};

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
    /// Cores that could serve but have no receive queue: they idle. No file has them, a setting does
    /// ([`Profile::with_queues`]).
    #[serde(skip)]
    pub parked_cores: usize,
}

impl Profile {
    /// Cores that serve requests, each with its own receive queue and application thread.
    pub fn serving_cores(&self) -> usize {
        self.cpus().saturating_sub(self.app.spare_cores + self.parked_cores).max(1)
    }

    /// What the operating system takes for cores: hyperthreads, when it uses them.
    pub fn cpus(&self) -> usize {
        self.machine.cores * self.threads_per_core()
    }

    /// Threads of a core that the operating system uses.
    pub fn threads_per_core(&self) -> usize {
        if self.os.hyperthreads { self.machine.threads_per_core } else { 1 }
    }

    /// The same server with `queues` receive queues, each with a core that takes its interrupts and serves; the other
    /// cores are parked.
    ///
    /// More connections share a queue then: more requests can wait in it, and hashing spreads load more evenly, with
    /// the relative standard deviation `sqrt(queues / connections)` of a multinomial.
    pub fn with_queues(&self, queues: usize) -> Self {
        let mut server = self.clone();
        let share = queues as f64 / self.serving_cores() as f64;
        server.parked_cores = self.parked_cores + self.serving_cores() - queues;
        server.app.queue_limit = ((self.app.queue_limit as f64 / share) as usize).min(limits::MAX_QUEUE);
        server.app.queue_imbalance_share = self.app.queue_imbalance_share * share.sqrt();
        server
    }
}
