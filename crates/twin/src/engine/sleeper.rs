//! Idle periods of one core, and where all of its time goes.

#[cfg(test)]
mod tests;
mod unused;

use bayop_idle::UNIT;
use bayop_idle::replay::{ARM, HANDLER};

use super::vector::{max, min};
use crate::costs::Costs;
use crate::idle::{Chooser, IdlePeriod, State, Stay};
use crate::profile::{IdleState, Profile};
use crate::run::Applied;
use crate::time::CoreTime;
pub use unused::Unused;

/// Busy time of programming a timer, and of a wake-up that finds nothing to do but to choose again: what a replay of idle
/// periods charges, too. A loop that polls looks at the clock instead.
const ARM_US: f64 = ARM as f64 / UNIT as f64;
const HANDLER_US: f64 = HANDLER as f64 / UNIT as f64;

/// What ending an idle period costs the work that ended it.
#[derive(Clone, Copy, Debug, Default)]
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
    /// What the kernel's table says of those that may be entered.
    table: Vec<State>,
    tau_us: f64,
    on_path_share: f64,
    wake_limit_share: f64,
    /// Part of the time in which no idle state settles.
    awake_share: f64,
}

impl IdleModel {
    /// The idle model of `profile` with the states that `run` allows.
    pub fn new(profile: &Profile, run: &Applied) -> Self {
        let states = &profile.machine.idle_states;
        let in_table = |state: &IdleState| State {
            exit_latency_us: state.exit_latency_us,
            target_residency_us: state.target_residency_us,
        };
        Self {
            states: states.clone(),
            table: states[..run.idle_states].iter().map(in_table).collect(),
            tau_us: profile.os.idle_loop_tau_us,
            on_path_share: profile.os.idle_loop_on_path_share,
            wake_limit_share: profile.os.wake_limit_share,
            awake_share: if profile.app.spare_cores > 0 { profile.app.spare_core_load_share } else { 0.0 },
        }
    }

    /// Part of the cost of the idle loop that a period of `length_us` has.
    #[inline(always)]
    fn loop_share(&self, length_us: f64) -> f64 {
        length_us / (length_us + self.tau_us)
    }

    /// How long a wake-up from `state` takes after `stay_us` in it.
    #[inline(always)]
    fn exit_us(&self, state: usize, stay_us: f64) -> f64 {
        min(self.states[state].wake_us, self.wake_limit_share * stay_us)
    }

    /// Busy time for a timer when the core stays in `state`.
    #[inline(always)]
    fn timer_us(&self, state: usize, us: f64) -> f64 {
        if self.states[state].exit_latency_us > 0.0 { us } else { 0.0 }
    }

    /// Part of `asleep_us` in `state` before it settles.
    #[inline(always)]
    fn halted_us(&self, state: usize, asleep_us: f64) -> f64 {
        let unsettled_us = min(asleep_us, self.states[state].settle_us);
        unsettled_us + self.awake_share * (asleep_us - unsettled_us)
    }
}

/// How a core went idle.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    state: usize,
    /// What entering costs, at the frequency that the core had.
    entry_us: f64,
    /// The limit of what the idle loop costs before the core sleeps, at that frequency.
    loop_us: f64,
    /// After how much of the period: there may have been stays before.
    since_us: f64,
    /// After how long the core chooses again.
    again_us: f64,
}

/// The last idle period that ended: what of it may lie beyond the time to which the core was simulated.
#[derive(Clone, Copy, Debug, Default)]
struct Slept {
    state: usize,
    asleep_us: f64,
    /// When the core ran again.
    awake_us: f64,
    /// When the kernel began to count it as busy.
    loaded_us: f64,
}

/// One core's idle periods and its time.
///
/// Time is counted when something begins, although it may end after the point to which the core is simulated;
/// [`Sleeper::take_time`] takes what lies before that point, of a period under way, too.
#[derive(Clone, Debug)]
pub struct Sleeper<I> {
    chooser: I,
    time: CoreTime,
    /// The idle period under way, when somebody had to know of it before its end.
    entered: Option<Entry>,
    slept: Slept,
}

impl<I: Chooser> Sleeper<I> {
    /// A core at rest at time zero.
    pub fn new(chooser: I) -> Self {
        Self { chooser, time: CoreTime::default(), entered: None, slept: Slept::default() }
    }

    /// Counts busy time.
    #[inline(always)]
    pub fn busy(&mut self, us: f64) {
        self.time.busy_us += us;
    }

    /// A poll of the core's receive queue found packets.
    #[inline(always)]
    pub fn arrival(&mut self, now_us: f64) {
        self.chooser.arrival(now_us);
    }

    /// An idle period that has ended, charged at the costs of the core's frequency.
    #[inline(always)]
    pub fn sleep(&mut self, model: &IdleModel, period: IdlePeriod, costs: &Costs) -> WakeUp {
        let entry = match self.entered.take() {
            Some(entry) => entry,
            None => self.enter(model, period, costs),
        };
        let entry = self.let_choose(model, entry, period);
        let length_us = period.length_us - entry.since_us;
        let stay_us = min(length_us, entry.again_us);
        let asleep_exit_us = model.exit_us(entry.state, stay_us);
        let (exit_us, handler_us) = if length_us > entry.again_us {
            // Its own timer is waking the core already.
            let handler_us = model.timer_us(entry.state, HANDLER_US);
            (entry.again_us + asleep_exit_us + handler_us - length_us, handler_us)
        } else {
            (asleep_exit_us, 0.0)
        };
        self.chooser.reflect(&model.table, length_us, exit_us);
        let cold_us = model.on_path_share * (costs.idle_loop_us * model.loop_share(period.length_us));
        let asleep_us = count_sleep(&mut self.time, model, &entry, stay_us, asleep_exit_us);
        self.time.busy_us += handler_us;
        let runs_us = period.start_us + period.length_us + exit_us;
        let loaded_us = runs_us + cold_us + costs.idle_exit_us;
        self.time.unloaded_us += loaded_us - period.start_us;
        self.slept = Slept { state: entry.state, asleep_us, awake_us: runs_us - handler_us, loaded_us };
        WakeUp { exit_us, cold_us }
    }

