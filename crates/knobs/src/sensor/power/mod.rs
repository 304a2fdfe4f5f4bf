//! The energy of the machine, from the first meter that works.

mod channel;
mod hwmon;
mod integral;
mod model;
mod msr;
mod options;
mod powercap;
mod vendor;

use super::reading::Sample;
use crate::host::Host;
use bayop_core::{Error, Result};
use channel::{Channel, ENERGY, POWER};

pub use options::{Method, Model, Options, Order, Scaling};

const MACHINE: &str = "machine";

/// The shortest time that a mean power is taken over: many updates of the slowest meter, and of the kernel's 10 ms
/// clock of CPU time.
const MEAN_OVER_S: f64 = 0.5;

/// Every meter of the machine, and the one that its energy comes from.
#[derive(Debug)]
pub(super) struct Power {
    channels: Vec<Channel>,
    choice: Result<Method>,
    /// When the mean power was last taken, and the machine's energy then.
    since: Option<(f64, f64)>,
    mean_w: Option<f64>,
}

impl Power {
    /// Finds the machine's meters and chooses the first of `options` that can be read.
    ///
    /// # Errors
    /// The options name an input that the machine does not have.
    pub fn open(host: &Host, options: &Options, time_s: f64) -> Result<Self> {
        let mut channels = powercap::channels(host);
        channels.extend(hwmon::channels(host, &options.inputs)?);
        let methods = options.methods();
        if methods.contains(&Method::Msr) {
            channels.extend(msr::channels(host));
        }
        if let Some(model) = options.model {
            let estimate = model::Estimate::new(host, model);
            channels.push(Channel::new("model".to_owned(), "/proc/stat".to_owned(), Method::Model, true, estimate));
        }
        for channel in &mut channels {
            channel.look(host, time_s);
        }
        let mut power = Self { channels, choice: Err(none()), since: None, mean_w: None };
        power.choice = power.choose(&methods);
        power.take_mean(time_s);
        Ok(power)
    }

    pub fn method(&self) -> Result<Method> {
        self.choice.clone()
    }

    pub fn counted_places(&self) -> Vec<&str> {
        let counted = self.choice.iter().flat_map(|&method| self.counted(method));
        counted.map(|channel| channel.at.as_str()).collect()
    }

    pub fn uncounted_inputs(&self) -> Vec<&str> {
        let is_hwmon = |method| matches!(method, Method::HwmonEnergy | Method::HwmonPower);
        let others = self.channels.iter().filter(|channel| is_hwmon(channel.method) && !channel.counted);
        others.map(|channel| channel.at.as_str()).collect()
    }

    pub fn tick_within_s(&self) -> Option<f64> {
        let channels = self.channels.iter().filter(|channel| self.choice == Ok(channel.method));
        channels.filter_map(|channel| channel.input.look_within_s()).reduce(f64::min)
    }

    pub fn tick(&mut self, host: &Host, time_s: f64) {
        for channel in &mut self.channels {
            if channel.wraps() || (channel.counted && self.choice == Ok(channel.method)) {
                channel.look(host, time_s);
            }
        }
        self.take_mean(time_s);
    }

    /// Takes the mean power since the last one, where enough time has passed and the energy is known at both ends.
    fn take_mean(&mut self, time_s: f64) {
        let Ok(energy_j) = self.energy_j() else {
            (self.since, self.mean_w) = (None, None);
            return;
        };
        match self.since {
            Some((since_s, _)) if time_s - since_s < MEAN_OVER_S => {}
            Some((since_s, since_j)) => {
                self.mean_w = (energy_j >= since_j).then(|| (energy_j - since_j) / (time_s - since_s));
                self.since = Some((time_s, energy_j));
            }
            None => self.since = Some((time_s, energy_j)),
        }
    }

    pub fn sample(&mut self, host: &Host, sample: &mut Sample) {
        for channel in &mut self.channels {
            channel.look(host, sample.time_s);
            channel.read(self.choice == Ok(channel.method), sample);
        }
        let source = self.choice.as_ref().map_or_else(|_| "none".to_owned(), Method::to_string);
        let estimated = self.choice == Ok(Method::Model);
        sample.add(ENERGY, MACHINE, &source, self.energy_j()).estimated = estimated;
        if let Some(mean_w) = self.mean_w {
            sample.add(POWER, MACHINE, format!("{source}, mean between ticks"), Ok(mean_w)).estimated = estimated;
        }
    }

    /// The energy of the machine by the last look: the sum of what is counted.
    ///
    /// # Errors
    /// There is no meter, or one of those that are counted could not be read.
    pub fn energy_j(&self) -> Result<f64> {
        let method = self.method()?;
        self.counted(method).map(|channel| channel.look.as_ref().map(|look| look.energy_j).map_err(Clone::clone)).sum()
    }

    fn counted(&self, method: Method) -> impl Iterator<Item = &Channel> {
        self.channels.iter().filter(move |channel| channel.counted && channel.method == method)
    }

    /// The first method that has something to count and could read all of it.
    fn choose(&self, methods: &[Method]) -> Result<Method> {
        let mut refused = None;
        for &method in methods {
            match self.counted(method).find_map(|channel| channel.look.as_ref().err()) {
                Some(error) => refused = refused.or(Some(error)),
                None if self.counted(method).next().is_some() => return Ok(method),
                None => {}
            }
        }
        Err(refused.cloned().unwrap_or_else(none))
    }
}

fn none() -> Error {
    Error::unsupported("this machine has no power meter that BayOp could use").at("power").hint(
        "modprobe intel_rapl_msr, xgene_hwmon or acpi_power_meter; or give idle_w and busy_w under [power.model] for \
             an estimate from utilization",
    )
}
