//! `bayop-agent restore`: from the journal, without the agent, and whatever its configuration has come to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bayop_agent::agent::boot_id;
use bayop_agent::config;
use bayop_agent::hold::Hold;
use bayop_agent::journal::Journal;
use bayop_agent::lock::Lock;
use bayop_knobs::Host;

use super::machine::{Done, Machine};

/// The folder of the journal. A configuration that the agent would refuse is warned of, and keeps nobody from undoing.
pub fn folder(machine: &Machine, state_dir: Option<PathBuf>) -> PathBuf {
    state_dir.unwrap_or_else(|| {
        let (folder, wrong) = config::state_dir(machine.config.as_deref());
        if let Some(error) = wrong {
            eprintln!("warning: {error}");
            eprintln!("hint: this restores from {}; --state-dir names another folder", folder.display());
        }
        folder
    })
}

/// Restores the machine and says what became of it. Exits with 3 when it is not as it was found.
pub fn restore(folder: &Path, host: Host, discard_damaged: bool) -> Done {
    let _lock = Lock::take(folder)?;
    let journal = Journal::new(folder);
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
pub fn print(folder: &Path) -> Done {
    let loaded = Journal::new(folder).read()?;
    let mut text = String::new();
    if let Some(damage) = &loaded.damage {
        outln!(text, "# the journal is damaged, so this is not all: {damage}");
    }
    for entry in loaded.entries.iter().rev() {
        outln!(text, "{}", entry.restore_command());
    }
    Ok((text, ExitCode::SUCCESS))
}
