//! A monotone count rebuilt from one that wraps around.

use bayop_core::{Error, Result};

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
    /// How many raw units make a joule.
    per_j: f64,
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
    pub fn new(per_j: f64, period: Option<u64>) -> Self {
        Self { per_j, period, last: None, total: 0 }
    }

    /// The longest time between two looks in which the counter can't have wrapped twice.
    pub fn look_within_s(&self) -> Option<f64> {
        Some(self.period? as f64 / self.per_j / MOST_W)
    }

    /// Takes in the raw counter as it stood at `time_s`.
    ///
    /// # Errors
    /// The counter is beyond its own range. The count is left as it was.
    pub fn look(&mut self, raw: u64, time_s: f64) -> Result<f64> {
        if let Some(period) = self.period.filter(|&period| raw > period) {
            return Err(Error::malformed(raw, format!("the counter must stay within its range of {period}")));
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
        self.total as f64 / self.per_j
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
        (step as f64 / self.per_j <= MOST_W * (elapsed_s + SLACK_S)).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PER_J: f64 = 1e6;

    /// Steps of a counter: for how long, and at how much of the power at which one more could wrap unseen.
    fn steps() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((1e-3..1.0_f64, 0.0..1.0_f64), 1..200)
    }

    proptest! {
        #[test]
        fn increments_and_wraps_sum_exactly(period in 1_u64..1 << 48, start in any::<u64>(), steps in steps()) {
            let mut counter = EnergyCounter::new(PER_J, Some(period));
            let within_s = counter.look_within_s().unwrap();
            let (mut raw, mut time_s, mut total) = (start % period, 0.0, 0_u64);
            counter.look(raw, time_s).unwrap();
            for (of_longest, of_greatest) in steps {
                let elapsed_s = of_longest * within_s * 0.999;
                let step = ((MOST_W * elapsed_s * of_greatest * PER_J) as u64).min(period - 1);
                (raw, time_s, total) = ((raw + step) % period, time_s + elapsed_s, total + step);
                prop_assert_eq!(counter.look(raw, time_s).unwrap(), total as f64 / PER_J);
            }
        }

        #[test]
        fn energy_never_falls_without_starting_anew(
            period in prop::option::of(any::<u64>()), looks in prop::collection::vec((any::<u64>(), 0.0..1e6_f64), 1..50)
        ) {
            let mut counter = EnergyCounter::new(PER_J, period);
            let (mut time_s, mut before_j) = (0.0, 0.0);
            for (raw, elapsed_s) in looks {
                time_s += elapsed_s;
                if let Ok(energy_j) = counter.look(raw, time_s) {
                    prop_assert!(energy_j >= before_j || energy_j == 0.0);
                    before_j = energy_j;
                }
            }
        }
    }

    #[test]
    fn a_gap_in_which_it_may_have_wrapped_twice_starts_anew() {
        let mut counter = EnergyCounter::new(PER_J, Some(65_532_610_987));
        counter.look(0, 0.0).unwrap();
        assert_eq!(counter.look(5_000_000, 1.0), Ok(5.0));
        let within_s = counter.look_within_s().unwrap();
        assert!((within_s - 32.8).abs() < 0.1, "{within_s}");
        assert_eq!(counter.look(9_000_000, 1.0 + within_s * 1.01), Ok(0.0));
        assert_eq!(counter.look(10_000_000, 2.0 + within_s * 1.01), Ok(1.0));
    }

    #[test]
    fn a_counter_that_was_set_back_starts_anew() {
        for period in [None, Some(262_143_328_850)] {
            let mut counter = EnergyCounter::new(PER_J, period);
            counter.look(7_000_000, 0.0).unwrap();
            counter.look(9_000_000, 1.0).unwrap();
            assert_eq!(counter.look(0, 2.0), Ok(0.0));
        }
    }

    #[test]
    fn a_counter_beyond_its_range_is_refused_and_forgotten() {
        let mut counter = EnergyCounter::new(PER_J, Some(1_000_000_000));
        counter.look(0, 0.0).unwrap();
        assert!(counter.look(1_000_000_001, 0.1).unwrap_err().to_string().contains("1000000001"));
        assert_eq!(counter.look(3_000_000, 0.2), Ok(3.0));
    }
}
