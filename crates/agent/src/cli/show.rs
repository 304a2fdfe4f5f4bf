//! What the machine has and what the configuration says.

use std::process::ExitCode;

use bayop_agent::Result;
use bayop_agent::api::Knobs;
use bayop_agent::config::Config;
use bayop_agent::knobs;
use bayop_knobs::knob::survey;

use super::Machine;

/// Lists the knobs.
pub fn knobs(machine: &Machine, json: bool) -> Result<ExitCode> {
    let (config, host) = (machine.config()?, machine.host());
    let known = knobs::view(&survey(&host), &config.allow, |instance| Ok(instance.read(&host)?));
    if json {
        println!("{}", serde_json::to_string_pretty(&known).expect("knobs have finite numbers"));
    } else {
        table(&known);
    }
    Ok(ExitCode::SUCCESS)
}

fn table(knobs: &Knobs) {
    println!("{:<36} {:>14} {:<34} WRITABLE", "KNOB", "IN EFFECT", "KERNEL TAKES");
    for knob in &knobs.knobs {
        for place in &knob.places {
            let effective = match (&place.effective, &place.error) {
                (Some(value), _) => format!("{value} {}", knob.unit.unwrap_or_default()),
                (None, error) => error.as_ref().map(ToString::to_string).unwrap_or_default(),
            };
            let allowed = place.allowed.as_ref().map_or_else(|| "no".to_owned(), ToString::to_string);
            let name = format!("{}@{}", knob.id, place.at);
            println!("{name:<36} {:>14} {:<34} {allowed}", effective.trim_end(), place.domain.to_string());
        }
    }
    for missing in &knobs.missing {
        println!("{:<36} {:>14} {}", missing.id, "absent", missing.error.to_string().replace('\n', "; "));
    }
}

/// Checks the configuration against the catalogue and this machine.
pub fn config(machine: &Machine) -> Result<ExitCode> {
    let Config { mode, socket, group, state_dir, tls, allow, .. } = machine.config()?;
    println!("mode       {mode}");
    println!("socket     {} for root and the group {group}", socket.display());
    println!("tls        {}", tls.map_or_else(|| "none".to_owned(), |tls| format!("{} (mutual)", tls.listen)));
    println!("state_dir  {}", state_dir.display());
    let survey = survey(&machine.host());
    for id in allow.0.keys() {
        let instances = survey.instances.iter().filter(|instance| instance.knob.id == *id);
        let places: Vec<_> = instances.filter_map(|instance| Some((&instance.at, allow.domain(instance)?))).collect();
        if places.is_empty() {
            println!("allow      {id}: no place of this machine");
        }
        for (at, domain) in places {
            println!("allow      {id}@{at}: {domain}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
