//! The machine's knobs as the API shows them.

use std::collections::BTreeMap;

use bayop_knobs::catalogue::{self, End};
use bayop_knobs::knob::{Domain, Missing, Survey};
use bayop_knobs::{KnobValue, Value};
use serde::Serialize;
use utoipa::ToSchema;

use crate::allow_list::AllowList;
use bayop_core::{Error, Result};

/// The knobs of this machine.
#[derive(Debug, Serialize, ToSchema)]
pub struct Knobs {
    /// Those that it has.
    pub knobs: Vec<Knob>,
    /// Those that it has not, with the reason.
    pub missing: Vec<MissingKnob>,
}

/// One knob.
#[derive(Debug, Serialize, ToSchema)]
pub struct Knob {
    /// Such as `nic.rx_usecs`.
    pub id: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// The unit of its numbers.
    #[schema(required)]
    pub unit: Option<&'static str>,
    /// Which end of its numbers makes the service fastest.
    #[schema(required)]
    pub safest: Option<End>,
    /// Where it is.
    pub places: Vec<Place>,
}

/// A knob in one place.
#[derive(Debug, Serialize, ToSchema)]
pub struct Place {
    /// Such as `eth0`.
    pub at: String,
    /// What the kernel takes.
    pub domain: Domain,
    /// What of it the allow-list lets be written; null when nothing.
    #[schema(required)]
    pub allowed: Option<Domain>,
    /// Its value in effect; null when it can't be read.
    #[schema(required)]
    pub effective: Option<KnobValue>,
    /// Why it can't be read.
    #[schema(required)]
    pub error: Option<Error>,
}

/// A knob that this machine does not have.
#[derive(Debug, Serialize, ToSchema)]
pub struct MissingKnob {
    /// Such as `power.cap_w`.
    pub id: &'static str,
    /// Why, and what to do about it.
    pub error: Error,
}

/// The knobs of a survey in the catalogue's order, with the values in effect of its instances in theirs.
pub fn view(survey: &Survey, allow: &AllowList, effective: Vec<Result<Value>>) -> Knobs {
    let mut places: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for (instance, effective) in survey.instances.iter().zip(effective) {
        let (effective, error) = match effective {
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
    let missing = |gap: &Missing| MissingKnob { id: &gap.knob.id, error: gap.why.clone() };
    Knobs {
        knobs: catalogue::entries().iter().filter_map(knob).collect(),
        missing: survey.missing.iter().map(missing).collect(),
    }
}
