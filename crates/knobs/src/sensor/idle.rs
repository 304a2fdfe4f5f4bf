//! Idle states: how long and how often each CPU was in each, and how often too long or too short
//! (Documentation/admin-guide/pm/cpuidle.rst, "Representation of Idle States").

use super::reading::{Quantity, Sample};
use super::text::number;
use crate::host::Host;
use crate::sysfs::CPUS;

/// An attribute of a state, what it is read as, and the factor between them.
const ATTRIBUTES: [(&str, Quantity, f64); 5] = [
    ("time", Quantity::counter("idle_time_s", "s"), 1e-6),
    ("usage", Quantity::counter("idle_usage", "1"), 1.0),
    // The sleep ended early enough for a shallower state to have fit better.
    ("above", Quantity::counter("idle_above", "1"), 1.0),
    // The sleep lasted long enough for a deeper state to have fit better.
    ("below", Quantity::counter("idle_below", "1"), 1.0),
    ("disable", Quantity::gauge("idle_disabled", "1"), 1.0),
];

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    for cpu in super::cpu::names(host) {
        let folder = format!("{CPUS}/{cpu}/cpuidle");
        for state in host.names(&folder).iter().filter(|name| name.starts_with("state")) {
            let name = host.read(&format!("{folder}/{state}/name")).unwrap_or_else(|_| state.clone());
            for (attribute, quantity, factor) in ATTRIBUTES {
                let file = format!("{folder}/{state}/{attribute}");
                // Kernels before 5.2 don't count `above` and `below`.
                if host.has(&file) {
                    let value = host.read(&file).and_then(|text| number(text.as_bytes()));
                    let value =
                        value.map(|number| number as f64 * factor).map_err(|error| error.at(format!("/{file}")));
                    sample.add(quantity, format!("{cpu}/{name}"), format!("/{file}"), value);
                }
            }
        }
    }
}
