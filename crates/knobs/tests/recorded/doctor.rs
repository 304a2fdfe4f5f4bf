//! What the doctor says of recorded machines.

use std::os::unix::fs::symlink;

use bayop_knobs::Host;
use bayop_knobs::doctor::{Finding, Options, Service, Status, examine};
use bayop_knobs::sensor;

use crate::machine::Machine;

fn findings(machine: &Machine) -> Vec<Finding> {
    examine(&machine.host(), &Options::default())
}

fn find<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    findings.iter().find(|finding| finding.check == check).unwrap_or_else(|| {
        panic!("no {check} among {:?}", findings.iter().map(|finding| &finding.check).collect::<Vec<_>>());
    })
}

fn look(findings: &[Finding], check: &str) -> (Status, String, String) {
    let Finding { status, found, remedy, .. } = find(findings, check).clone();
    (status, found, remedy.unwrap_or_default())
}

/// A bare machine with a kernel and the files that `files` add.
fn machine(files: &[(&str, &str)]) -> Machine {
    let machine = Machine::empty();
    machine.set("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    std::fs::create_dir_all(machine.host().path("sys")).unwrap();
    for (path, text) in files {
        machine.set(path, text);
    }
    machine
}

#[test]
fn the_papers_server_can_be_tuned_and_its_turbo_is_noted() {
    let machine = Machine::recorded("intel-acpi-cpufreq");
    let findings = findings(&machine);
    assert_eq!(find(&findings, "knob power.cap_w").status, Status::Ok);
    let (status, found, _) = look(&findings, "power meter");
    assert_eq!((status, found.as_str()), (Status::Ok, "powercap: package-0 + package-1, read at least every 131 s"));
    let (status, found, remedy) = look(&findings, "turbo");
    assert_eq!((status, found.as_str()), (Status::Note, "on"));
    assert!(remedy.starts_with("echo 0 > /sys/devices/system/cpu/cpufreq/boost"));
    assert_eq!(look(&findings, "frequency driver").1, "acpi-cpufreq, governor ondemand");
    assert_eq!(find(&findings, "frequency driver").status, Status::Ok);
    assert_eq!(find(&findings, "virtual machine").status, Status::Ok);
    assert_eq!(find(&findings, "rivals").status, Status::Ok);
    assert!(findings.iter().all(|finding| finding.status != Status::Blocker));
}

#[test]
fn energy_for_root_only_is_explained() {
    let machine = Machine::recorded("threadripper-2-dies");
    machine.set("proc/sys/kernel/osrelease", "6.10.0\n");
    machine.forbid("sys/class/powercap/intel-rapl:0/energy_uj");
    let (status, found, remedy) = look(&findings(&machine), "power meter");
    assert_eq!(
        (status, found.as_str()),
        (Status::Missing, "cannot read /sys/class/powercap/intel-rapl:0/energy_uj: permission denied")
    );
    assert!(remedy.contains("CVE-2020-8694"), "{remedy}");
}

#[test]
fn meters_that_are_not_powercap_are_named() {
    let amd = findings(&Machine::recorded("epyc-amd-energy"));
    assert_eq!(look(&amd, "power meter").1, "hwmon_energy: amd_energy/energy5 + amd_energy/energy6");
    let arm = findings(&Machine::recorded("altra-xgene"));
    assert_eq!(
        look(&arm, "power meter").1,
        "hwmon_power: apm_xgene/power1 + apm_xgene/power2, read at least every 10 s"
    );
    assert!(arm.iter().all(|finding| finding.check != "other power inputs"));
}

#[test]
fn inputs_of_unknown_devices_are_offered_when_nothing_else_measures() {
    let power = "sys/class/hwmon/hwmon0";
    let machine = machine(&[(&format!("{power}/name"), "ina226\n"), (&format!("{power}/power1_input"), "41000000\n")]);
    let before = findings(&machine);
    assert_eq!(find(&before, "power meter").status, Status::Missing);
    let (status, found, remedy) = look(&before, "other power inputs");
    assert_eq!((status, found.as_str()), (Status::Note, "ina226/power1"));
    assert!(remedy.contains("`inputs` under [power]"));
    let power: sensor::Options = toml::from_str("inputs = ['ina226/power1']").unwrap();
    let after = examine(&machine.host(), &Options { power, ..Options::default() });
    assert_eq!(find(&after, "power meter").status, Status::Ok);
}

#[test]
fn an_estimate_is_noted_with_the_drivers_that_measure() {
    let machine = machine(&[("proc/stat", "cpu  1 2 3 4 5 6 7 8\n")]);
    let power: sensor::Options = toml::from_str("model = { idle_w = 50.0, busy_w = 90.0 }").unwrap();
    let findings = examine(&machine.host(), &Options { power, ..Options::default() });
    let (status, found, remedy) = look(&findings, "power meter");
    assert_eq!((status, found.as_str()), (Status::Note, "model, an estimate from utilization"));
    assert!(remedy.contains("modprobe intel_rapl_msr"));
}

#[test]
fn a_guest_is_told_what_its_host_decides() {
    let guest = machine(&[
        ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc hypervisor lahf_lm\n"),
        ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("sys/class/dmi/id/product_name", "Standard PC (Q35 + ICH9, 2009)\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n"),
    ]);
    let findings = findings(&guest);
    assert_eq!(look(&findings, "virtual machine").1, "yes: QEMU Standard PC (Q35 + ICH9, 2009)");
    assert_eq!(find(&findings, "virtual machine").status, Status::Note);
    assert_eq!(find(&findings, "clock source").status, Status::Ok);
    assert_eq!(find(&findings, "idle driver").status, Status::Missing);
    assert!(look(&findings, "frequency driver").2.starts_with("pin the frequency on the host"));
}

#[test]
fn a_machine_without_a_frequency_driver_is_told_its_module() {
    for (cpuinfo, module) in
        [("vendor_id\t: AuthenticAMD\n", "acpi_cpufreq"), ("CPU implementer\t: 0x41\n", "cppc_cpufreq")]
    {
        let findings = findings(&machine(&[("proc/cpuinfo", cpuinfo)]));
        let (status, _, remedy) = look(&findings, "frequency driver");
        assert_eq!(status, Status::Missing);
        assert!(remedy.starts_with(&format!("modprobe {module};")), "{remedy}");
    }
}

#[test]
fn what_can_be_mended_has_its_command() {
    let cpus = "sys/devices/system/cpu";
    let machine = machine(&[
        (&format!("{cpus}/cpufreq/policy0/scaling_driver"), "acpi-cpufreq\n"),
        (&format!("{cpus}/cpufreq/policy0/scaling_governor"), "schedutil\n"),
        (&format!("{cpus}/cpufreq/policy0/scaling_available_governors"), "performance schedutil\n"),
        (&format!("{cpus}/intel_pstate/no_turbo"), "0\n"),
        (&format!("{cpus}/smt/control"), "on\n"),
        (&format!("{cpus}/cpuidle/current_driver"), "intel_idle\n"),
        (&format!("{cpus}/cpuidle/current_governor_ro"), "menu\n"),
        ("proc/cmdline", "quiet intel_idle.max_cstate=1 ro\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("dev/cpu/0/msr", ""),
        ("sys/module/msr/parameters/allow_writes", "default\n"),
    ]);
    let findings = findings(&machine);
    for (check, found, remedy) in [
        ("frequency driver", "acpi-cpufreq, governor schedutil", "modprobe cpufreq_userspace"),
        ("turbo", "on", "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("SMT", "on", "echo off > /sys/devices/system/cpu/smt/control"),
        (
            "idle driver",
            "intel_idle, governor menu, limited by intel_idle.max_cstate=1",
            "boot without intel_idle.max_cstate=1",
        ),
        ("clock source", "hpet", "see why in `dmesg | grep -i tsc`"),
        ("MSR", "readable, allow_writes=default", "boot with msr.allow_writes=on"),
        ("kernel", "6.1.0-18-amd64", "run Linux 6.13 or later"),
    ] {
        let (status, was, advice) = look(&findings, check);
        assert_eq!((status, was.as_str()), (Status::Note, found), "{check}");
        assert!(advice.starts_with(remedy), "{check}: {advice}");
    }
}

#[test]
fn locked_down_registers_are_told_from_filtered_ones() {
    let machine =
        machine(&[("dev/cpu/0/msr", ""), ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")]);
    assert_eq!(look(&findings(&machine), "MSR").1, "locked down: none [integrity] confidentiality");
}

#[test]
fn rivals_are_found_by_process_and_by_unit() {
    let machine = machine(&[
        ("proc/1/comm", "systemd\n"),
        ("proc/812/comm", "tuned\n"),
        ("proc/813/comm", "power-profiles-\n"),
        ("proc/self-like/comm", "irqbalance\n"),
    ]);
    let wants = machine.host().path("etc/systemd/system/multi-user.target.wants");
    std::fs::create_dir_all(&wants).unwrap();
    for unit in ["tuned.service", "tlp.service", "ssh.service"] {
        symlink(format!("/usr/lib/systemd/system/{unit}"), wants.join(unit)).unwrap();
    }
    let findings = findings(&machine);
    for (rival, found) in [("tuned", "running and enabled"), ("power-profiles-daemon", "running"), ("tlp", "enabled")] {
        let (status, was, remedy) = look(&findings, &format!("rival {rival}"));
        assert_eq!((status, was.as_str()), (Status::Note, found));
        assert_eq!(remedy, format!("systemctl disable --now {rival}"));
    }
    assert!(find(&findings, "rival power-profiles-daemon").why.contains("cpu.epp and cpu.boost"));
    assert_eq!(findings.iter().filter(|finding| finding.check.starts_with("rival")).count(), 3);
}

#[test]
fn interrupts_of_all_queues_on_one_cpu_are_noted() {
    let machine = machine(&[
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/class/net/eth0/device/msi_irqs/40", "msix\n"),
        ("sys/class/net/eth0/device/msi_irqs/41", "msix\n"),
        ("proc/irq/40/effective_affinity_list", "2\n"),
        ("proc/irq/41/effective_affinity_list", "2\n"),
    ]);
    let (status, found, _) = look(&findings(&machine), "interrupt affinity eth0");
    assert_eq!((status, found.as_str()), (Status::Note, "all 2 interrupts on CPU 2"));
    machine.set("proc/irq/41/effective_affinity_list", "3\n");
    let (status, found, _) = look(&findings(&machine), "interrupt affinity eth0");
    assert_eq!((status, found.as_str()), (Status::Ok, "2 interrupts on CPUs 2 3"));
}

#[test]
fn nothing_to_tune_blocks() {
    let findings = findings(&machine(&[]));
    assert_eq!(find(&findings, "knobs").status, Status::Blocker);
    assert_eq!(find(&findings, "knob power.cap_w").status, Status::Missing);
}

#[test]
fn only_the_knobs_asked_for_count() {
    let machine = Machine::recorded("intel-acpi-cpufreq");
    let options = |knob: &str| Options { knobs: vec![knob.to_owned()], ..Options::default() };
    assert!(examine(&machine.host(), &options("power.cap_w")).iter().all(|finding| finding.status != Status::Blocker));
    let findings = examine(&machine.host(), &options("nic.magic"));
    assert_eq!(look(&findings, "knob nic.magic").1, "no such knob");
    assert_eq!(find(&findings, "knobs").status, Status::Blocker);
}

#[test]
fn what_is_not_linux_blocks() {
    let findings = findings(&Machine::empty());
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].check.as_str(), findings[0].status), ("kernel", Status::Blocker));
}

#[test]
fn a_missing_agent_has_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { services: vec![Service::agent(folder.path().join("agent.sock"))], ..Options::default() };
    let bare = machine(&[]);
    let (status, _, remedy) = look(&examine(&bare.host(), &options), "agent");
    assert_eq!((status, remedy.as_str()), (Status::Missing, "systemctl enable --now bayop-agent"));
    let _listener = std::os::unix::net::UnixListener::bind(folder.path().join("agent.sock")).unwrap();
    assert_eq!(look(&examine(&bare.host(), &options), "agent").0, Status::Ok);
}

#[test]
fn programs_for_the_kernel_need_its_description_and_no_lockdown() {
    let bare = machine(&[]);
    let (status, _, remedy) = look(&findings(&bare), "eBPF");
    assert_eq!(status, Status::Note);
    assert!(remedy.contains("CONFIG_DEBUG_INFO_BTF"), "{remedy}");
    let described = machine(&[("sys/kernel/btf/vmlinux", "")]);
    assert_eq!(look(&findings(&described), "eBPF").0, Status::Ok);
    let lockdown = ("sys/kernel/security/lockdown", "none integrity [confidentiality]");
    let locked = machine(&[("sys/kernel/btf/vmlinux", ""), lockdown]);
    let (status, _, remedy) = look(&findings(&locked), "eBPF");
    assert_eq!((status, remedy.as_str()), (Status::Note, "boot with lockdown=integrity"));
}

#[test]
fn a_finding_is_an_object_of_words() {
    let finding = find(&findings(&machine(&[])), "knobs").clone();
    let expected = serde_json::json!({
        "check": "knobs", "status": "blocker", "found": "none of the knobs asked for", "why": "there is nothing to tune",
        "remedy": "solve one of the missing knobs above"
    });
    assert_eq!(serde_json::to_value(finding).unwrap(), expected);
}

#[test]
fn the_machine_of_this_test_can_be_examined() {
    let findings = examine(&Host::live(), &Options::default());
    assert!(find(&findings, "kernel").found.starts_with(|c: char| c.is_ascii_digit()));
    let mended = |finding: &&Finding| finding.status == Status::Blocker || finding.status == Status::Missing;
    for finding in findings.iter().filter(mended) {
        assert!(!finding.why.is_empty() && !finding.found.is_empty(), "{finding:?}");
    }
}
