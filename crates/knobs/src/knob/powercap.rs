//! Power caps: the constraints of powercap zones (Documentation/power/powercap/powercap.rst).

use super::attribute::{as_number, number, parse};
use super::domain::Domain;
use super::kind::Kind;
use crate::control::{Control, Write};
use crate::host::Host;
use crate::sysfs::POWERCAP;
use crate::value::Value;
use bayop_core::{Error, Result};

/// The bound of a constraint that does not tell its own: 4295 W, or 72 minutes.
const UNBOUNDED: u64 = u32::MAX as u64;

/// The knob of one attribute of constraints.
#[derive(Debug)]
pub(super) struct Constraint {
    pub id: &'static str,
    /// Its file, behind `constraint_N_`.
    pub attribute: &'static str,
    /// The files of its bounds.
    pub low: Option<&'static str>,
    pub high: &'static str,
    /// The least value where no file tells it, in the kernel's unit.
    pub least: u64,
    /// The kernel's unit in the knob's.
    pub scale: f64,
}

impl Kind for Constraint {
    fn id(&self) -> &'static str {
        self.id
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let mut places = Vec::new();
        for zone in host.names(POWERCAP).iter().filter(|name| name.contains(':')) {
            for index in 0.. {
                if !host.has(&file(zone, index, "power_limit_uw")) {
                    break;
                }
                if host.has(&file(zone, index, self.attribute)) {
                    places.push((format!("{zone}/{index}"), self.domain(host, zone, index)?));
                }
            }
        }
        if places.is_empty() {
            return Err(Error::unsupported(format!("no powercap zone of the kernel has a {}", self.attribute))
                .at(format!("/{POWERCAP}"))
                .hint("without any zone: modprobe intel_rapl_msr"));
        }
        Ok(places)
    }

    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        let (zone, index) = split(at)?;
        Ok(Value::Number(number(host, &file(zone, index, self.attribute))? as f64 * self.scale))
    }

    fn plan(&self, _host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let (zone, index) = split(at)?;
        let control = Control::file(file(zone, index, self.attribute));
        Ok(vec![Write { control, text: format!("{:.0}", as_number(value)? / self.scale) }])
    }
}

impl Constraint {
    /// The constraint's own bounds; the kernel writes 0 where the hardware tells none.
    fn domain(&self, host: &Host, zone: &str, index: u32) -> Result<Domain> {
        let bound = |name: &str| match host.has(&file(zone, index, name)) {
            true => Ok(Some(number(host, &file(zone, index, name))?).filter(|&bound| bound > 0)),
            false => Ok(None),
        };
        let low = self.low.map(bound).transpose()?.flatten().unwrap_or(self.least);
        let high = bound(self.high)?.unwrap_or(UNBOUNDED).max(low);
        Ok(Domain::steps(low as f64 * self.scale, high as f64 * self.scale, self.scale))
    }
}

fn split(at: &str) -> Result<(&str, u32)> {
    at.rsplit_once('/')
        .and_then(|(zone, index)| Some((zone, parse(index)?.try_into().ok()?)))
        .ok_or_else(|| Error::cannot_use(at, "a constraint must be ZONE/INDEX, such as intel-rapl:0/0"))
}

fn file(zone: &str, index: u32, name: &str) -> String {
    format!("{POWERCAP}/{zone}/constraint_{index}_{name}")
}
