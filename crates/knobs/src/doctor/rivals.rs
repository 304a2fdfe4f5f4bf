//! Other services that turn the same knobs.

use super::finding::Finding;
use crate::host::Host;

/// Where systemd keeps what the administrator enabled or masked.
const UNITS: &str = "etc/systemd/system";

/// A service that turns knobs by itself.
#[derive(Debug)]
struct Rival {
    unit: &'static str,
    /// The process's name as the kernel cuts it, to 15 bytes; empty for one that runs and exits.
    comm: &'static str,
    /// Which knobs it turns, or what else it moves.
    owns: &'static str,
}

const RIVALS: [Rival; 8] = [
    Rival { unit: "tuned", comm: "tuned", owns: "cpu.*, idle.* and nic.*, by profile" },
    Rival { unit: "tuned-ppd", comm: "tuned-ppd", owns: "cpu.*, by TuneD's profiles" },
    Rival { unit: "power-profiles-daemon", comm: "power-profiles-", owns: "cpu.epp and cpu.boost" },
    Rival { unit: "auto-cpufreq", comm: "auto-cpufreq", owns: "cpu.*" },
    Rival { unit: "tlp", comm: "", owns: "cpu.*" },
    Rival { unit: "cpupower", comm: "", owns: "cpu.freq_mhz, at boot" },
    Rival { unit: "thermald", comm: "thermald", owns: "power.cap_w and cpu.freq_mhz, when the machine is hot" },
    Rival { unit: "irqbalance", comm: "irqbalance", owns: "no knob, but the CPUs of the NICs' interrupts" },
];

/// What is known of a rival's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    running: bool,
    enabled: bool,
}

/// Whether a process of that name may be a rival's.
pub(crate) fn is_process(comm: &str) -> bool {
    RIVALS.iter().any(|rival| rival.comm == comm)
}

/// Whether a file of that name in a target's folder enables a rival.
pub(crate) fn is_unit(file: &str) -> bool {
    RIVALS.iter().any(|rival| file.strip_suffix(".service") == Some(rival.unit))
}

pub(super) fn examine(host: &Host) -> Vec<Finding> {
    let running = processes(host);
    let enabled = enabled_units(host);
    let state = |rival: &Rival| State {
        running: running.iter().any(|comm| comm == rival.comm),
        enabled: enabled.iter().any(|unit| unit.strip_suffix(".service") == Some(rival.unit)),
    };
    let rivals: Vec<Finding> = RIVALS.iter().filter_map(|rival| finding(rival, state(rival))).collect();
    if rivals.is_empty() {
        let names = RIVALS.map(|rival| rival.unit).join(", ");
        return vec![Finding::ok("rivals", "none", format!("these turn the same knobs: {names}"))];
    }
    rivals
}

fn finding(rival: &Rival, state: State) -> Option<Finding> {
    let found = match state {
        State { running: true, enabled: true } => "running and enabled",
        State { running: true, enabled: false } => "running",
        State { running: false, enabled: true } => "enabled",
        State { running: false, enabled: false } => return None,
    };
    let why = format!("turns {}; BayOp stands down on a knob that somebody else turns", rival.owns);
    let remedy = format!("systemctl disable --now {}", rival.unit);
    Some(Finding::note(format!("rival {}", rival.unit), found, why).remedy(remedy))
}

/// The names of all processes.
fn processes(host: &Host) -> Vec<String> {
    host.processes().into_iter().filter_map(|id| host.read(&format!("proc/{id}/comm")).ok()).collect()
}

/// The units that some target wants.
fn enabled_units(host: &Host) -> Vec<String> {
    let folders = host.names(UNITS).into_iter().filter(|name| name.ends_with(".wants"));
    folders.flat_map(|folder| host.names(&format!("{UNITS}/{folder}"))).collect()
}
