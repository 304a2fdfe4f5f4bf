//! The machine around a NIC: its interrupts, the idle states of its CPUs, whether it announces frequencies.

use std::fs;
use std::path::{Path, PathBuf};

use bayop_knobs::Host;
use bayop_knobs::control::Control;
use bayop_knobs::network::CoalesceParameter;
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
    let Some(folder) = folder_of(device, index) else { return Vec::new() };
    let mut irqs: Vec<u32> = ["device/msi_irqs", "device/../msi_irqs"]
        .into_iter()
        .filter_map(|list| fs::read_dir(folder.join(list)).ok())
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
        .find(|irqs: &Vec<u32>| !irqs.is_empty())
        .unwrap_or_default();
    irqs.sort_unstable();
    irqs.into_iter().filter_map(|irq| Some(Queue { irq, name: action_of(irq)? })).collect()
}

/// Where sysfs shows a device; None where it shows those of another network namespace.
fn folder_of(device: &str, index: u32) -> Option<PathBuf> {
    let folder = Path::new("/sys/class/net").join(device);
    let shown: u32 = text(&folder.join("ifindex"))?.parse().ok()?;
    (shown == index).then_some(folder)
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

/// How long a packet may wait for its interrupt by what a device is asked now, in us: its rx_usecs (ethtool). None where
/// its driver has no such thing.
pub fn rx_usecs(device: &str) -> Option<f64> {
    let parameter = CoalesceParameter::RxUsecs;
    Control::Coalesce { device: device.to_owned(), queue: None, parameter }.read(&Host::live()).ok()?.parse().ok()
}

/// The same of a device that is polled, in us: its gro_flush_timeout. None where sysfs does not show the device.
pub fn gro_flush_timeout_us(device: &str, index: u32) -> Option<f64> {
    let timeout_ns: f64 = text(&folder_of(device, index)?.join("gro_flush_timeout"))?.parse().ok()?;
    Some(timeout_ns / 1_000.0)
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
