//! Which knobs there are.

use super::finding::{Finding, Status};
use crate::knob::Survey;

/// How many places are named before the rest is counted.
const NAMED: usize = 4;

pub(super) fn examine(survey: &Survey, filter: &[String]) -> Vec<Finding> {
    let is_asked = |id: &str| filter.is_empty() || filter.iter().any(|knob| knob == id);
    let mut findings = Vec::new();
    let mut ids: Vec<&str> = survey.instances.iter().map(|instance| instance.knob.id.as_str()).collect();
    ids.dedup();
    for id in ids.iter().filter(|id| is_asked(id)) {
        let entry = survey.instances.iter().filter(|instance| instance.knob.id == **id);
        let places: Vec<&str> = entry.map(|instance| instance.at.as_str()).collect();
        let summary = crate::catalogue::entry(id).map_or("", |entry| &entry.summary);
        findings.push(Finding::ok(format!("knob {id}"), at(&places), summary));
    }
    let missing = survey.missing.iter().filter(|missing| is_asked(&missing.knob.id));
    findings.extend(missing.map(|missing| {
        Finding::missing(format!("knob {}", missing.knob.id), &missing.why, missing.knob.summary.as_str())
    }));
    for unknown in filter.iter().filter(|id| crate::catalogue::entry(id).is_none()) {
        findings.push(
            Finding::new(format!("knob {unknown}"), Status::Missing, "no such knob", "the catalogue does not have it")
                .remedy("bayop knobs"),
        );
    }
    if !findings.iter().any(|finding| finding.status == Status::Ok) {
        let (found, why) = ("none of the knobs asked for", "there is nothing to tune");
        findings
            .push(Finding::new("knobs", Status::Blocker, found, why).remedy("solve one of the missing knobs above"));
    }
    findings
}

fn at(places: &[&str]) -> String {
    match places.len().checked_sub(NAMED).filter(|&more| more > 0) {
        Some(more) => format!("{} and {more} more", places[..NAMED].join(", ")),
        None => places.join(", "),
    }
}
