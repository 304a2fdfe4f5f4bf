//! Who made the processors.

use crate::host::Host;

/// A maker of processors with RAPL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Intel,
    /// AMD, and Hygon with the same registers.
    Amd,
}

impl Vendor {
    /// Whether every die of a socket shows the energy of the whole socket (AMD PPR, "RAPL": one PKG_ENERGY_STAT for
    /// each socket).
    pub fn counts_energy_by_socket(self) -> bool {
        self == Self::Amd
    }
}

/// The vendor by `/proc/cpuinfo`; none for other architectures.
pub(super) fn of(host: &Host) -> Option<Vendor> {
    let cpuinfo = host.read("proc/cpuinfo").ok()?;
    let vendor = cpuinfo.lines().find_map(|line| line.strip_prefix("vendor_id")?.split_once(':'))?.1.trim();
    match vendor {
        "GenuineIntel" => Some(Vendor::Intel),
        "AuthenticAMD" | "HygonGenuine" => Some(Vendor::Amd),
        _ => None,
    }
}
