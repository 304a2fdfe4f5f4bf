//! Folders and files of sysfs that several places look into, and its units in ours.

/// What the kernel shows of its CPUs.
pub const CPUS: &str = "sys/devices/system/cpu";
/// Which of them are online, as a list: `0-3,8`.
pub const ONLINE: &str = "sys/devices/system/cpu/online";
/// Their frequency policies.
pub(crate) const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
/// The network devices.
pub const NET: &str = "sys/class/net";
/// The power zones.
pub(crate) const POWERCAP: &str = "sys/class/powercap";

pub(crate) const KHZ_PER_MHZ: f64 = 1e3;
pub(crate) const UJ_PER_J: f64 = 1e6;
/// A time of NAPI's in that of our knobs.
pub const US_PER_NS: f64 = 1e-3;
