//! `bayop-agent restore`: from the journal, without the agent.

use std::process::ExitCode;

use bayop_agent::agent::boot_id;
use bayop_agent::hold::Hold;
use bayop_agent::journal::Journal;
use bayop_agent::lock::Lock;

use super::{Done, Machine};

/// Restores the machine and says what became of it. Exits with 3 when it is not as it was found.
pub fn restore(machine: &Machine, discard_damaged: bool) -> Done {
    let (config, host) = (machine.config()?, machine.host());
    let _lock = Lock::take(&config.state_dir)?;
    let journal = Journal::new(&config.state_dir);
    let mut hold = Hold::new(host.clone(), boot_id(&host)?, journal.clone());
    let outcome = hold.recover()?;
    let mut text = String::new();
    for knob in &outcome.restored {
        outln!(text, "restored  {knob}");
    }
    for knob in &outcome.stood_down {
        outln!(text, "left      {knob} (somebody else, or a reboot, changed it since)");
    }
    for (knob, reason) in &outcome.latched {
        outln!(text, "FAILED    {knob}: {reason}");
    }
    if discard_damaged {
        journal.discard_damaged()?;
    }
    let damage = hold.damage();
    match &damage {
        Some(damage) => outln!(text, "DAMAGED   {damage}; when the machine is right: restore --discard-damaged"),
        None if outcome == Default::default() => outln!(text, "nothing to restore"),
        None => {}
    }
    let done = outcome.latched.is_empty() && damage.is_none();
    Ok((text, if done { ExitCode::SUCCESS } else { ExitCode::from(3) }))
}

/// Prints the commands that restore the machine. Changes nothing, so that it works while the agent runs.
pub fn print(machine: &Machine) -> Done {
    let journal = Journal::new(machine.config()?.state_dir);
    let loaded = journal.read()?;
    let mut text = String::new();
    if let Some(damage) = &loaded.damage {
        outln!(text, "# the journal is damaged, so this is not all: {damage}");
    }
    for entry in loaded.entries.iter().rev() {
        outln!(text, "{}", entry.restore_command());
    }
    Ok((text, ExitCode::SUCCESS))
}
