//! The machine around a NIC: its interrupts, the idle states of its CPUs, whether it announces frequencies.

use bayop_knobs::control::Control;
use bayop_knobs::network::CoalesceParameter;
use bayop_knobs::sensor::interrupts_of;
use bayop_knobs::sysfs::{CPUS, NET, US_PER_NS};
use bayop_knobs::{Host, idle_states};
use serde::Serialize;

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

/// The interrupts of a device of our own network namespace that its driver has requested, in order of their number. None
/// of a virtual device, or of another namespace, which sysfs does not show.
pub fn queues(device: &str, index: u32) -> Vec<Queue> {
    let mut irqs = folder_of(device, index).map(|_| interrupts_of(&Host::live(), device)).unwrap_or_default();
    irqs.sort_unstable();
    irqs.into_iter().filter_map(|irq| Some(Queue { irq, name: action_of(irq)? })).collect()
}

/// Where sysfs shows a device; None where it shows those of another network namespace.
fn folder_of(device: &str, index: u32) -> Option<String> {
    let folder = format!("{NET}/{device}");
    let shown: u32 = text(&format!("{folder}/ifindex"))?.parse().ok()?;
    (shown == index).then_some(folder)
}

/// Who has requested an interrupt (Documentation/ABI/testing/sysfs-kernel-irq).
fn action_of(irq: u32) -> Option<String> {
    text(&format!("sys/kernel/irq/{irq}/actions")).filter(|name| !name.is_empty())
}

/// Names of the CPUs' idle states by their number; "halt" where no driver knows any.
pub fn idle_states() -> Vec<(usize, String)> {
    match idle_states::idle_states(&Host::live()) {
        Ok(states) => states.into_iter().map(|state| state.name).enumerate().collect(),
        // What the kernel's default_idle_call() says.
        Err(_) => vec![(1, "halt".to_owned())],
    }
}

/// The frequency of a CPU in kHz, where the kernel announces its changes.
pub fn freq_khz(cpu: usize) -> Option<u32> {
    let folder = format!("{CPUS}/cpu{cpu}/cpufreq");
    let driver = text(&format!("{folder}/scaling_driver"))?;
    let freq = text(&format!("{folder}/scaling_cur_freq"))?;
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
    let timeout_ns: f64 = text(&format!("{}/gro_flush_timeout", folder_of(device, index)?))?.parse().ok()?;
    Some(timeout_ns * US_PER_NS)
}

fn text(path: &str) -> Option<String> {
    Host::live().read(path).ok()
}
