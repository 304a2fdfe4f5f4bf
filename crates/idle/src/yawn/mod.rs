//! Yawn: prediction with expert advice (Sharafzadeh et al., "Yawn: A CPU Idle-state Governor for Datacenter
//! Applications", APSys 2019), with the constants of its authors' kernel (4.4).
//!
//! Each expert forecasts how long the core will be idle or abstains; the governor believes their weighted mean (Eq. 1).
//! Afterwards each expert's weight falls with its loss (Eq. 2). A timer wakes the core an exit latency before the
//! forecast, so that it is awake when the packet comes.

mod experts;

use crate::governor::{Choice, Governor, Slept, View, Waker};
use crate::states::States;
pub use experts::{Expert, Experts, NetworkExpert, ResidencyExpert};

/// Experts that a governor can have.
const MAX_EXPERTS: usize = 8;
/// Sum of all weights.
const ONE: u32 = 1 << 16;
/// The least weight: 0.5 %.
const LEAST_WEIGHT: u32 = ONE / 200;
/// The greatest loss, in us.
const MAX_LOSS_US: u32 = 999;
/// Learning rate (eta in Eq. 2): 2.36e-4 per us, in units of 2^-24.
const LEARNING_RATE: u64 = 3_959;
/// Gaps between packets that bar the deepest state, in us.
const BARRED_GAPS_US: core::ops::RangeInclusive<u32> = 400..=10_000;
/// The shortest time that is worth a timer.
const LEAST_TIMER_US: u32 = 10;
/// How long a core that its timer woke waits for the packet before it sleeps again. The paper does not say.
const WAIT_US: u32 = 100;

/// What the paper leaves open and its authors' kernel gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// As they are: an expert that abstained lost nothing, so that it gains all weight in the end; and the network
    /// expert, which forecasts the next packet, is scored on every wake-up.
    AsPublished,
    /// Weights move only among experts that forecast something, and an expert is scored only on what it forecasts.
    Mended,
}

/// State of one core's governor.
#[derive(Clone, Debug)]
pub struct Yawn<E> {
    experts: E,
    faults: Faults,
    weights: [u32; MAX_EXPERTS],
    forecasts: [Option<u32>; MAX_EXPERTS],
    forecast_us: u32,
    /// How long this period has lasted already, before the stay that was selected last, and how many stays that was.
    slept_us: u32,
    stays: u8,
    state: usize,
    /// The last period, until its end is scored, and whether packets came since.
    ended_us: Option<u32>,
    arrived: bool,
}

impl Default for Yawn<(ResidencyExpert, NetworkExpert)> {
    fn default() -> Self {
        Self::new((ResidencyExpert::default(), NetworkExpert::default()), Faults::AsPublished)
    }
}

impl<E: Experts> Yawn<E> {
    /// A governor that listens to some experts, at most eight, at first to all alike.
    pub fn new(experts: E, faults: Faults) -> Self {
        let mut weights = [0; MAX_EXPERTS];
        weights[..E::COUNT].fill(ONE / E::COUNT as u32);
        weights[0] += ONE % E::COUNT as u32;
        Self {
            experts,
            faults,
            weights,
            forecasts: [None; MAX_EXPERTS],
            forecast_us: 0,
            slept_us: 0,
            stays: 0,
            state: 0,
            ended_us: None,
            arrived: false,
        }
    }

    /// The weights of the experts, whose sum is 2^16 but for rounding.
    pub fn weights(&self) -> &[u32] {
        &self.weights[..E::COUNT]
    }

    /// Eq. 1: the weighted mean of all forecasts.
    #[inline]
    fn forecast_us(&mut self, view: &View) -> u32 {
        let (mut sum, mut weights) = (0_u64, 0_u64);
        let forecasts = &mut self.forecasts;
        self.experts.each(|i, expert| {
            forecasts[i] = expert.forecast_us(view);
            if let Some(us) = forecasts[i] {
                sum += u64::from(self.weights[i]) * u64::from(us);
                weights += u64::from(self.weights[i]);
            }
        });
        sum.checked_div(weights).map_or(u32::MAX, |us| us as u32)
    }

