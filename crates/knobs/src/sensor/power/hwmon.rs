//! Energy and power by hwmon (Documentation/hwmon/sysfs-interface.rst: `energy*_input` in uJ, `power*_average` and
//! `power*_input` in uW).
//!
//! A hwmon device may measure anything: a graphics card's power is no machine's. Only what is known to be the machine, or
//! a part of it beside which no other part is missing, is counted; the user may name other inputs instead.

use super::super::attribute::Attribute;
use super::super::counter::EnergyCounter;
use super::channel::{Channel, Input, Look};
use super::integral::Integral;
use super::options::Method;
use crate::host::Host;
use crate::sysfs::UJ_PER_J;
use bayop_core::{Error, Result};

const CLASS: &str = "sys/class/hwmon";
const UW_PER_W: f64 = 1e6;

/// What an input measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The whole machine.
    Machine,
    /// One of several parts that make up the processors' energy, such as a socket.
    Part,
    /// Something else, or a part inside another one.
    Other,
}

/// One input of a hwmon device.
#[derive(Debug)]
struct Sensor {
    /// `DRIVER/INPUT`, such as `power_meter/power1`; with the device after the driver where it has several.
    at: String,
    path: String,
    label: Option<String>,
    method: Method,
    scope: Scope,
}

/// The channels of every energy and power input; `names` are those that make up the machine, where the user says.
///
/// # Errors
/// The machine has no input of that name.
pub(super) fn channels(host: &Host, names: &[String]) -> Result<Vec<Channel>> {
    let sensors = sensors(host);
    if let Some(unknown) = names.iter().find(|name| sensors.iter().all(|sensor| sensor.at != **name)) {
        let inputs = sensors.iter().map(|sensor| sensor.at.as_str()).collect::<Vec<_>>().join(", ");
        let hint =
            if inputs.is_empty() { "this machine has none".to_owned() } else { format!("this machine has {inputs}") };
        return Err(Error::cannot_use(unknown, "`inputs` must name hwmon inputs").at("power.inputs").hint(hint));
    }
    let counted: Vec<bool> = sensors.iter().map(|sensor| is_counted(sensor, &sensors, names)).collect();
    Ok(sensors.into_iter().zip(counted).map(|(sensor, counted)| sensor.channel(counted)).collect())
}

/// Of the inputs of one method: the one that measures the machine, else all parts. Two that claim the whole machine may
/// contain each other, so then none is counted until the user names one.
fn is_counted(sensor: &Sensor, sensors: &[Sensor], names: &[String]) -> bool {
    if !names.is_empty() {
        return names.contains(&sensor.at);
    }
    let rivals = sensors.iter().filter(|other| other.method == sensor.method && other.scope == Scope::Machine).count();
    match sensor.scope {
        Scope::Machine => rivals == 1,
        Scope::Part => rivals == 0,
        Scope::Other => false,
    }
}

fn sensors(host: &Host) -> Vec<Sensor> {
    let devices: Vec<(String, String)> = host.names(CLASS).iter().filter_map(|device| folder(host, device)).collect();
    let mut sensors = Vec::new();
    for (driver, folder) in &devices {
        let place = match devices.iter().filter(|(other, _)| other == driver).count() {
            1 => driver.clone(),
            _ => format!("{driver}-{}", device_name(host, folder)),
        };
        let mut inputs: Vec<String> = host.names(folder).iter().filter_map(|file| stem(file)).collect();
        inputs.dedup();
        for input in inputs {
            let files = ["input", "average"].map(|kind| format!("{folder}/{input}_{kind}"));
            // The average over the meter's interval misses nothing between two looks, so it is preferred.
            let Some(path) = files.into_iter().rev().find(|file| host.has(file)) else { continue };
            let label = host.read(&format!("{folder}/{input}_label")).ok();
            let method = if input.starts_with("energy") { Method::HwmonEnergy } else { Method::HwmonPower };
            let scope = scope(driver, label.as_deref());
            sensors.push(Sensor { at: format!("{place}/{input}"), path, label, method, scope });
        }
    }
    sensors
}

/// The driver's name and the folder of its attributes: that of the class device, or of its parent for drivers of the
/// older interface (acpi_power_meter).
fn folder(host: &Host, device: &str) -> Option<(String, String)> {
    [format!("{CLASS}/{device}"), format!("{CLASS}/{device}/device")]
        .into_iter()
        .find_map(|folder| Some((host.read(&format!("{folder}/name")).ok()?, folder)))
}

