//! The processors: frequency driver, turbo, SMT, idle states, model-specific registers.

use super::finding::{Finding, Status};
use super::machine::LOCKDOWN;
use crate::host::Host;
use crate::sysfs::{CPUFREQ, CPUS};

/// What the kernel's command line may forbid its idle drivers (Documentation/admin-guide/kernel-parameters.txt).
const IDLE_PARAMETERS: [&str; 4] = ["idle=", "cpuidle.off=", "intel_idle.max_cstate=", "processor.max_cstate="];

pub(super) fn examine(host: &Host) -> Vec<Finding> {
    [Some(frequency(host)), turbo(host), smt(host), Some(idle(host)), Some(registers(host))]
        .into_iter()
        .flatten()
        .collect()
}

/// The driver and, where it takes governors, whether `userspace` is among them.
fn frequency(host: &Host) -> Finding {
    let (check, why) =
        ("frequency driver", "cpu.freq_mhz pins a frequency: by the userspace governor, else by min = max");
    let policies = host.names(CPUFREQ);
    let Some(policy) = policies.iter().find(|name| name.starts_with("policy")) else {
        return Finding::new(check, Status::Missing, "no frequency policy", why).remedy(driver_remedy(host));
    };
    let read = |name| host.read(&format!("{CPUFREQ}/{policy}/{name}")).unwrap_or_else(|_| "unknown".to_owned());
    let (driver, governor) = (read("scaling_driver"), read("scaling_governor"));
    let found = format!("{driver}, governor {governor}");
    let governors = host.read(&format!("{CPUFREQ}/policy0/scaling_available_governors")).unwrap_or_default();
    let takes_governors = governors.split_ascii_whitespace().any(|name| name == "ondemand" || name == "schedutil");
    if takes_governors && !governors.split_ascii_whitespace().any(|name| name == "userspace") {
        return Finding::note(check, found, why).remedy("modprobe cpufreq_userspace");
    }
    Finding::ok(check, found, why)
}

/// How a machine without a frequency driver gets one.
fn driver_remedy(host: &Host) -> &'static str {
    let is_x86 = host.read("proc/cpuinfo").is_ok_and(|cpuinfo| cpuinfo.contains("vendor_id"));
    if super::machine::is_virtual(host) {
        "pin the frequency on the host: a guest has no driver for it"
    } else if is_x86 {
        "modprobe acpi_cpufreq; if that fails, enable P-states in the firmware's set-up"
    } else {
        "modprobe cppc_cpufreq; if that fails, enable CPPC in the firmware's set-up"
    }
}

/// Turbo, by intel_pstate's switch or cpufreq's. The server of the papers' study had it off.
fn turbo(host: &Host) -> Option<Finding> {
    let why =
        "above the base frequency the hardware chooses by temperature and load, so a pinned frequency is not held";
    let switches = [(format!("{CPUS}/intel_pstate/no_turbo"), "0", "1"), (format!("{CPUFREQ}/boost"), "1", "0")];
    let (path, on, off) = switches.into_iter().find(|(path, ..)| host.has(path))?;
    Some(match host.read(&path) {
        Ok(value) if value == on => {
            Finding::note("turbo", "on", why).remedy(format!("echo {off} > /{path}, as in the papers' set-up"))
        }
        Ok(_) => Finding::ok("turbo", "off", why),
        Err(error) => Finding::missing("turbo", &error, why),
    })
}

/// Simultaneous multithreading. The server of the papers' study had it off.
fn smt(host: &Host) -> Option<Finding> {
    let why = "two hardware threads share a core: utilization and idle states of one depend on the other";
    let path = format!("{CPUS}/smt/control");
    let control = host.read(&path).ok()?;
    Some(match control.as_str() {
        "on" => Finding::note("SMT", "on", why).remedy(format!("echo off > /{path}, as in the papers' set-up")),
        _ => Finding::ok("SMT", control, why),
    })
}

fn idle(host: &Host) -> Finding {
    let (check, why) = ("idle driver", "idle.max_latency_us chooses among the driver's idle states");
    let read = |name| host.read(&format!("{CPUS}/cpuidle/{name}")).ok();
    let driver = read("current_driver").filter(|driver| driver != "none");
    let governor = read("current_governor").or_else(|| read("current_governor_ro"));
    let cmdline = host.read("proc/cmdline").unwrap_or_default();
    let limits = idle_parameters(&cmdline);
    let remedy = |otherwise: &str| match limits.as_slice() {
        [] => otherwise.to_owned(),
        limits => format!("boot without {}", limits.join(" ")),
    };
    match (driver, governor) {
        (Some(driver), governor) => {
            let found = format!("{driver}, governor {}", governor.as_deref().unwrap_or("unknown"));
            match limits.is_empty() {
                true => Finding::ok(check, found, why),
                false => {
                    Finding::note(check, format!("{found}, limited by {}", limits.join(" ")), why).remedy(remedy(""))
                }
            }
        }
        (None, _) => Finding::new(check, Status::Missing, "none", why)
            .remedy(remedy("enable C-states in the firmware's set-up; a guest has what its hypervisor offers")),
    }
}

/// Those words of the kernel's command line that limit its idle drivers.
pub(crate) fn idle_parameters(cmdline: &str) -> Vec<&str> {
    let limits = |word: &&str| IDLE_PARAMETERS.iter().any(|parameter| word.starts_with(parameter));
    cmdline.split_ascii_whitespace().filter(limits).collect()
}

/// Whether the kernel shows model-specific registers and lets them be written. Nothing needs them unless asked to.
fn registers(host: &Host) -> Finding {
    let (check, why) = ("MSR", "needed only by what is chosen explicitly: the msr meter and cpu.perf_ctl_mhz");
    if !host.has("dev/cpu/0/msr") {
        return Finding::note(check, "no /dev/cpu/0/msr", why).remedy("modprobe msr, if you want one of them");
    }
    let lockdown = host.read(LOCKDOWN).unwrap_or_default();
    if ["[integrity]", "[confidentiality]"].iter().any(|mode| lockdown.contains(mode)) {
        return Finding::note(check, format!("locked down: {lockdown}"), why)
            .remedy("disable Secure Boot or boot with lockdown=none, if you want one of them");
    }
    match host.read("sys/module/msr/parameters/allow_writes") {
        Ok(writes) if writes != "on" => Finding::note(check, format!("readable, allow_writes={writes}"), why).remedy(
            "boot with msr.allow_writes=on, or echo on > /sys/module/msr/parameters/allow_writes, to write 0x199",
        ),
        _ => Finding::ok(check, "readable and writable", why),
    }
}
