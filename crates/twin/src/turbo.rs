//! Turbo: how fast the cores of a package may run together.

use crate::profile::{Machine, Profile};
use crate::time::{CoreTime, IdleTime};

/// How often packages look at their cores at most: Haswell-EP changes frequencies every 500 us (Hackenberg et al., "An
/// Energy Efficiency Feature Survey of the Intel Haswell Processor", IPDPSW 2015), twice per such period.
const LEAST_WINDOW_US: f64 = 1_000.0;
/// Looks in the time of a mean service: more often would show nothing, and take long to simulate.
const LOOKS_PER_SERVICE: f64 = 50.0;

/// A core is active in idle states with at most this exit latency: C1 and C1E by intel_idle's tables. Deeper states give
/// their share of current and heat to other cores.
const ACTIVE_EXIT_US: f64 = 10.0;

/// All of a window, but for rounding.
const ALL: f64 = 0.999;

/// What every package lets its cores run at.
pub struct Turbo {
    /// The greatest P-state with one active core, two, and so on.
    limits: Vec<usize>,
    package_cores: usize,
    /// Idle states in which a core is not active.
    deep: std::ops::Range<usize>,
    /// The greatest P-state of each package.
    allowed: Vec<usize>,
}

impl Turbo {
    /// All cores active; `None` when the machine has no such limits, or none for cores that are pinned at P-state
    /// `pinned`.
    pub fn new(machine: &Machine, pinned: Option<usize>) -> Option<Self> {
        let step = |mhz: &f64| machine.freq_mhz.partition_point(|f| f <= mhz).saturating_sub(1);
        let limits: Vec<usize> = machine.turbo_mhz.iter().map(step).collect();
        let least = *limits.last()?;
        if pinned.is_some_and(|pinned| pinned <= least) {
            return None;
        }
        let allowed = vec![least; machine.packages()];
        let deep = machine.idle_states_within(ACTIVE_EXIT_US)..machine.idle_states.len();
        Some(Self { limits, package_cores: machine.package_cores(), deep, allowed })
    }

    /// How often packages of a server look at their cores.
    pub fn window_us(profile: &Profile) -> f64 {
        let fastest_mhz = profile.machine.freq_mhz[profile.machine.freq_mhz.len() - 1];
        let service_us = profile.app.request_us + 1e3 * profile.app.request_kcycles / fastest_mhz;
        f64::max(LEAST_WINDOW_US, service_us / LOOKS_PER_SERVICE)
    }

    /// Looks at what every core did since the last time: it was active unless all of that was deep idle time.
    pub fn look(&mut self, cores: &[CoreTime]) {
        let is_active = |time: &&CoreTime| {
            let us = |states: &[IdleTime]| states.iter().map(IdleTime::total_us).sum::<f64>();
            us(&time.idle[self.deep.clone()]) < ALL * (time.busy_us + us(&time.idle))
        };
        for (package, allowed) in cores.chunks(self.package_cores).zip(&mut self.allowed) {
            let active = package.iter().filter(is_active).count().clamp(1, self.limits.len());
            *allowed = self.limits[active - 1];
        }
    }

    /// What `core` runs at when it asks for P-state `asked`.
    pub fn allowed(&self, core: usize, asked: usize) -> usize {
        asked.min(self.allowed[core / self.package_cores])
    }
}
