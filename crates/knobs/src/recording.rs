//! A machine as a text that [`tree`](crate::tree) unpacks again.
//!
//! What belongs in it is not listed anywhere: the survey, the sensors and the doctor look at the machine, the [`Host`]
//! notes where, and that is recorded. Of files that tell more than BayOp looks for (the kernel's command line, the
//! processes) only that is taken. Names of devices are as they are; who gives the text away replaces what identifies.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::PoisonError;

use crate::control::{Control, dma_latency};
use crate::doctor::{
    self,
    cpu::idle_parameters,
    machine::{BTF, BTF_OF_KERNEL, has_flag},
    rivals,
};
use crate::host::{Host, Look};
use crate::knob::survey;
use crate::network::recorded;
use crate::sensor::{self, Sensors, nic_interrupts};
use crate::sysfs::NET;
use crate::tree::{Content, Entry, READ_ONLY, READ_WRITE, UNREADABLE};

/// What of `/proc/cpuinfo` is taken: the processor's make. A board's serial number also stands there (Arm).
const CPUINFO: [&str; 12] = [
    "processor",
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "physical id",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
];

/// The files of a machine by path, each as a tree has it.
type Files = BTreeMap<String, String>;

/// What BayOp sees of a machine, as this process may see it. The text has no comments yet.
pub fn record(host: &Host) -> String {
    let mut files = Files::new();
    let looks = looks(host);
    for look in &looks {
        match look {
            Look::File(path) => file(host, path, &mut files),
            Look::Names(path) => names(host, path, &mut files),
            Look::Link(path) => driver(host, path, &mut files),
            Look::Register(..) => {}
        }
    }
    // Once all files are there, those behind a link move to where it leads.
    for look in &looks {
        if let Look::Link(path) = look {
            device(host, path, &mut files);
        }
    }
    for name in host.names(NET) {
        if let Some(text) = recorded::record(host.network(), &name, host.driver(&name).is_some()) {
            add(&mut files, &recorded::path(&name), Content::Text { text: &text, mode: READ_WRITE });
        }
    }
    registers(host, &looks, &mut files);
    files.into_values().collect()
}

/// Everything that BayOp looks at on a machine.
fn looks(host: &Host) -> Vec<Look> {
    let (watched, looks) = host.noting();
    for instance in survey(&watched).instances {
        // A knob that can't be read was looked at all the same.
        let _ = instance.read(&watched);
    }
    let _ = Sensors::open(watched.clone(), &sensor::Options::default(), 0.0).map(|mut sensors| sensors.sample(0.0));
    doctor::examine(&watched, &doctor::Options::default());
    let looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
    looks.iter().cloned().collect()
}

/// A path without `..`: it leads elsewhere on a live machine, where the folder before it may be a link.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn add(files: &mut Files, path: &str, content: Content) {
    let path = plain(path);
    let entry = Entry { path: &path, content }.to_string();
    files.insert(path, entry);
}

/// A file with its text; a folder has none, and its files are looked at themselves.
fn file(host: &Host, path: &str, files: &mut Files) {
    if path == dma_latency::PATH {
        if let Ok(latency_us) = host.dma_latency().in_effect_us() {
            add(files, path, Content::Integer(latency_us));
        }
        return;
    }
    let Ok(metadata) = fs::metadata(host.path(path)) else { return };
    if !metadata.is_file() {
        return;
    }
    match host.read(path) {
        Ok(text) => {
            let Some(text) = excerpt(host, path, &text) else { return };
            let mode = if metadata.permissions().mode() & 0o222 == 0 { READ_ONLY } else { READ_WRITE };
            add(files, path, Content::Text { text: &text, mode });
        }
        Err(_) => add(files, path, Content::Text { text: "", mode: UNREADABLE }),
    }
}

