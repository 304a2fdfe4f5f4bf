//! The machine's knobs as the API shows them.

use std::collections::BTreeMap;

use bayop_knobs::knob::{Instance, Survey};
use bayop_knobs::{Value, catalogue};

use crate::allow_list::AllowList;
use crate::api::{Knob, Knobs, MissingKnob, Place};
use bayop_core::Result;

/// The knob of an instance's name: `nic.rx_usecs` of `nic.rx_usecs@eth0`.
pub fn id(name: &str) -> &str {
    name.split_once('@').map_or(name, |(id, _)| id)
}

/// The knobs of a survey in the catalogue's order; `effective` reads the value in effect.
pub fn view(survey: &Survey, allow: &AllowList, effective: impl Fn(&Instance) -> Result<Value>) -> Knobs {
    let mut places: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for instance in &survey.instances {
        let (effective, error) = match effective(instance) {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error)),
        };
        places.entry(&instance.knob.id).or_default().push(Place {
            at: instance.at.clone(),
            domain: instance.domain.clone(),
            allowed: allow.domain(instance),
            effective,
            error,
        });
    }
    let knob = |entry: &'static catalogue::Entry| {
        let places = places.remove(entry.id.as_str())?;
        let unit = entry.unit.as_deref();
        Some(Knob { id: &entry.id, summary: &entry.summary, unit, safest: entry.safest, places })
    };
    let missing = |gap: &bayop_knobs::knob::Missing| MissingKnob { id: &gap.knob.id, error: gap.why.clone() };
    Knobs {
        knobs: catalogue::entries().iter().filter_map(knob).collect(),
        missing: survey.missing.iter().map(missing).collect(),
    }
}