/// `power1` for `power1_average` and `power1_input`, `energy2` for `energy2_input`.
fn stem(file: &str) -> Option<String> {
    let (stem, kind) = file.split_once('_')?;
    let (word, index) = stem.split_at(stem.find(|c: char| c.is_ascii_digit())?);
    let is_sensor = matches!((word, kind), ("energy", "input") | ("power", "input" | "average"));
    (is_sensor && index.parse::<u32>().is_ok()).then(|| stem.to_owned())
}

fn device_name(host: &Host, folder: &str) -> String {
    let device = if folder.ends_with("/device") { folder.to_owned() } else { format!("{folder}/device") };
    let target = host.target(&device);
    target.unwrap_or_else(|| folder.rsplit('/').find(|name| name.starts_with("hwmon")).unwrap_or("hwmon").to_owned())
}

/// What the kernel's documentation says of the driver's inputs.
fn scope(driver: &str, label: Option<&str>) -> Scope {
    let label = label.unwrap_or_default().to_lowercase();
    match driver {
        // Documentation/hwmon/acpi_power_meter.rst; ACPI section 10.4.
        "power_meter" => Scope::Machine,
        // Documentation/hwmon/amd_energy.rst: a socket's energy contains that of its cores.
        "amd_energy" => {
            if label.starts_with("esocket") {
                Scope::Part
            } else {
                Scope::Other
            }
        }
        // Documentation/hwmon/xgene-hwmon.rst: power of the processor and of its I/O.
        "apm_xgene" => Scope::Part,
        // Documentation/hwmon/fam15h_power.rst: power of the processor.
        "fam15h_power" => Scope::Part,
        // Documentation/hwmon/ibmpowernv.rst and others that label what they measure.
        _ if label == "system" || label.starts_with("total") => Scope::Machine,
        _ => Scope::Other,
    }
}

impl Sensor {
    fn channel(self, counted: bool) -> Channel {
        let Self { at, path, label, method, .. } = self;
        let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
        let attribute = Attribute::new(path);
        let file = attribute.source();
        match method {
            Method::HwmonPower => {
                let source = format!("{file}{label}, integrated over time");
                Channel::new(at, source, method, counted, Power { attribute, integral: Integral::default() })
            }
            _ => {
                // Drivers accumulate in 64 bits (amd_energy.c), so there is no wrap to see.
                let counter = EnergyCounter::new(UJ_PER_J, None);
                Channel::new(at, format!("{file}{label}"), method, counted, Energy { attribute, counter })
            }
        }
    }
}

#[derive(Debug)]
struct Energy {
    attribute: Attribute,
    counter: EnergyCounter,
}

impl Input for Energy {
    fn look(&mut self, host: &Host, time_s: f64) -> Result<Look> {
        let energy_j = self.counter.look(self.attribute.read(host)?, time_s)?;
        Ok(Look { energy_j, power_w: None })
    }

    fn look_within_s(&self) -> Option<f64> {
        None
    }
}

#[derive(Debug)]
struct Power {
    attribute: Attribute,
    integral: Integral,
}

impl Input for Power {
    fn look(&mut self, host: &Host, time_s: f64) -> Result<Look> {
        let power_w = self.attribute.read(host)? as f64 / UW_PER_W;
        Ok(Look { energy_j: self.integral.add(power_w, time_s), power_w: Some(power_w) })
    }

    fn look_within_s(&self) -> Option<f64> {
        Some(Integral::LOOK_WITHIN_S)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_of_energy_and_power_inputs_are_told_from_others() {
        for (file, expected) in [
            ("energy12_input", Some("energy12")),
            ("power1_average", Some("power1")),
            ("power1_input", Some("power1")),
            ("power1_average_interval", None),
            ("power1_cap", None),
            ("energy1_average", None),
            ("temp1_input", None),
            ("power_input", None),
            ("power99999999999_input", None),
        ] {
            assert_eq!(stem(file).as_deref(), expected, "{file}");
        }
    }

    proptest! {
        #[test]
        fn any_file_and_label_are_taken_or_left(file in "\\PC{0,30}", driver in "\\PC{0,12}", label in "\\PC{0,12}") {
            prop_assert!(stem(&file).is_none_or(|stem| file.starts_with(&stem)));
            scope(&driver, Some(&label));
        }
    }
}
