//! Power caps: the constraints of powercap zones (Documentation/power/powercap/powercap.rst).

use super::{Domain, Kind};
use crate::control::{Control, Write};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::value::Value;

const CLASS: &str = "sys/class/powercap";
const UW_PER_W: f64 = 1e6;

/// `power.cap_w`: the average power that a constraint allows.
#[derive(Debug)]
pub(super) struct Cap;

impl Kind for Cap {
    fn id(&self) -> &'static str {
        "power.cap_w"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let mut places = Vec::new();
        for zone in host.names(CLASS).iter().filter(|name| name.contains(':')) {
            for index in 0.. {
                if !host.has(&format!("{CLASS}/{zone}/constraint_{index}_power_limit_uw")) {
                    break;
                }
                let high = number(host, zone, index, "max_power_uw").unwrap_or(f64::MAX) / UW_PER_W;
                places.push((format!("{zone}/{index}"), Domain::Steps { low: 0.0, high, step: 1.0 / UW_PER_W }));
            }
        }
        if places.is_empty() {
            return Err(Error::unsupported("the kernel offers a powercap zone with a constraint")
                .at(format!("/{CLASS}"))
                .hint("modprobe intel_rapl_msr"));
        }
        Ok(places)
    }

    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        let (zone, index) = split(at)?;
        Ok(Value::Number(number(host, zone, index, "power_limit_uw")? / UW_PER_W))
    }

    fn plan(&self, _host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let (zone, index) = split(at)?;
        let Value::Number(cap_w) = value else {
            return Err(Error::input("a power cap is a number of watts").value(value));
        };
        let control = Control::file(attribute(zone, index, "power_limit_uw"));
        Ok(vec![Write { control, text: format!("{:.0}", cap_w * UW_PER_W) }])
    }
}

fn split(at: &str) -> Result<(&str, u32)> {
    at.rsplit_once('/')
        .and_then(|(zone, index)| Some((zone, index.parse().ok()?)))
        .ok_or_else(|| Error::input("a constraint is ZONE/INDEX, such as intel-rapl:0/0").value(at))
}

fn attribute(zone: &str, index: u32, name: &str) -> String {
    format!("{CLASS}/{zone}/constraint_{index}_{name}")
}

fn number(host: &Host, zone: &str, index: u32, name: &str) -> Result<f64> {
    let path = attribute(zone, index, name);
    let text = host.read(&path)?;
    text.parse().map_err(|_| Error::unsupported("the attribute is a whole number").value(text).at(format!("/{path}")))
}
