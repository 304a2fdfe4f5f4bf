//! A machine's table of idle states (Documentation/admin-guide/pm/cpuidle.rst, "Representation of Idle States").

use crate::host::Host;
use crate::sysfs::CPUS;
use bayop_core::{Error, Result};

/// What the kernel says of one idle state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Its name, such as `C1E`.
    pub name: String,
    /// Worst case of the time from the wake-up to the first instruction.
    pub exit_latency_us: u32,
    /// Shortest stay that saves energy against the next shallower state.
    pub target_residency_us: u32,
}

/// The idle states of the first CPU, from the shallowest to the deepest.
pub fn idle_states(host: &Host) -> Result<Vec<IdleState>> {
    let table = format!("{CPUS}/cpu0/cpuidle");
    let mut states = Vec::new();
    while host.has(&format!("{table}/state{}/latency", states.len())) {
        let folder = format!("{table}/state{}", states.len());
        let number = |attribute: &str| {
            let file = format!("{folder}/{attribute}");
            let text = host.read(&file)?;
            text.parse().map_err(|_| Error::malformed(&text, "it must be a whole number of us").at(format!("/{file}")))
        };
        states.push(IdleState {
            name: host.read(&format!("{folder}/name"))?,
            exit_latency_us: number("latency")?,
            target_residency_us: number("residency")?,
        });
    }
    if states.is_empty() {
        return Err(Error::unsupported("the kernel shows no idle states").at(format!("/{table}")));
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_cpuidle_says_so() {
        let folder = std::env::temp_dir().join(format!("bayop-idle-states-{}", std::process::id()));
        let error = idle_states(&Host::recorded(folder)).unwrap_err();
        assert!(error.to_string().contains("no idle states"), "{error}");
    }
}
