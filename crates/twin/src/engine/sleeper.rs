//! Idle periods of one core.

use super::tally::{CoreTally, Tally};
use super::vector::min;
use crate::costs::Costs;
use crate::idle::{Chooser, IdlePeriod};
use crate::profile::{IdleState, Profile};
use bayop_idle::State;

/// What ending an idle period costs the work that ended it.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    /// Time until the core runs again.
    pub exit_us: f64,
    /// Busy time at the start of that work (cold caches).
    pub cold_us: f64,
}

/// What all cores share about idling.
#[derive(Clone, Debug)]
pub struct IdleModel {
    states: Vec<IdleState>,
    /// What the kernel's table says of them.
    table: Vec<State>,
    tau_us: f64,
    on_path_share: f64,
    wake_limit_share: f64,
    /// Part of the time in which no idle state settles.
    awake_share: f64,
}

impl IdleModel {
    /// The idle model of `profile`.
    pub fn new(profile: &Profile) -> Self {
        let states = &profile.machine.idle_states;
        let in_table = |state: &IdleState| State {
            exit_latency_us: state.exit_latency_us,
            target_residency_us: state.target_residency_us,
        };
        Self {
            states: states.clone(),
            table: states.iter().map(in_table).collect(),
            tau_us: profile.os.idle_loop_tau_us,
            on_path_share: profile.os.idle_loop_on_path_share,
            wake_limit_share: profile.os.wake_limit_share,
            awake_share: if profile.app.spare_cores > 0 { profile.app.spare_core_load_share } else { 0.0 },
        }
    }

    /// An idle period of a core, counted and charged at the costs of its frequency.
    #[inline(always)]
    pub fn sleep(
        &self,
        chooser: &mut impl Chooser,
        period: IdlePeriod,
        costs: &Costs,
        tally: &mut Tally,
        core: &mut CoreTally,
    ) -> WakeUp {
        let choice = chooser.choose(&self.table, period);
        let state = &self.states[choice];
        let length_us = period.length_us;
        let exit_us = min(state.wake_us, self.wake_limit_share * length_us);
        let loop_us = costs.idle_loop_us * length_us / (length_us + self.tau_us);
        let cold_us = self.on_path_share * loop_us;
        let before_us = min(costs.idle_entry_us + loop_us - cold_us, length_us);
        let asleep_us = length_us - before_us + exit_us;
        let unsettled_us = min(asleep_us, state.settle_us);
        let halted_us = unsettled_us + self.awake_share * (asleep_us - unsettled_us);
        let settled_us = asleep_us - halted_us;
        tally.idle(choice, halted_us + settled_us, settled_us);
        core.idle(halted_us, settled_us, before_us, cold_us + costs.idle_exit_us);
        WakeUp { exit_us, cold_us }
    }
}