    #[inline(always)]
    fn enter(&mut self, model: &IdleModel, period: IdlePeriod, costs: &Costs) -> Entry {
        let stay = self.chooser.select(&model.table, period);
        let loop_us = (1.0 - model.on_path_share) * costs.idle_loop_us;
        self.begin(model, stay, Entry { entry_us: costs.idle_entry_us, loop_us, ..Entry::default() })
    }

    /// Begins a stay, but for the timer at the costs of `entry`.
    #[inline(always)]
    fn begin(&mut self, model: &IdleModel, stay: Stay, entry: Entry) -> Entry {
        let Stay { state, again_us, armed } = stay;
        self.time.idle[state].entries += 1;
        let arm_us = if armed { model.timer_us(state, ARM_US) } else { 0.0 };
        Entry { state, again_us, entry_us: entry.entry_us + arm_us, ..entry }
    }

    /// How the core is idle after it has chosen again as often as it wanted to in `period`, of which it was entered as
    /// `entry`.
    #[inline(always)]
    fn let_choose(&mut self, model: &IdleModel, entry: Entry, period: IdlePeriod) -> Entry {
        if period.length_us - entry.since_us > entry.again_us { self.choose(model, entry, period) } else { entry }
    }

    #[cold]
    fn choose(&mut self, model: &IdleModel, mut entry: Entry, period: IdlePeriod) -> Entry {
        loop {
            let (exit_us, handler_us) = if I::WAKES {
                (model.exit_us(entry.state, entry.again_us), model.timer_us(entry.state, HANDLER_US))
            } else {
                (0.0, 0.0)
            };
            let stay_us = entry.again_us + exit_us + handler_us;
            if period.length_us - entry.since_us <= stay_us {
                return entry;
            }
            count_sleep(&mut self.time, model, &entry, entry.again_us, exit_us);
            self.time.busy_us += handler_us;
            let since_us = entry.since_us + stay_us;
            let left = IdlePeriod { start_us: period.start_us + since_us, length_us: period.length_us - since_us };
            let stay = self.chooser.again(&model.table, left, stay_us);
            entry = self.begin(model, stay, Entry { since_us, ..Entry::default() });
        }
    }

    /// Where the time went until `until_us` of a core that is free from `free_us` on and wanted at `wanted_us`, as
    /// things stand.
    pub fn take_time(
        &mut self,
        model: &IdleModel,
        costs: &Costs,
        free_us: f64,
        wanted_us: f64,
        until_us: f64,
    ) -> CoreTime {
        let mut taken;
        if free_us < until_us {
            let entry = match self.entered {
                Some(entry) => entry,
                None => self.enter(model, IdlePeriod { start_us: free_us, length_us: wanted_us - free_us }, costs),
            };
            let past = IdlePeriod { start_us: free_us, length_us: until_us - free_us };
            let entry = self.let_choose(model, entry, past);
            self.entered = Some(entry);
            taken = self.time;
            let length_us = past.length_us - entry.since_us;
            let waking_us = max(length_us - entry.again_us, 0.0);
            let exit_us = min(waking_us, model.exit_us(entry.state, entry.again_us));
            count_sleep(&mut taken, model, &entry, min(length_us, entry.again_us), exit_us);
            taken.busy_us += waking_us - exit_us;
            taken.unloaded_us += past.length_us;
        } else {
            taken = self.time;
            let slept = &self.slept;
            taken.busy_us -= free_us - max(slept.awake_us, until_us);
            taken.unloaded_us -= max(slept.loaded_us - until_us, 0.0);
            let beyond_us = max(slept.awake_us - until_us, 0.0);
            let halted_us = |asleep_us| model.halted_us(slept.state, asleep_us);
            let halted_beyond_us = halted_us(slept.asleep_us) - halted_us(slept.asleep_us - beyond_us);
            taken.idle[slept.state].halted_us -= halted_beyond_us;
            taken.idle[slept.state].settled_us -= beyond_us - halted_beyond_us;
        }
        self.time -= &taken;
        taken
    }
}

/// Counts `length_us` of an idle period and the wake-up from it: busy until the core sleeps, then asleep. Returns how long
/// it was asleep.
#[inline(always)]
fn count_sleep(time: &mut CoreTime, model: &IdleModel, entry: &Entry, length_us: f64, exit_us: f64) -> f64 {
    let before_us = min(entry.entry_us + entry.loop_us * model.loop_share(length_us), length_us);
    let asleep_us = length_us - before_us + exit_us;
    let halted_us = model.halted_us(entry.state, asleep_us);
    let idle = &mut time.idle[entry.state];
    idle.halted_us += halted_us;
    idle.settled_us += asleep_us - halted_us;
    time.busy_us += before_us;
    asleep_us
}
