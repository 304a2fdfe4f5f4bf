//! What is recorded of a machine says the same of it.

use std::os::unix::fs::symlink;

use bayop_knobs::doctor::{Options, examine};
use bayop_knobs::knob::survey;
use bayop_knobs::recording::record;
use bayop_knobs::sensor::{self, Sensors};
use bayop_knobs::{Host, tree};

use crate::machine::Machine;

/// All that the doctor, the survey and the sensors say.
fn said(host: &Host) -> Vec<String> {
    let findings = examine(host, &Options::default()).into_iter().map(|finding| format!("{finding:?}"));
    let survey = survey(host);
    let knobs = survey
        .instances
        .iter()
        .map(|instance| format!("{} {:?} {:?}", instance.name(), instance.domain, instance.read(host)));
    let missing = survey.missing.iter().map(|missing| format!("{} {:?}", missing.knob.id, missing.why));
    let mut sensors = Sensors::open(host.clone(), &sensor::Options::default(), 0.0).unwrap();
    let readings = sensors.sample(0.0).into_iter().map(|reading| format!("{reading:?}"));
    findings.chain(knobs).chain(missing).chain(readings).collect()
}

fn recorded_anew(machine: &Machine) -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let text = record(&machine.host());
    tree::unpack(&text, folder.path()).unwrap();
    (text, folder)
}

#[test]
fn every_recorded_machine_survives_being_recorded() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let machine = Machine::recorded(path.file_stem().unwrap().to_str().unwrap());
        let (_, folder) = recorded_anew(&machine);
        assert_eq!(said(&Host::recorded(folder.path())), said(&machine.host()), "{}", path.display());
        count += 1;
    }
    assert!(count >= 16);
}

#[test]
fn meters_of_one_driver_keep_the_names_of_their_devices() {
    let machine = Machine::empty();
    machine.set("proc/stat", "cpu  1 2 3 4 5 6 7 8\n");
    for (hwmon, device) in [("hwmon0", "ACPI000D:00"), ("hwmon1", "ACPI000D:01")] {
        let folder = format!("sys/devices/LNXSYSTM:00/{device}");
        machine.set(&format!("{folder}/name"), "power_meter\n");
        machine.set(&format!("{folder}/power1_average"), "62000000\n");
        let class = machine.host().path(&format!("sys/class/hwmon/{hwmon}"));
        std::fs::create_dir_all(&class).unwrap();
        symlink(format!("../../../devices/LNXSYSTM:00/{device}"), class.join("device")).unwrap();
    }
    let (_, folder) = recorded_anew(&machine);
    assert_eq!(said(&Host::recorded(folder.path())), said(&machine.host()));
}

#[test]
fn nothing_but_what_is_looked_for_is_taken() {
    let machine = Machine::recorded("intel-acpi-cpufreq");
    machine.set("proc/cmdline", "root=UUID=0b1d ip=10.0.0.7::web1 intel_idle.max_cstate=1\n");
    machine.set("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor\nSerial\t\t: 10000000abcd\n");
    machine.set("proc/812/comm", "tuned\n");
    machine.set("proc/813/comm", "secret-project\n");
    machine.set("proc/814/environ", "TOKEN=1\n");
    machine.set("etc/systemd/system/multi-user.target.wants/tuned.service", "");
    machine.set("etc/systemd/system/multi-user.target.wants/acme.service", "");
    machine.set("proc/stat", "cpu  1 2 3 4 5 6 7 8\nbtime 1700000000\n");
    machine.set("sys/class/net/eth0/address", "52:54:00:12:34:56\n");
    let (text, folder) = recorded_anew(&machine);
    for secret in ["UUID", "web1", "10.0.0.7", "abcd", "secret", "TOKEN", "acme", "btime", "52:54"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let same = |host: &Host| examine(host, &Options::default());
    assert_eq!(same(&Host::recorded(folder.path())), same(&machine.host()));
}

#[test]
fn what_may_not_be_read_stays_so() {
    let machine = Machine::recorded("threadripper-2-dies");
    machine.forbid("sys/class/powercap/intel-rapl:0/energy_uj");
    let (text, folder) = recorded_anew(&machine);
    assert!(text.contains("=== sys/class/powercap/intel-rapl:0/energy_uj !read\n"));
    assert_eq!(said(&Host::recorded(folder.path())), said(&machine.host()));
}

#[test]
fn the_machine_of_this_test_can_be_recorded() {
    let text = record(&Host::live());
    let folder = tempfile::tempdir().unwrap();
    tree::unpack(&text, folder.path()).unwrap();
    let checks = |host: &Host| -> Vec<_> {
        examine(host, &Options::default()).into_iter().map(|finding| (finding.check, finding.status)).collect()
    };
    assert_eq!(checks(&Host::recorded(folder.path())), checks(&Host::live()));
}
