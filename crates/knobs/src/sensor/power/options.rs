//! Which meter is used: the `[power]` table of a configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

use bayop_core::{Error, Result};

/// One way to find the energy of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Powercap's package zones and the DRAM beside them.
    Powercap,
    /// Powercap's platform zone, which contains the packages.
    Psys,
    /// Energy counted by a hwmon device.
    HwmonEnergy,
    /// Power shown by a hwmon device, integrated over time.
    HwmonPower,
    /// The packages' energy in model-specific registers. Only by explicit choice: the device files that show them
    /// also write them.
    Msr,
    /// The estimate from utilization: [`Model`].
    Model,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Powercap => "powercap",
            Self::Psys => "psys",
            Self::HwmonEnergy => "hwmon_energy",
            Self::HwmonPower => "hwmon_power",
            Self::Msr => "msr",
            Self::Model => "model",
        })
    }
}

/// The methods that may be used, the first that works first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Order {
    /// Powercap, psys, hwmon energy, hwmon power, the model.
    #[default]
    #[serde(with = "auto")]
    Auto,
    /// This one only.
    One(Method),
    /// These, in this order.
    List(Vec<Method>),
}

const AUTO: &[Method] = &[Method::Powercap, Method::Psys, Method::HwmonEnergy, Method::HwmonPower, Method::Model];

/// How the energy of the machine is found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `"auto"`, a method, or a list of methods.
    pub meter: Order,
    /// The hwmon inputs that make up the machine, such as `power_meter/power1`; empty for those that are known to.
    pub inputs: Vec<String>,
    /// The parameters of the estimate from utilization.
    pub model: Option<Model>,
}

/// The power of a machine by its utilization: `idle_w + (busy_w - idle_w) * utilization`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// With every CPU idle.
    pub idle_w: f64,
    /// With every CPU busy.
    pub busy_w: f64,
    /// How the part above idle follows the frequency; none when it does not.
    pub frequency: Option<Scaling>,
}

/// The part of the power above idle, by frequency: proportional to `(f / busy_mhz)^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// The frequency at which `busy_w` holds.
    pub busy_mhz: f64,
    /// About 1 where the voltage stays, up to 3 where it follows the frequency.
    pub exponent: f64,
}

impl Options {
    /// Refuses what can't be meant.
    ///
    /// # Errors
    /// No method is listed, one is listed twice, or the model's parameters are no powers.
    pub fn check(&self) -> Result<()> {
        let methods = self.methods();
        if methods.is_empty() {
            return Err(Error::input("`meter` names no method").rule("it must name at least one").at("power.meter"));
        }
        if let Some(twice) = methods.iter().enumerate().find(|(index, method)| methods[..*index].contains(method)) {
            return Err(Error::input(format!("`meter` names {} twice", twice.1)).at("power.meter"));
        }
        self.model.as_ref().map_or(Ok(()), Model::check)
    }

    pub(super) fn methods(&self) -> Vec<Method> {
        match &self.meter {
            Order::Auto => AUTO.to_vec(),
            Order::One(method) => vec![*method],
            Order::List(methods) => methods.clone(),
        }
    }
}

impl Model {
    fn check(&self) -> Result<()> {
        let Self { idle_w, busy_w, frequency } = *self;
        if !(idle_w.is_finite() && busy_w.is_finite() && 0.0 <= idle_w && idle_w <= busy_w) {
            let range = format!("idle_w = {idle_w}, busy_w = {busy_w}");
            return Err(Error::cannot_use(range, "idle_w must be from 0 to busy_w").at("power.model"));
        }
        match frequency {
            Some(Scaling { busy_mhz, .. }) if !(busy_mhz.is_finite() && busy_mhz > 0.0) => {
                Err(Error::cannot_use(busy_mhz, "busy_mhz must be positive").at("power.model.frequency"))
            }
            Some(Scaling { exponent, .. }) if !(0.0..=3.0).contains(&exponent) => {
                Err(Error::cannot_use(exponent, "exponent must be from 0 to 3").at("power.model.frequency"))
            }
            _ => Ok(()),
        }
    }
}

/// The word `auto`.
mod auto {
    use serde::de::{Deserializer, Error as _};
    use serde::{Deserialize as _, Serializer};

    pub fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("auto")
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        match <std::borrow::Cow<'_, str>>::deserialize(deserializer)?.as_ref() {
            "auto" => Ok(()),
            _ => Err(D::Error::custom("expected `auto`")),
        }
    }
}