/// What of a file's text is recorded; none to leave the file out.
fn excerpt(host: &Host, path: &str, text: &str) -> Option<String> {
    Some(match path {
        "proc/cmdline" => idle_parameters(text).join(" "),
        "proc/cpuinfo" => {
            let flags = if has_flag(text, "hypervisor") { "flags\t\t: hypervisor\n" } else { "" };
            lines(text, |line| line.is_empty() || CPUINFO.contains(&key(line))) + flags
        }
        "proc/stat" => lines(text, |line| line.starts_with("cpu")),
        "proc/interrupts" => {
            let irqs: Vec<u32> = nic_interrupts(host).into_iter().flat_map(|(_, irqs)| irqs).collect();
            let of_nic = |line: &str| key(line).parse().is_ok_and(|irq| irqs.contains(&irq));
            lines(text, |line| line.trim_start().starts_with("CPU") || of_nic(line))
        }
        _ if path.starts_with("proc/") && path.ends_with("/comm") => {
            return rivals::is_process(text).then(|| text.to_owned());
        }
        _ => text.to_owned(),
    })
}

fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect()
}

/// What stands before a line's colon.
fn key(line: &str) -> &str {
    line.split(':').next().unwrap_or_default().trim()
}

/// What stands in folders of which only the names are looked at.
fn names(host: &Host, folder: &str, files: &mut Files) {
    for name in host.names(folder) {
        let path = format!("{folder}/{name}");
        if folder == BTF && name == BTF_OF_KERNEL {
            // What it says of the kernel, every kernel of its release says; and it is large.
            add(files, &path, Content::Text { text: "", mode: READ_ONLY });
        } else if folder.ends_with("/msi_irqs") {
            file(host, &path, files);
        } else if folder.starts_with(NET) && folder.ends_with("/queues") {
            let cpus = if name.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
            let text = host.read(&format!("{path}/{cpus}")).unwrap_or_default();
            add(files, &format!("{path}/{cpus}"), Content::Text { text: &text, mode: READ_WRITE });
        } else if folder.ends_with(".wants") && rivals::is_unit(&name) {
            let top = "../".repeat(path.matches('/').count());
            add(files, &path, Content::Link(&format!("{top}usr/lib/systemd/system/{name}")));
        }
    }
}

/// The link to a network device's driver, by the driver's name.
fn driver(host: &Host, path: &str, files: &mut Files) {
    let of_network = path.strip_prefix(NET).and_then(|rest| rest.strip_suffix("/device/driver"));
    if let Some(driver) = of_network.and_then(|device| host.driver(device.trim_start_matches('/'))) {
        add(files, path, Content::Link(&format!("../../../../bus/drivers/{driver}")));
    }
}

/// A link to the folder of a device, whose files were looked at behind the link and now stand in a folder of that name.
fn device(host: &Host, link: &str, files: &mut Files) {
    if !link.ends_with("/device") {
        return;
    }
    let Some(name) = host.target(link) else { return };
    let folder = format!("sys/devices/{name}");
    let behind: Vec<String> = files.keys().filter(|path| path.starts_with(&format!("{link}/"))).cloned().collect();
    for path in behind {
        let entry = files.remove(&path).expect("the path is one of the keys");
        let moved = path.replacen(link, &folder, 1);
        files.insert(moved.clone(), entry.replacen(&path, &moved, 1));
    }
    add(files, &format!("{folder}/uevent"), Content::Text { text: "", mode: READ_WRITE });
    let depth = link.matches('/').count();
    add(files, link, Content::Link(&format!("{}{}", "../".repeat(depth - 1), &folder["sys/".len()..])));
}

/// The registers of each CPU that were looked at and can be read.
fn registers(host: &Host, looks: &[Look], files: &mut Files) {
    for cpu in host.names("dev/cpu") {
        let path = format!("dev/cpu/{cpu}/msr");
        let (Ok(cpu), true) = (cpu.parse(), host.has(&path)) else { continue };
        let numbers = looks.iter().filter_map(|look| match look {
            Look::Register(of, register) if *of == cpu => Some(*register),
            _ => None,
        });
        let value = |register| Control::Msr { cpu, register }.register(host).ok();
        let registers = numbers.filter_map(|register| Some((u64::from(register), value(register)?))).collect();
        add(files, &path, Content::Registers(registers));
    }
}
