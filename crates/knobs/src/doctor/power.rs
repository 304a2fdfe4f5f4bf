//! Which meter the machine's energy comes from.

use super::finding::Finding;
use crate::host::Host;
use crate::sensor::{self, Method, Sensors};

const CHECK: &str = "power meter";

pub(super) fn examine(host: &Host, options: &sensor::Options) -> Vec<Finding> {
    let why = "power is what BayOp minimises";
    let sensors = match Sensors::open(host.clone(), options, 0.0) {
        Ok(sensors) => sensors,
        Err(error) => return vec![Finding::missing(CHECK, &error, why)],
    };
    let meter = match sensors.method() {
        Ok(Method::Model) => Finding::note(CHECK, "model, an estimate from utilization", why)
            .remedy("load a meter's driver: modprobe intel_rapl_msr, xgene_hwmon or acpi_power_meter"),
        Ok(method) => Finding::ok(CHECK, meter(&sensors, method), why),
        Err(error) => {
            let mut finding = Finding::missing(CHECK, &error, why);
            if error.hint.as_deref() == Some("run as root") {
                let side_channel = "run as root, as the agent does; others may not read it since CVE-2020-8694";
                finding = finding.remedy(side_channel);
            }
            finding
        }
    };
    let mut findings = vec![meter];
    let unused = sensors.uncounted_inputs();
    let is_measured = sensors.method().is_ok_and(|method| method != Method::Model);
    if !unused.is_empty() && !is_measured {
        let why = "what these hwmon inputs measure is not known, so they are not taken for the machine";
        findings.push(
            Finding::note("other power inputs", unused.join(", "), why)
                .remedy("name those that make up the machine as `inputs` under [power] in the agent's configuration"),
        );
    }
    findings
}

/// The meter with what it sums.
fn meter(sensors: &Sensors, method: Method) -> String {
    let within = sensors.tick_within_s().map(|within_s| format!(", read at least every {within_s:.0} s"));
    format!("{method}: {}{}", sensors.counted().join(" + "), within.unwrap_or_default())
}
