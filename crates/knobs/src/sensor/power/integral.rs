//! Energy as the integral of power over time.

/// The trapezoidal rule over the looks so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Integral {
    last: Option<(f64, f64)>,
    energy_j: f64,
}

impl Integral {
    /// The longest time that is bridged. After a longer one nobody knows what the power was, and the integral starts
    /// again from zero.
    pub const LOOK_WITHIN_S: f64 = 10.0;

    /// Takes in the power at `time_s` and gives the energy so far.
    pub fn add(&mut self, power_w: f64, time_s: f64) -> f64 {
        if let Some((then_s, then_w)) = self.last {
            let elapsed_s = time_s - then_s;
            if elapsed_s <= Self::LOOK_WITHIN_S {
                self.energy_j += elapsed_s.max(0.0) * (power_w + then_w) / 2.0;
            } else {
                self.energy_j = 0.0;
            }
        }
        self.last = Some((time_s, power_w));
        self.energy_j
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ramp_is_integrated_exactly(slope in -5.0..5.0_f64, steps in prop::collection::vec(1e-3..9.9_f64, 1..50)) {
            let power_w = |time_s: f64| 3000.0 + slope * time_s;
            let mut integral = Integral::default();
            let (mut time_s, mut energy_j) = (0.0, integral.add(power_w(0.0), 0.0));
            for step_s in steps {
                time_s += step_s;
                energy_j = integral.add(power_w(time_s), time_s);
            }
            let expected_j = 3000.0 * time_s + slope * time_s * time_s / 2.0;
            prop_assert!((energy_j - expected_j).abs() < 1e-9 * expected_j.abs().max(1.0));
        }
    }

    #[test]
    fn a_gap_starts_anew() {
        let mut integral = Integral::default();
        integral.add(100.0, 0.0);
        assert_eq!(integral.add(100.0, 1.0), 100.0);
        assert_eq!(integral.add(100.0, 1.0 + Integral::LOOK_WITHIN_S * 1.01), 0.0);
    }
}
