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
