//! `bayop-agent restore`: from the journal, without the agent, and whatever its configuration has come to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bayop_agent::agent::boot_id;
use bayop_agent::config;
use bayop_agent::devices::Devices;
use bayop_agent::hold::Hold;
use bayop_agent::journal::Journal;
use bayop_agent::lock::Lock;
use bayop_agent::log;
use bayop_core::Result;
use bayop_knobs::Host;

use super::machine::{Done, Machine};

/// The folder of the journal. A configuration that the agent would refuse is warned of, and keeps nobody from undoing.
///
/// # Errors
/// The configuration that is named can't be read, and no folder is.
pub fn folder(machine: &Machine, state_dir: Option<PathBuf>) -> Result<PathBuf> {
    if let Some(folder) = state_dir {
        return Ok(folder);
    }
    let (folder, wrong) = config::state_dir(machine.config.as_deref())?;
    if let Some(error) = wrong {
        log::say(format_args!("warning: {error}"));
        log::say(format_args!("hint: this restores from {}; --state-dir names another folder", folder.display()));
    }
    Ok(folder)
}

/// Restores the machine and says what became of it. Exits with 3 when it is not as it was found.
pub fn restore(folder: &Path, host: Host, discard_damaged: bool) -> Done {
    let _folder = Lock::folder(folder)?;
    let _machine = Lock::machine(&host, None)?;
    let journal = Journal::new(folder);
    let mut hold = Hold::new(host.clone(), Devices::default(), boot_id(&host)?, journal.clone());
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
    let discarded = if discard_damaged { journal.discard_damaged() } else { Ok(()) };
    let remedy = if discarded.is_ok() { "restore --discard-damaged" } else { "remove it by hand" };
    // What was done for the machine is said all the same.
    discarded.unwrap_or_else(|error| log::say(format_args!("warning: {error}")));
    if hold.is_stale() {
        log::say(format_args!(
            "warning: the journal in {} can't be written and still has all of this",
            folder.display()
        ));
    }
    let damage = hold.damage();
    match &damage {
        Some(damage) => outln!(text, "DAMAGED   {damage}; when the machine is right: {remedy}"),
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
