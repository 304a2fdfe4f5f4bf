//! The AppArmor profile of the service lets the agent write what knobs write and read what BayOp looks at, on every
//! recorded machine, and write nothing else of the kernel's.

use std::collections::BTreeSet;
use std::fs;

use bayop_knobs::catalogue::entries;
use bayop_knobs::control::Control;
use bayop_knobs::knob::{Domain, survey};
use bayop_knobs::{Value, recording, tree};

const PROFILE: &str = include_str!("../../../packaging/apparmor/bayop-agent");
const MACHINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines");

/// What the profile takes from `abstractions/base`.
const IN_THE_BASE: [&str; 2] = ["/proc/cpuinfo", "/proc/stat"];

/// Attributes of the kernel, and files, that make whoever writes them its master.
const FORBIDDEN: [&str; 16] = [
    "/dev/mem",
    "/dev/sda",
    "/etc/bayop/agent.toml",
    "/etc/passwd",
    "/proc/sys/kernel/core_pattern",
    "/proc/sysrq-trigger",
    "/sys/bus/pci/drivers/ixgbe/unbind",
    "/sys/devices/pci0000:00/0000:00:03.0/config",
    "/sys/devices/pci0000:00/0000:00:03.0/driver_override",
    "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu",
    "/sys/devices/pci0000:00/0000:00:03.0/remove",
    "/sys/devices/pci0000:00/0000:00:03.0/resource0",
    "/sys/devices/pci0000:00/0000:00:03.0/sriov_numvfs",
    "/sys/devices/system/cpu/cpu1/online",
    "/sys/devices/system/memory/probe",
    "/sys/kernel/uevent_helper",
];

#[test]
fn every_control_of_every_knob_can_be_written() {
    let (mut knobs, mut files) = (BTreeSet::new(), BTreeSet::new());
    for text in machines() {
        let root = tempfile::tempdir().unwrap();
        let host = tree::unpack(&text, root.path()).unwrap();
        for instance in survey(&host).instances {
            let values = match &instance.domain {
                Domain::Choices(choices) => choices.clone(),
                Domain::Steps { low, high, .. } => vec![Value::Number(*low), Value::Number(*high)],
            };
            let writes = values.iter().flat_map(|value| instance.plan(&host, value).unwrap());
            for control in writes.map(|write| write.control) {
                files.extend(control.reaches(&host).unwrap().iter().chain([&control]).filter_map(file));
            }
            knobs.insert(instance.knob.id.as_str());
        }
    }
    assert_eq!(knobs, entries().iter().map(|entry| entry.id.as_str()).collect(), "no recorded machine has a knob");
    let refused: Vec<_> = files.iter().filter(|file| !allows('w', file) || !allows('r', file)).collect();
    assert!(files.len() > 50 && refused.is_empty(), "{refused:#?}");
}

#[test]
fn whatever_bayop_looks_at_can_be_read() {
    let mut files = BTreeSet::new();
    for text in machines() {
        let root = tempfile::tempdir().unwrap();
        let record = recording::record(&tree::unpack(&text, root.path()).unwrap());
        let paths = record.lines().filter_map(|line| line.strip_prefix("=== "));
        let paths = paths.filter(|path| !path.contains(" -> ") && !path.starts_with("ethtool/"));
        files.extend(paths.map(|path| on_a_server(path.split(" !").next().unwrap())));
    }
    let refused: Vec<_> =
        files.iter().filter(|file| !allows('r', file) && !IN_THE_BASE.contains(&file.as_str())).collect();
    assert!(files.len() > 100 && refused.is_empty(), "{refused:#?}");
}

#[test]
fn nothing_else_can_be_written() {
    let open: Vec<_> = FORBIDDEN.into_iter().filter(|file| allows('w', file)).collect();
    assert!(open.is_empty(), "{open:?}");
}

fn machines() -> impl Iterator<Item = String> {
    fs::read_dir(MACHINES).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
}

/// The file of a control; none for those that are set by netlink or ioctl.
fn file(control: &Control) -> Option<String> {
    match control {
        Control::File { path } => Some(on_a_server(path)),
        Control::Msr { cpu, .. } => Some(format!("/dev/cpu/{cpu}/msr")),
        Control::DmaLatency => Some("/dev/cpu_dma_latency".to_owned()),
        Control::Coalesce { .. } | Control::Napi { .. } | Control::Indirection { .. } => None,
    }
}

/// Where the links of the kernel's classes lead, which a recorded machine does without; AppArmor sees that path.
fn on_a_server(path: &str) -> String {
    let folder = |class: &str, devices: &str| {
        path.strip_prefix(&format!("sys/class/{class}/")).map(|rest| format!("/sys/devices/{devices}/{rest}"))
    };
    let powercap = || {
        let zone = path.strip_prefix("sys/class/powercap/")?.split('/').next()?;
        let parents = zone.match_indices(':').map(|(end, _)| format!("{}/", &zone[..end])).collect::<String>();
        folder("powercap", &format!("virtual/powercap/{}", parents.trim_end_matches('/')))
    };
    folder("net", "pci0000:00/0000:00:03.0/virtio1/net")
        .or_else(|| folder("hwmon", "platform/meter/hwmon"))
        .or_else(powercap)
        .unwrap_or_else(|| format!("/{path}"))
}

/// Whether a rule of the profile gives the permission for the file.
fn allows(permission: char, file: &str) -> bool {
    let rules = PROFILE.lines().filter_map(|line| line.trim().strip_suffix(',')?.rsplit_once(' '));
    let files = rules.filter(|(glob, _)| glob.starts_with(['/', '@']));
    let variables = [("@{sys}", "/sys"), ("@{PROC}", "/proc"), ("@{run}", "/run"), ("@{pid}", "[0-9]*")];
    files.filter(|(_, permissions)| permissions.contains(permission)).any(|(glob, _)| {
        let glob = variables.iter().fold(glob.to_owned(), |glob, (name, value)| glob.replace(name, value));
        alternatives(&glob).iter().any(|glob| matches(glob.as_bytes(), file.as_bytes()))
    })
}

/// A glob without `{one,another}`: one glob for each.
fn alternatives(glob: &str) -> Vec<String> {
    let Some((before, rest)) = glob.split_once('{') else { return vec![glob.to_owned()] };
    let (words, after) = rest.split_once('}').unwrap();
    words.split(',').flat_map(|word| alternatives(&format!("{before}{word}{after}"))).collect()
}

/// A path and a glob as in apparmor.d(5): `*` ends at a slash, `**` does not; of the ranges the profile has digits only.
fn matches(glob: &[u8], path: &[u8]) -> bool {
    let name = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
    match glob {
        [] => path.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=path.len()).any(|length| matches(rest, &path[length..])),
        [b'*', rest @ ..] => (0..=name).any(|length| matches(rest, &path[length..])),
        [b'[', b'0', b'-', b'9', b']', rest @ ..] => {
            path.split_first().is_some_and(|(byte, path)| byte.is_ascii_digit() && matches(rest, path))
        }
        [byte, rest @ ..] => path.split_first().is_some_and(|(first, path)| first == byte && matches(rest, path)),
    }
}
