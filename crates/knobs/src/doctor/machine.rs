//! The machine as a whole: its kernel, whether it is virtual, its clock, its eBPF.

use super::finding::{Finding, Status};
use crate::host::Host;

const RELEASE: &str = "proc/sys/kernel/osrelease";
/// What the kernel keeps from root itself.
pub(super) const LOCKDOWN: &str = "sys/kernel/security/lockdown";
const CLOCK: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Where the kernel describes its structures, for eBPF programs that were built elsewhere.
pub(crate) const BTF: &str = "sys/kernel/btf";
/// Its description of itself, beside those of its modules.
pub(crate) const BTF_OF_KERNEL: &str = "vmlinux";

/// The kernel whose netdev family sets deferral by NAPI and knows irq-suspend-timeout
/// (Documentation/networking/napi.rst; net/core/netdev-genl.c).
const PER_NAPI: (u32, u32) = (6, 13);

/// Clock sources that are read without leaving the CPU or the guest.
const FAST_CLOCKS: [&str; 5] = ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase"];

/// Refuses what is not Linux: everything else reads the kernel's own files.
pub(super) fn linux(host: &Host) -> Result<(), Finding> {
    if host.has("proc") && host.has("sys") {
        return Ok(());
    }
    let (found, why) = ("no /proc or no /sys", "knobs and sensors are files of the Linux kernel");
    Err(Finding::new("kernel", Status::Blocker, found, why).remedy("run on Linux, with /proc and /sys mounted"))
}

pub(super) fn examine(host: &Host) -> Vec<Finding> {
    vec![kernel(host), virtualization(host), clock(host), ebpf(host)]
}

fn kernel(host: &Host) -> Finding {
    let why = "NAPI deferral by queue and irq-suspend-timeout need Linux 6.13, by device 5.8";
    let release = match host.read(RELEASE) {
        Ok(release) => release,
        Err(error) => return Finding::missing("kernel", &error, why),
    };
    match version(&release) {
        Some(version) if version >= PER_NAPI => Finding::ok("kernel", release, why),
        _ => Finding::note("kernel", release, why).remedy("run Linux 6.13 or later to tune single NAPI instances"),
    }
}

/// Major and minor of a release such as `6.1.0-18-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-', '+']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn virtualization(host: &Host) -> Finding {
    let why = "a guest has no RAPL, and its host decides frequency and idle states";
    if !is_virtual(host) {
        return Finding::ok("virtual machine", "no", why);
    }
    let kind = hypervisor(host).or_else(|| {
        let product = dmi(host, "product_name").unwrap_or_default();
        dmi(host, "sys_vendor").map(|vendor| format!("{vendor} {product}").trim_end().to_owned())
    });
    let found = kind.map_or("yes".to_owned(), |kind| format!("yes: {kind}"));
    Finding::note("virtual machine", found, why)
        .remedy("tune NIC and NAPI knobs here; run the agent on the host for the others")
}

/// Whether this is a guest: it has the `hypervisor` flag (x86), `/sys/hypervisor/type` (Xen), or a maker of virtual
/// machines in DMI.
pub(super) fn is_virtual(host: &Host) -> bool {
    let is_made = dmi(host, "sys_vendor").is_some_and(|vendor| MAKERS.iter().any(|maker| vendor.contains(maker)));
    is_made || hypervisor(host).is_some() || has_flag(&host.read("proc/cpuinfo").unwrap_or_default(), "hypervisor")
}

fn hypervisor(host: &Host) -> Option<String> {
    host.read("sys/hypervisor/type").ok().filter(|kind| !kind.is_empty())
}

fn dmi(host: &Host, name: &str) -> Option<String> {
    host.read(&format!("sys/class/dmi/id/{name}")).ok().filter(|text| !text.is_empty())
}

/// Makers of virtual machines as DMI spells them.
const MAKERS: [&str; 6] = ["QEMU", "VMware", "innotek GmbH", "Xen", "Bochs", "Parallels"];

/// Whether the text of `/proc/cpuinfo` shows a flag of the processor.
pub(crate) fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == flag))
}

fn clock(host: &Host) -> Finding {
    let why = "timestamps of a slow clock source cost about a microsecond each, in every packet and request";
    match host.read(CLOCK) {
        Ok(clock) if FAST_CLOCKS.contains(&clock.as_str()) => Finding::ok("clock source", clock, why),
        Ok(clock) => Finding::note("clock source", clock, why)
            .remedy("see why in `dmesg | grep -i tsc`; where the TSC is sound, boot with tsc=reliable"),
        Err(error) => Finding::missing("clock source", &error, why),
    }
}

/// Whether eBPF programs can be loaded by who may. What a lockdown forbids, they need: to read the kernel's memory.
fn ebpf(host: &Host) -> Finding {
    let (check, why) = ("eBPF", "what records idle periods and interrupts here, and counts stays in idle states");
    let lockdown = host.read(LOCKDOWN).unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Finding::note(check, format!("locked down: {lockdown}"), why).remedy("boot with lockdown=integrity");
    }
    match host.names(BTF).iter().any(|name| name == BTF_OF_KERNEL) {
        true => Finding::ok(check, "the kernel describes its structures", why),
        false => Finding::note(check, format!("no /{BTF}/{BTF_OF_KERNEL}"), why)
            .remedy("run a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build theirs"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn releases_of_distributions_have_a_version() {
        for (release, expected) in [
            ("6.1.0-18-amd64", Some((6, 1))),
            ("6.13-rc4", Some((6, 13))),
            ("5.15.0-91-generic", Some((5, 15))),
            ("6.18.44+", Some((6, 18))),
            ("6", None),
            ("next-2024", None),
        ] {
            assert_eq!(version(release), expected, "{release}");
        }
    }

    proptest! {
        #[test]
        fn any_release_is_read(release in "\\PC{0,40}") {
            version(&release);
        }
    }
}
