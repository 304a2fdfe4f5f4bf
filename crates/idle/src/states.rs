//! The idle states (C-states) of a machine: what a kernel's table says of them, and what they cost.

use core::ops::Deref;

/// States a table can hold, as many as Linux allows (`CPUIDLE_STATE_MAX`).
pub const MAX_STATES: usize = 10;

/// Energy that a polling core takes in 1 us, and its power: energies and powers are multiples of 1 / `UNIT` of them.
pub const UNIT: u32 = 1 << 10;

/// One idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Worst case of the time from the wake-up to the first instruction. Zero: a loop that polls.
    pub exit_latency_us: u32,
    /// Shortest stay that saves energy against the next shallower state.
    pub target_residency_us: u32,
    /// Power in the state, at most [`UNIT`].
    pub power: u32,
    /// Energy of entering and leaving it.
    pub transition: u64,
}

impl State {
    /// Energy of a stay.
    #[inline]
    pub fn energy(&self, length_us: u32) -> u64 {
        self.transition + u64::from(self.power) * u64::from(length_us)
    }
}

/// The states of a machine, from the shallowest to the deepest and at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States {
    states: [State; MAX_STATES],
    count: usize,
}

/// What a table of states breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It must have 1 to [`MAX_STATES`] states.
    Count,
    /// Exit latency and target residency must not fall from one state to the next.
    Depth,
    /// Power must not rise from one state to the next, and be at most [`UNIT`].
    Power,
}

impl States {
    /// States by exit latency, target residency and power.
    ///
    /// What entering and leaving costs follows from the definition of the target residency: after it, a state has taken
    /// as much energy as the next shallower one.
    pub fn new(rows: &[(u32, u32, u32)]) -> Result<Self, Rule> {
        if rows.is_empty() || rows.len() > MAX_STATES {
            return Err(Rule::Count);
        }
        let mut states = [State::default(); MAX_STATES];
        let mut before = State { power: UNIT, ..State::default() };
        for (state, &(exit_latency_us, target_residency_us, power)) in states.iter_mut().zip(rows) {
            if exit_latency_us < before.exit_latency_us || target_residency_us < before.target_residency_us {
                return Err(Rule::Depth);
            }
            let saved = before.power.checked_sub(power).ok_or(Rule::Power)?;
            let transition = before.transition + u64::from(saved) * u64::from(target_residency_us);
            *state = State { exit_latency_us, target_residency_us, power, transition };
            before = *state;
        }
        Ok(Self { states, count: rows.len() })
    }

    /// The deepest state that a limit of exit latency allows, else the shallowest.
    #[inline]
    pub fn deepest_within(&self, max_latency_us: u32) -> usize {
        self.iter().rposition(|state| state.exit_latency_us <= max_latency_us).unwrap_or(0)
    }

    /// The deepest state that a limit of exit latency allows and whose target residency fits.
    #[inline]
    pub fn deepest_for(&self, length_us: u32, max_latency_us: u32) -> usize {
        let fits = |s: &State| s.target_residency_us <= length_us && s.exit_latency_us <= max_latency_us;
        self.iter().rposition(fits).unwrap_or(0)
    }

    /// The shallowest state that halts the core rather than polling, if a limit allows it.
    #[inline]
    pub fn shallowest_halt(&self, max_latency_us: u32) -> usize {
        usize::from(self[0].exit_latency_us == 0 && self.count > 1 && self[1].exit_latency_us <= max_latency_us)
    }

    /// The least energy that an idle period can take: that of the best state for its length, known in advance.
    pub fn least_energy(&self, length_us: u32) -> u64 {
        self.iter().map(|state| state.energy(length_us)).min().unwrap_or(0)
    }
}

impl Deref for States {
    type Target = [State];

    #[inline]
    fn deref(&self) -> &[State] {
        &self.states[..self.count]
    }
}
