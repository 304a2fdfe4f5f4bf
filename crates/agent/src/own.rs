//! The agent itself: which it is, and what it costs.

use bayop_knobs::Host;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::Serialize;
use utoipa::ToSchema;

use bayop_core::{Error, Result};

/// The agent's version; a build that can be told to die says so.
pub const VERSION: &str = if cfg!(feature = "fault-points") {
    concat!(env!("CARGO_PKG_VERSION"), "+fault-points")
} else {
    env!("CARGO_PKG_VERSION")
};

/// What the agent itself costs.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Own {
    /// Processor time, user and system.
    pub cpu_s: f64,
    /// Resident memory.
    pub rss_bytes: u64,
}

/// The processor time and the resident memory of this process so far.
///
/// # Errors
/// The kernel does not say.
pub fn cost() -> Result<Own> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).map_err(|error| {
        Error::unsupported(format!("the kernel does not say what a process costs: {}", error.desc()))
    })?;
    let cpu_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Own { cpu_s: cpu_us as f64 / 1e6, rss_bytes: rss_bytes()? })
}

/// `VmRSS` of /proc/self/status (Documentation/filesystems/proc.rst), which is in kB of 1024 bytes.
fn rss_bytes() -> Result<u64> {
    let status = Host::live().read("proc/self/status")?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
    let kib: Option<u64> = rss.and_then(|kib| kib.trim().parse().ok());
    Ok(kib.ok_or_else(|| Error::unsupported("the status of the process has no VmRSS").at("/proc/self/status"))? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_time_and_memory_is_in_bytes() {
        let before = cost().unwrap();
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 50 {
            std::hint::spin_loop();
        }
        assert!(cost().unwrap().cpu_s > before.cpu_s);
        assert!(before.rss_bytes > 1 << 20 && before.rss_bytes < 1 << 32);
    }
}
