//! What the frequency knobs share: cpufreq policies (Documentation/admin-guide/pm/cpufreq.rst, "Policy Interface in
//! sysfs").

use super::attribute::numbered;
use crate::host::Host;
use crate::sysfs::CPUFREQ;
use bayop_core::{Error, Result};

/// The governor that lets user space set the frequency.
pub(super) const USERSPACE: &str = "userspace";

/// The policies of this machine that have an online CPU: `policy0`, `policy1`. The others stay in sysfs, but the kernel
/// refuses whatever is asked of them (EBUSY; `policy_is_inactive` in drivers/cpufreq/cpufreq.c).
///
/// # Errors
/// There is none: no cpufreq driver is at work.
pub(super) fn names(host: &Host) -> Result<Vec<String>> {
    let mut names = numbered(host, CPUFREQ, "policy");
    names.retain(|policy| host.read(&file(policy, "affected_cpus")).is_ok_and(|cpus| !cpus.is_empty()));
    if names.is_empty() {
        return Err(Error::unsupported("no cpufreq driver is at work")
            .at(format!("/{CPUFREQ}"))
            .hint("modprobe acpi-cpufreq or cppc_cpufreq; in a virtual machine the host decides the frequency"));
    }
    Ok(names)
}

/// A file of a policy.
pub(super) fn file(policy: &str, name: &str) -> String {
    format!("{CPUFREQ}/{policy}/{name}")
}