    /// Eq. 2: weights fall exponentially with the loss, and are then made to sum to one again.
    #[inline]
    fn weigh(&mut self, length_us: u32) {
        let (published, arrived) = (self.faults == Faults::AsPublished, self.arrived);
        let mut moves = [false; MAX_EXPERTS];
        let (mut before, mut after) = (0, 0);
        self.experts.each(|i, expert| {
            let scored = self.forecasts[i].filter(|_| published || arrived || !expert.forecasts_arrivals());
            moves[i] = published || scored.is_some();
            if moves[i] {
                before += self.weights[i];
                let loss_us = scored.map_or(0, |us| us.abs_diff(length_us).min(MAX_LOSS_US));
                self.weights[i] = decay(self.weights[i], loss_us);
                after += self.weights[i];
            }
        });
        for (weight, _) in self.weights.iter_mut().zip(moves).filter(|(_, moves)| *moves) {
            let share = u64::from(*weight) * u64::from(before) / u64::from(after.max(1));
            *weight = (share as u32).max(LEAST_WEIGHT);
        }
        // What rounding and the floor gave or took, the greatest weight makes up for.
        let weights = &mut self.weights[..E::COUNT];
        let sum: u32 = weights.iter().sum();
        if let Some(greatest) = weights.iter_mut().max() {
            *greatest = (*greatest + ONE) - sum;
        }
    }
}

/// A weight after a loss: times exp(-eta loss), by its series, which is exact to 2^-16 for exponents below 0.24.
fn decay(weight: u32, loss_us: u32) -> u32 {
    let x = LEARNING_RATE * u64::from(loss_us); // units of 2^-24
    let (square, cube) = ((x * x) >> 24, (((x * x) >> 24) * x) >> 24);
    let factor = (1 << 24) - x + square / 2 - cube / 6;
    ((u64::from(weight) * factor) >> 24) as u32
}

impl<E: Experts> Governor for Yawn<E> {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        if self.stays == 0 {
            // Only now is known whether the last period ended with packets.
            if let Some(length_us) = self.ended_us.take() {
                self.weigh(length_us);
                self.experts.each(|_, expert| expert.learn(length_us));
            }
            self.arrived = false;
            self.forecast_us = self.forecast_us(view);
        }
        // After its timer: in a shallow state for a while, and then as forecast, but without another timer.
        let waits = self.stays == 1;
        let expected_us = if waits { WAIT_US } else { self.forecast_us }.min(view.timer_us);
        let mut state = states.deepest_for(expected_us, view.max_latency_us);
        let mut gap_us = None;
        self.experts.each(|_, expert| gap_us = gap_us.or(expert.gap_us()));
        let deepest = states.len() - 1;
        if state == deepest && deepest > 1 && gap_us.is_some_and(|us| BARRED_GAPS_US.contains(&us)) {
            state -= 1;
        }
        self.state = state.max(states.shallowest_halt(view.max_latency_us));
        let early_us = expected_us.saturating_sub(states[self.state].exit_latency_us);
        let early = self.stays == 0 && gap_us.is_some() && self.state > 1 && early_us >= LEAST_TIMER_US;
        let timer_us = if waits { Some(WAIT_US) } else { early.then_some(early_us) };
        let wake_after_us = timer_us.filter(|_| expected_us < view.timer_us);
        Choice { state: self.state, wake_after_us, keeps_tick: false }
    }

    #[inline]
    fn arrivals(&mut self, at_us: u64, count: u32) {
        self.experts.each(|_, expert| expert.arrivals(at_us, count));
        self.arrived |= count > 0;
    }

    #[inline]
    fn reflect(&mut self, states: &States, slept: &Slept) {
        if matches!(slept.waker, Waker::Own | Waker::Tick) {
            // A premature wake-up is no end of the period.
            self.slept_us = self.slept_us.saturating_add(slept.length_us);
            self.stays = self.stays.saturating_add(1);
            return;
        }
        let last_us = slept.until_woken_us(states[self.state].exit_latency_us);
        let length_us = self.slept_us.saturating_add(last_us);
        (self.slept_us, self.stays) = (0, 0);
        self.ended_us = Some(length_us);
    }
}
