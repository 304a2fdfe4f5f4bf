//! Energy of powercap zones, RAPL's above all (Documentation/power/powercap/powercap.rst;
//! drivers/powercap/intel_rapl_common.c names the zones).
//!
//! A zone `TYPE:I` stands for itself; `TYPE:I:J` is a part of it. RAPL's `core` and `uncore` are inside their package's
//! number and its `dram` is not; `psys` is the whole platform and so contains the packages. The same package appears
//! once more under the control type `intel-rapl-mmio`. A package of several dies has a zone for each,
//! `package-0-die-1`: Intel's dies count for themselves, but AMD counts by socket, and each die shows the socket's
//! number.

use super::super::attribute::Attribute;
use super::super::counter::EnergyCounter;
use super::channel::{Channel, Input, Look};
use super::options::Method;
use super::vendor::{self, Vendor};
use crate::host::Host;
use crate::sysfs::{POWERCAP, UJ_PER_J};
use bayop_core::Result;

/// The channels of the zones that count energy, each place once.
pub(super) fn channels(host: &Host) -> Vec<Channel> {
    let zones = zones(host);
    let dies_count = !vendor::of(host).is_some_and(Vendor::counts_energy_by_socket);
    let counted: Vec<bool> = zones.iter().map(|zone| is_counted(zone, &zones, dies_count)).collect();
    zones.into_iter().zip(counted).map(|(zone, counted)| zone.channel(counted)).collect()
}

/// A zone that counts energy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Zone {
    /// As in sysfs: `intel-rapl:0:1`.
    id: String,
    /// Its name under those of the zones around it: `package-0/dram`.
    at: String,
}

/// The zones, those around others first. A place that two control types show is taken once, from the one that is not
/// memory-mapped.
fn zones(host: &Host) -> Vec<Zone> {
    let mut ids = host.names(POWERCAP);
    ids.retain(|id| id.contains(':') && host.has(&format!("{POWERCAP}/{id}/energy_uj")));
    ids.sort_by_key(|id| (id.matches(':').count(), id.contains("mmio")));
    let mut zones: Vec<Zone> = Vec::new();
    for id in ids {
        let mut zone = Zone { at: place(host, &id), id };
        match zones.iter().find(|other| other.at == zone.at) {
            Some(other) if other.control_type() != zone.control_type() => continue,
            Some(_) => zone.at = format!("{} ({})", zone.at, zone.id),
            None => {}
        }
        zones.push(zone);
    }
    zones
}

/// The names from the outermost zone to this one.
fn place(host: &Host, id: &str) -> String {
    let name = host.read(&format!("{POWERCAP}/{id}/name")).unwrap_or_else(|_| id.to_owned());
    match id.rsplit_once(':') {
        Some((outer, _)) if outer.contains(':') => format!("{}/{name}", place(host, outer)),
        _ => name,
    }
}

/// Whether the zone is a summand of the machine's energy: no other zone that is one contains it.
fn is_counted(zone: &Zone, zones: &[Zone], dies_count: bool) -> bool {
    if let Some((outer, inner)) = zone.at.split_once('/') {
        let outer = zones.iter().find(|other| other.at == outer);
        return inner == "dram" && outer.is_some_and(|outer| is_counted(outer, zones, dies_count));
    }
    let Some(package) = zone.package_of_die() else { return true };
    let is_first = || zones.iter().find(|other| other.package_of_die() == Some(package)) == Some(zone);
    zones.iter().all(|other| other.at != package) && (dies_count || is_first())
}

impl Zone {
    fn file(&self, attribute: &str) -> String {
        format!("{POWERCAP}/{}/{attribute}", self.id)
    }

    fn control_type(&self) -> &str {
        self.id.split(':').next().unwrap_or(&self.id)
    }

    /// `package-0` for `package-0-die-1`.
    fn package_of_die(&self) -> Option<&str> {
        self.at.split_once("-die-").filter(|(_, die)| !die.contains('/')).map(|(package, _)| package)
    }

    fn channel(self, counted: bool) -> Channel {
        let method = if self.at == "psys" { Method::Psys } else { Method::Powercap };
        let energy = Energy::new(&self);
        Channel::new(self.at, energy.energy_uj.source(), method, counted, energy)
    }
}

/// The energy counter of one zone.
#[derive(Debug)]
struct Energy {
    energy_uj: Attribute,
    max_energy_range_uj: Attribute,
    counter: Option<EnergyCounter>,
}

impl Energy {
    fn new(zone: &Zone) -> Self {
        Self {
            energy_uj: Attribute::new(zone.file("energy_uj")),
            max_energy_range_uj: Attribute::new(zone.file("max_energy_range_uj")),
            counter: None,
        }
    }
}

impl Input for Energy {
    fn look(&mut self, host: &Host, time_s: f64) -> Result<Look> {
        let counter = match &mut self.counter {
            Some(counter) => counter,
            None => {
                // The greatest value is one unit short of the period, and a unit is far below what a wrap is read at.
                let range_uj = self.max_energy_range_uj.read(host)?;
                self.counter.insert(EnergyCounter::new(UJ_PER_J, Some(range_uj)))
            }
        };
        let energy_j = counter.look(self.energy_uj.read(host)?, time_s)?;
        Ok(Look { energy_j, power_w: None })
    }

    fn look_within_s(&self) -> Option<f64> {
        self.counter.as_ref()?.look_within_s()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The places of a machine: for each package whole or in dies, with any parts below.
    fn places() -> impl Strategy<Value = Vec<String>> {
        let tops = prop::sample::subsequence(
            vec!["package-0", "package-0-die-0", "package-0-die-1", "package-1", "package-1-die-0", "psys"],
            1..=6,
        );
        let parts = prop::sample::subsequence(vec!["core", "uncore", "dram", "gpu/dram"], 0..=4);
        (tops, parts).prop_map(|(tops, parts)| {
            let below = tops.iter().flat_map(|top| parts.iter().map(move |part| format!("{top}/{part}")));
            tops.iter().map(|top| (*top).to_owned()).chain(below).collect()
        })
    }

    proptest! {
        #[test]
        fn nothing_that_is_counted_contains_anything_else_that_is(places in places(), dies_count in any::<bool>()) {
            let zone = |(index, at): (usize, String)| Zone { id: format!("intel-rapl:{index}"), at };
            let zones: Vec<Zone> = places.into_iter().enumerate().map(zone).collect();
            let counted: Vec<&str> =
                zones.iter().filter(|zone| is_counted(zone, &zones, dies_count)).map(|zone| zone.at.as_str()).collect();
            for at in &counted {
                let (top, part) = at.split_once('/').map_or((*at, None), |(top, part)| (top, Some(part)));
                prop_assert!(part.is_none_or(|part| part == "dram" && counted.contains(&top)));
                let whole = top.split("-die-").next().unwrap();
                prop_assert!(whole == top || !counted.contains(&whole), "{} and {whole}", top);
            }
            for package in ["package-0", "package-1"] {
                let dies = counted.iter().filter(|at| !at.contains('/') && at.starts_with(&format!("{package}-die-")));
                prop_assert!(dies_count || dies.count() <= 1);
                let is_there = |at: &&str| !at.contains('/') && (*at == package || at.starts_with(&format!("{package}-die-")));
                let exists = zones.iter().any(|zone| is_there(&zone.at.as_str()));
                prop_assert_eq!(exists, counted.iter().any(is_there), "a package that is there is counted");
            }
        }
    }
}
