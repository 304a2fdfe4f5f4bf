//! Energy estimated from utilization: `P = idle_w + (busy_w - idle_w) * utilization * (f / busy_mhz)^exponent`.

use super::super::attribute::Attribute;
use super::super::cpu::{self, Times};
use super::super::frequency;
use super::channel::{Input, Look};
use super::options::Model;
use crate::host::Host;
use bayop_core::Result;

/// The estimate, kept up to date.
#[derive(Debug)]
pub(super) struct Estimate {
    model: Model,
    stat: Attribute,
    /// The frequency of each policy, where the model asks for it.
    policies: Vec<Attribute>,
    last: Option<(f64, Times)>,
    energy_j: f64,
    power_w: Option<f64>,
}

impl Estimate {
    pub fn new(host: &Host, model: Model) -> Self {
        let policies = if model.frequency.is_some() { frequency::policies(host) } else { Vec::new() };
        Self { model, stat: Attribute::new(cpu::FILE), policies, last: None, energy_j: 0.0, power_w: None }
    }

    /// The power at a utilization from 0 to 1.
    fn power_w(&mut self, host: &Host, utilization: f64) -> Result<f64> {
        let speed = match self.model.frequency {
            Some(scaling) => (frequency::mean_mhz(host, &mut self.policies)? / scaling.busy_mhz).powf(scaling.exponent),
            None => 1.0,
        };
        Ok(self.model.idle_w + (self.model.busy_w - self.model.idle_w) * utilization * speed)
    }
}

impl Input for Estimate {
    /// Moves on once the kernel's clock of CPU time has: until then there is no utilization to speak of.
    fn look(&mut self, host: &Host, time_s: f64) -> Result<Look> {
        let mut head = [0; cpu::SUM_LENGTH];
        let length = self.stat.read_at(host, &mut head, 0)?;
        let now = cpu::sum(&head[..length]).map_err(|error| error.at(self.stat.source()))?;
        match self.last {
            None => self.last = Some((time_s, now)),
            Some((then_s, then)) => {
                let busy = now.busy.saturating_sub(then.busy) as f64;
                let idle = now.idle.saturating_sub(then.idle) as f64;
                if busy + idle > 0.0 && time_s > then_s {
                    let power_w = self.power_w(host, busy / (busy + idle))?;
                    self.energy_j += power_w * (time_s - then_s);
                    self.power_w = Some(power_w);
                    self.last = Some((time_s, now));
                }
            }
        }
        Ok(Look { energy_j: self.energy_j, power_w: self.power_w })
    }

    fn look_within_s(&self) -> Option<f64> {
        None
    }
}
