//! The machine around a NIC: its interrupts, the idle states of its CPUs, whether it announces frequencies.

use std::fs;
use std::path::Path;

use serde::Serialize;

const CPU: &str = "/sys/devices/system/cpu";
/// Drivers whose hardware chooses frequencies by itself, so that the kernel has none to announce.
const SILENT: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

/// One interrupt of a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Its number.
    pub irq: u32,
    /// What the driver calls it, such as eth0-rx-0.
    pub name: String,
}

/// The message-signalled interrupts of a device of our own network namespace that its driver has requested, in order of
/// their number (Documentation/ABI/testing/sysfs-bus-pci, `msi_irqs`): its own, or those of the device that it is a
/// function of (virtio). None of a virtual device, or of another namespace, which sysfs does not show.
pub fn queues(device: &str, index: u32) -> Vec<Queue> {
    let folder = Path::new("/sys/class/net").join(device);
    if text(&folder.join("ifindex")).and_then(|index| index.parse().ok()) != Some(index) {
        return Vec::new();
    }
    let mut irqs: Vec<u32> = ["device/msi_irqs", "device/../msi_irqs"]
        .into_iter()
        .filter_map(|list| fs::read_dir(folder.join(list)).ok())
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
        .find(|irqs: &Vec<u32>| !irqs.is_empty())
        .unwrap_or_default();
    irqs.sort_unstable();
    irqs.into_iter().filter_map(|irq| Some(Queue { irq, name: action_of(irq)? })).collect()
}

/// Who has requested an interrupt (Documentation/ABI/testing/sysfs-kernel-irq).
fn action_of(irq: u32) -> Option<String> {
    text(Path::new(&format!("/sys/kernel/irq/{irq}/actions"))).filter(|name| !name.is_empty())
}

/// Names of the CPUs' idle states by their number; "halt" where no driver knows any.
pub fn idle_states() -> Vec<(usize, String)> {
    let driver = text(&Path::new(CPU).join("cpuidle/current_driver"));
    if driver.is_none_or(|name| name == "none") {
        // What the kernel's default_idle_call() says.
        return vec![(1, "halt".to_owned())];
    }
    let name = |state| text(&Path::new(CPU).join(format!("cpu0/cpuidle/state{state}/name")));
    (0..).map_while(|state| Some((state, name(state)?))).collect()
}

/// The frequency of a CPU in kHz, where the kernel announces its changes.
pub fn freq_khz(cpu: usize) -> Option<u32> {
    let folder = Path::new(CPU).join(format!("cpu{cpu}/cpufreq"));
    let driver = text(&folder.join("scaling_driver"))?;
    let freq = text(&folder.join("scaling_cur_freq"))?;
    if SILENT.contains(&driver.as_str()) { None } else { freq.parse().ok() }
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
