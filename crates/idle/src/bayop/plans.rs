//! What a core can do with an idle period, and what each plan costs for each length: one read-only table for all cores.

use super::mixture::{BINS, edge_us};
use crate::governor::Choice;
use crate::replay::{ARM, HANDLER, HANDLER_US};
use crate::states::{States, UNIT};

/// Plans that are weighed against each other.
pub(super) const MAX_PLANS: usize = 16;
/// Resolution of the tables: a sixteenth of what a polling core takes in 1 us, and of 1 us of latency.
const PER_US: u64 = 16;
/// Resolution, in bits less, of energy that finds no room in a table.
pub(super) const BEYOND_BITS: u32 = 8;
/// Lengths within a bin that its entry is the mean of.
const SAMPLES: u32 = 16;
/// A wake-up that is certainly late.
pub(super) const CERTAIN: i16 = 1 << 10;

/// For each bin, mean energy above that of the best plan; and for each bin, mean latency.
pub(super) type Row = [[i16; BINS]; 2];

/// One state for the whole period; or a first one and, when nothing came for a while, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) first: u8,
    pub(super) second: u8,
    /// After how long; `u32::MAX`: never.
    pub(super) after_us: u32,
}

impl Plan {
    /// One state to the end.
    pub(super) fn stay(state: usize) -> Self {
        Self { first: state as u8, second: state as u8, after_us: u32::MAX }
    }

    /// Energy, and how late the core is when something wakes it after `length_us`.
    #[inline]
    pub(super) fn cost(&self, states: &States, length_us: u32) -> (u64, u32) {
        let (first, second) = (&states[usize::from(self.first)], &states[usize::from(self.second)]);
        if length_us <= self.after_us {
            let arm = if self.after_us == u32::MAX { 0 } else { ARM };
            return (first.energy(length_us) + arm, first.exit_latency_us);
        }
        let energy = first.energy(self.after_us) + ARM + HANDLER;
        let awake_us = self.after_us.saturating_add(first.exit_latency_us).saturating_add(HANDLER_US);
        match length_us.checked_sub(awake_us) {
            Some(left_us) if left_us > 0 => (energy + second.energy(left_us), second.exit_latency_us),
            _ => (energy, awake_us - length_us),
        }
    }

    /// How late it can be: the greatest exit latency on the way, and what its timer's handler adds if it has one.
    pub(super) fn latency_us(&self, states: &States) -> u32 {
        let (first, second) = (&states[usize::from(self.first)], &states[usize::from(self.second)]);
        let handler_us = if self.after_us == u32::MAX { 0 } else { HANDLER_US };
        first.exit_latency_us.saturating_add(handler_us).max(second.exit_latency_us)
    }

    /// Its beginning.
    pub(super) fn choice(&self) -> Choice {
        let wake_after_us = (self.after_us != u32::MAX).then_some(self.after_us);
        Choice { state: usize::from(self.first), wake_after_us, keeps_tick: false }
    }
}

/// All plans for the states of a machine, and their costs. Plans are: each state; and each that halts but is not the
/// deepest, until half, once and twice the time after which the deepest would have been the better one.
#[derive(Clone, Debug)]
pub struct Plans {
    pub(super) states: States,
    pub(super) limit_us: u32,
    pub(super) count: usize,
    pub(super) plans: [Plan; MAX_PLANS],
    pub(super) latency_us: [u32; MAX_PLANS],
    pub(super) costs: [Row; MAX_PLANS],
    /// What energy above that of the best plan finds no room in `costs`; of long periods, where the best plan is none that
    /// a limit allows, it is what tells the others apart.
    pub(super) beyond: [[i16; BINS]; MAX_PLANS],
    /// How likely it is later than the limit, in units of 1 / [`CERTAIN`].
    pub(super) late: [[i16; BINS]; MAX_PLANS],
}

impl Plans {
    /// The plans for some states; `limit_us` is what counts as late under an SLO.
    pub fn new(states: &States, limit_us: u32) -> Self {
        let (plans, count) = enumerate(states);
        let mut tables = Self {
            states: *states,
            limit_us,
            count,
            plans,
            latency_us: plans.map(|plan| plan.latency_us(states)),
            costs: [[[0; BINS]; 2]; MAX_PLANS],
            beyond: [[0; BINS]; MAX_PLANS],
            late: [[0; BINS]; MAX_PLANS],
        };
        for bin in 0..BINS {
            tables.fill(bin);
        }
        tables
    }

    fn fill(&mut self, bin: usize) {
        let (low_us, width_us) = (edge_us(bin), edge_us(bin + 1) - edge_us(bin));
        let mut energy = [0_u64; MAX_PLANS];
        for (i, plan) in self.plans[..self.count].iter().enumerate() {
            let (mut latency_us, mut late) = (0, 0);
            for sample in 0..SAMPLES {
                let length_us = low_us + width_us * (2 * sample + 1) / (2 * SAMPLES);
                let (taken, waits_us) = plan.cost(&self.states, length_us);
                energy[i] += taken;
                latency_us += u64::from(waits_us);
                late += u32::from(waits_us > self.limit_us);
            }
            self.costs[i][1][bin] = clamp(latency_us * PER_US / u64::from(SAMPLES));
            self.late[i][bin] = (late * CERTAIN as u32 / SAMPLES) as i16;
        }
        let least = energy[..self.count].iter().min().copied().unwrap_or(0);
        for (i, energy) in energy[..self.count].iter().enumerate() {
            let above = (energy - least) * PER_US / u64::from(SAMPLES * UNIT);
            self.costs[i][0][bin] = clamp(above);
            self.beyond[i][bin] = clamp(above.saturating_sub(i16::MAX as u64) >> BEYOND_BITS);
        }
    }
}

fn clamp(number: u64) -> i16 {
    number.min(i16::MAX as u64) as i16
}

fn enumerate(states: &States) -> ([Plan; MAX_PLANS], usize) {
    let mut plans = [Plan::stay(0); MAX_PLANS];
    let mut count = 0;
    let mut add = |plan| {
        if count < MAX_PLANS {
            plans[count] = plan;
            count += 1;
        }
    };
    (0..states.len()).for_each(|state| add(Plan::stay(state)));
    let last = states.len() - 1;
    for halves in [2, 1, 4] {
        for first in 1..last {
            let (from, to) = (&states[first], &states[last]);
            let saved = u64::from(from.power - to.power);
            let awake = u64::from(UNIT) * u64::from(from.exit_latency_us);
            let costs = to.transition - from.transition + ARM + HANDLER + awake;
            if let Some(break_even_us) = costs.checked_div(saved) {
                let after_us = (break_even_us * halves / 2).clamp(1, u64::from(u32::MAX - 1)) as u32;
                add(Plan { first: first as u8, second: last as u8, after_us });
            }
        }
    }
    (plans, count)
}
