//! A monotone count rebuilt from one that wraps around.

use crate::error::{Error, Result};

/// The greatest power that one counter of energy is taken to stand for, in watts: four times what the hungriest server
/// package draws. A step above it is not a wrap but a counter that was set back.
const MOST_W: f64 = 2000.0;

/// How far apart two looks at a counter may be recorded to be while it moves on, in seconds: the counter's own update
/// interval and the time between reading the clock and reading the counter.
const SLACK_S: f64 = 1.0;

/// Energy since the counter was opened, from a raw counter that wraps around.
///
/// One wrap between two looks is seen and added; of more than one nothing is left to see. So the counter must be looked
/// at within [`EnergyCounter::look_within_s`]. After a longer gap, and when the raw counter was set back, the count
/// starts again from zero, which tells the reader of it that continuity was lost.
#[derive(Debug, Clone)]
pub(super) struct EnergyCounter {
    unit_j: f64,
    /// How many raw units the counter goes through before it is zero again; none for a counter that never wraps.
    period: Option<u64>,
    last: Option<Look>,
    total: u128,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    raw: u64,
    time_s: f64,
}

impl EnergyCounter {
    pub fn new(unit_j: f64, period: Option<u64>) -> Self {
        Self { unit_j, period, last: None, total: 0 }
    }

    /// The longest time between two looks in which the counter can't have wrapped twice.
    pub fn look_within_s(&self) -> Option<f64> {
        Some(self.period? as f64 * self.unit_j / MOST_W)
    }

    /// Takes in the raw counter as it stood at `time_s`.
    ///
    /// # Errors
    /// The counter is beyond its own range. The count is left as it was.
    pub fn look(&mut self, raw: u64, time_s: f64) -> Result<f64> {
        if let Some(period) = self.period.filter(|&period| raw > period) {
            return Err(Error::unsupported(format!("the counter stays within its range of {period}")).value(raw));
        }
        match self.last.map(|last| self.step(last, raw, time_s)) {
            Some(Some(step)) => self.total += u128::from(step),
            Some(None) => self.total = 0,
            None => {}
        }
        self.last = Some(Look { raw, time_s });
        Ok(self.energy_j())
    }

    /// The energy since the first look, or since continuity was lost.
    pub fn energy_j(&self) -> f64 {
        self.total as f64 * self.unit_j
    }

    /// How far the counter went since the last look; none when that can't be told.
    fn step(&self, last: Look, raw: u64, time_s: f64) -> Option<u64> {
        let elapsed_s = time_s - last.time_s;
        if self.look_within_s().is_some_and(|within_s| elapsed_s > within_s) {
            return None;
        }
        if raw >= last.raw {
            return Some(raw - last.raw);
        }
        let step = self.period? - last.raw + raw;
        (step as f64 * self.unit_j <= MOST_W * (elapsed_s + SLACK_S)).then_some(step)
    }
}
