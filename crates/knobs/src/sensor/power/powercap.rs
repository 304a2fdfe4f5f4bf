//! Energy of powercap zones, RAPL's above all (Documentation/power/powercap/powercap.rst;
//! drivers/powercap/intel_rapl_common.c names the zones).
//!
//! A zone `TYPE:I` stands for itself; `TYPE:I:J` is a part of it. RAPL's `core` and `uncore` are inside their package's
//! number and its `dram` is not; `psys` is the whole platform and so contains the packages. The same package appears
//! once more under the control type `intel-rapl-mmio`.

use super::super::attribute::Attribute;
use super::super::counter::EnergyCounter;
use super::{Channel, Input, Look, Method};
use crate::error::Result;
use crate::host::Host;

const CLASS: &str = "sys/class/powercap";
const J_PER_UJ: f64 = 1e-6;

/// The channels of the zones that count energy, each place once.
pub(super) fn channels(host: &Host) -> Vec<Channel> {
    let mut channels: Vec<Channel> = Vec::new();
    for zone in zones(host) {
        if channels.iter().all(|channel| channel.at != zone.at) {
            let source = format!("/{}", zone.file("energy_uj"));
            channels.push(Channel::new(zone.at.clone(), source, zone.method(), zone.is_counted(), Energy::new(&zone)));
        }
    }
    channels
}

/// A zone that counts energy.
#[derive(Debug)]
struct Zone {
    /// As in sysfs: `intel-rapl:0:1`.
    id: String,
    /// Its name under that of the zone around it: `package-0/dram`.
    at: String,
    depth: usize,
}

/// The zones, those around others first; of two control types with the same zones, `intel-rapl` before
/// `intel-rapl-mmio`.
fn zones(host: &Host) -> Vec<Zone> {
    let mut ids: Vec<String> = host.names(CLASS).into_iter().filter(|id| id.contains(':')).collect();
    ids.sort_by_key(|id| (id.matches(':').count(), id.contains("mmio")));
    let name = |id: &str| host.read(&format!("{CLASS}/{id}/name")).unwrap_or_else(|_| id.to_owned());
    let place = |id: &str| {
        let mut place = name(id);
        let mut inner = id;
        while let Some((outer, _)) = inner.rsplit_once(':').filter(|(outer, _)| outer.contains(':')) {
            place = format!("{}/{place}", name(outer));
            inner = outer;
        }
        place
    };
    let with_energy = ids.into_iter().filter(|id| host.has(&format!("{CLASS}/{id}/energy_uj")));
    with_energy.map(|id| Zone { at: place(&id), depth: id.matches(':').count(), id }).collect()
}

impl Zone {
    fn file(&self, attribute: &str) -> String {
        format!("{CLASS}/{}/{attribute}", self.id)
    }

    fn method(&self) -> Method {
        if self.at == "psys" { Method::Psys } else { Method::Powercap }
    }

    /// Whether no other zone's energy contains this one's. A zone without parts that was made by another driver than
    /// RAPL's is taken for itself.
    fn is_counted(&self) -> bool {
        self.depth == 1 || self.at.ends_with("/dram")
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
                let range_uj = self.max_energy_range_uj.read(host)?;
                self.counter.insert(EnergyCounter::new(J_PER_UJ, Some(range_uj)))
            }
        };
        let energy_j = counter.look(self.energy_uj.read(host)?, time_s)?;
        Ok(Look { energy_j, power_w: None })
    }

    fn look_within_s(&self) -> Option<f64> {
        self.counter.as_ref()?.look_within_s()
    }
}
