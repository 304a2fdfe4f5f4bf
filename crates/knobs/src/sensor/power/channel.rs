//! One meter's part of the machine's energy.

use std::fmt::Debug;

use super::options::Method;
use crate::host::Host;
use crate::sensor::reading::{Quantity, Sample};
use bayop_core::{Error, Result};

pub(super) const ENERGY: Quantity = Quantity::counter("energy_j", "J");
pub(super) const POWER: Quantity = Quantity::gauge("power_w", "W");

/// Where energy or power is read: a zone, a socket, a power supply.
pub(super) trait Input: Debug + Send {
    /// Takes one look.
    fn look(&mut self, host: &Host, time_s: f64) -> Result<Look>;

    /// The longest time between two looks that loses nothing; none when any will do.
    fn look_within_s(&self) -> Option<f64>;
}

/// What an input shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Since the first look, or since continuity was lost.
    pub energy_j: f64,
    /// Where the input tells the power itself.
    pub power_w: Option<f64>,
}

/// One input with its place in the whole.
#[derive(Debug)]
pub(super) struct Channel {
    /// Where: `package-0`, `package-0/dram`.
    pub at: String,
    source: String,
    /// How it is read.
    pub method: Method,
    /// Whether it is a summand of the machine's energy; a channel that another one contains is not.
    pub counted: bool,
    /// What is looked at.
    pub input: Box<dyn Input>,
    /// What the last look showed.
    pub look: Result<Look>,
}

impl Channel {
    /// A channel that has not been looked at.
    pub fn new(at: String, source: String, method: Method, counted: bool, input: impl Input + 'static) -> Self {
        let look = Err(Error::unsupported("the sensor has not been read yet"));
        Self { at, source, method, counted, input: Box::new(input), look }
    }

    /// Takes one look.
    pub fn look(&mut self, host: &Host, time_s: f64) {
        self.look = self.input.look(host, time_s);
    }

    /// Adds what the channel shows. Power that is not looked at all the time has no integral.
    pub fn read(&self, is_chosen: bool, sample: &mut Sample) {
        let Self { at, source, .. } = self;
        let estimated = self.method == Method::Model;
        let part = |value: fn(&Look) -> Option<f64>| self.look.as_ref().map_err(Clone::clone).map(value).transpose();
        if self.shows_power() {
            if let Some(power_w) = part(|look| look.power_w) {
                sample.add(POWER, at, source, power_w).estimated = estimated;
            }
        }
        if is_chosen || !self.shows_power() {
            if let Some(energy_j) = part(|look| Some(look.energy_j)) {
                sample.add(ENERGY, at, source, energy_j).estimated = estimated;
            }
        }
    }

    fn shows_power(&self) -> bool {
        matches!(self.method, Method::HwmonPower | Method::Model)
    }

    /// Whether its counter starts anew when it is full.
    pub fn wraps(&self) -> bool {
        matches!(self.method, Method::Powercap | Method::Psys | Method::Msr)
    }
}
