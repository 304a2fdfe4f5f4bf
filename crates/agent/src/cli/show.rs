//! What the machine has and what the configuration says.

use std::process::ExitCode;

use bayop_agent::config::Config;
use bayop_agent::examination::Examination;
use bayop_agent::knobs::{self, Knobs};
use bayop_agent::readings::SensorReading;
use bayop_agent::server;
use bayop_core::Error;
use bayop_knobs::doctor::{Finding, Service, Status};
use bayop_knobs::knob::survey;
use bayop_knobs::sensor::Sensors;
use serde::Serialize;

use super::machine::{Done, Machine};

/// Lists the knobs.
pub fn knobs(machine: &Machine, json: bool) -> Done {
    let (config, host) = (machine.config()?, machine.host());
    let survey = survey(&host);
    let shown = survey.instances.iter().map(|instance| instance.read(&host)).collect();
    let known = knobs::view(&survey, &config.allow, shown);
    Ok((if json { pretty(&known) } else { table(&known) }, ExitCode::SUCCESS))
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("what is shown has string keys") + "\n"
}

/// An error with its hint on one line.
fn told(error: &Error) -> String {
    error.hint.as_ref().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}

fn table(knobs: &Knobs) -> String {
    let mut text = String::new();
    outln!(text, "{:<36} {:>14} {:<34} WRITABLE", "KNOB", "IN EFFECT", "KERNEL TAKES");
    for knob in &knobs.knobs {
        for place in &knob.places {
            let effective = match (&place.effective, &place.error) {
                (Some(value), _) => format!("{value} {}", knob.unit.unwrap_or_default()),
                (None, error) => error.as_ref().map(told).unwrap_or_default(),
            };
            let allowed = place.allowed.as_ref().map_or_else(|| "no".to_owned(), ToString::to_string);
            let name = format!("{}@{}", knob.id, place.at);
            outln!(text, "{name:<36} {:>14} {:<34} {allowed}", effective.trim_end(), place.domain.to_string());
        }
    }
    for missing in &knobs.missing {
        outln!(text, "{:<36} {:>14} {}", missing.id, "absent", told(&missing.error));
    }
    text
}

/// Reads every sensor.
pub fn sensors(machine: &Machine, json: bool) -> Done {
    let readings = Sensors::open(machine.host(), &machine.config()?.power, 0.0)?.sample(0.0);
    let readings: Vec<SensorReading> = readings.into_iter().map(Into::into).collect();
    if json {
        return Ok((pretty(&readings), ExitCode::SUCCESS));
    }
    let mut text = String::new();
    outln!(text, "{:<16} {:<24} {:>18} {:<4} SOURCE", "SENSOR", "AT", "VALUE", "UNIT");
    for SensorReading { name, at, value, unit, source, estimated, error, .. } in readings {
        let value = value.map_or_else(|| "error".to_owned(), |value| value.to_string());
        let estimated = if estimated { " (estimated)" } else { "" };
        let error = error.map(|error| format!(": {}", told(&error))).unwrap_or_default();
        outln!(text, "{name:<16} {at:<24} {value:>18} {unit:<4} {source}{estimated}{error}");
    }
    Ok((text, ExitCode::SUCCESS))
}

/// Examines the machine. Exits with 4 when something blocks BayOp there.
pub fn doctor(machine: &Machine, json: bool) -> Done {
    let config = machine.config()?;
    let mut options = config.examined();
    options.services.push(Service::agent(config.socket));
    let examination = Examination::of(&machine.host(), &options);
    let code = if examination.blockers == 0 { ExitCode::SUCCESS } else { ExitCode::from(4) };
    if json {
        return Ok((pretty(&examination), code));
    }
    let mut text = String::new();
    for Finding { check, status, found, why, remedy } in examination.findings {
        let status = match status {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Missing => "missing",
            Status::Blocker => "BLOCKER",
        };
        outln!(text, "{status:<8} {check:<24} {found}");
        if let Some(remedy) = remedy {
            outln!(text, "{:<8} {:<24} {why}; remedy: {remedy}", "", "");
        }
    }
    Ok((text, code))
}

/// Checks the configuration against the catalogue and this machine.
pub fn config(machine: &Machine) -> Done {
    let Config { mode, socket, group, state_dir, tls, allow, .. } = machine.config()?;
    tls.as_ref().map_or(Ok(()), server::check_tls)?;
    let mut text = String::new();
    outln!(text, "mode       {mode}");
    outln!(text, "socket     {} for root and the group {group}", socket.display());
    outln!(text, "tls        {}", tls.map_or_else(|| "none".to_owned(), |tls| format!("{} (mutual)", tls.listen)));
    outln!(text, "state_dir  {}", state_dir.display());
    let survey = survey(&machine.host());
    for id in allow.0.keys() {
        let instances = survey.instances.iter().filter(|instance| instance.knob.id == *id);
        let places: Vec<_> = instances.filter_map(|instance| Some((&instance.at, allow.domain(instance)?))).collect();
        if places.is_empty() {
            outln!(text, "allow      {id}: no place of this machine");
        }
        for (at, domain) in places {
            outln!(text, "allow      {id}@{at}: {domain}");
        }
    }
    Ok((text, ExitCode::SUCCESS))
}
