//! What every knob promises, on every recorded machine: it reads, sets each corner of its domain, shows what is in
//! effect, and is put back without a trace.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bayop_core::Kind;
use bayop_knobs::control::{Control, Write};
use bayop_knobs::knob::{Domain, Instance, survey};
use bayop_knobs::{Host, Value, tree};
use proptest::prelude::*;
use proptest::sample::Index;

const MACHINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/machines");

/// The machines that were recorded for their knobs, and what each does not have.
const MISSING: [(&str, &[&str]); 9] = [
    ("intel-acpi-cpufreq", &["nic.rx_frames", "nic.adaptive_rx", "cpu.epp", "napi.irq_suspend_timeout_us"]),
    (
        "intel-pstate-active",
        &["nic.rx_frames", "nic.combined_queues", "cpu.perf_ctl_mhz", "napi.irq_suspend_timeout_us"],
    ),
    (
        "intel-pstate-passive",
        &["nic.rx_frames", "nic.combined_queues", "cpu.perf_ctl_mhz", "power.cap_w", "power.cap_window_us"],
    ),
    ("amd-pstate-active", &["nic.combined_queues", "cpu.perf_ctl_mhz", "power.cap_w", "power.cap_window_us"]),
    (
        "amd-pstate-passive",
        &[
            "nic.combined_queues",
            "cpu.epp",
            "cpu.perf_ctl_mhz",
            "power.cap_w",
            "power.cap_window_us",
            "napi.irq_suspend_timeout_us",
        ],
    ),
    (
        "amd-pstate-guided",
        &[
            "nic.rx_frames",
            "nic.tx_usecs",
            "nic.adaptive_rx",
            "nic.combined_queues",
            "cpu.epp",
            "cpu.perf_ctl_mhz",
            "power.cap_w",
            "power.cap_window_us",
            "napi.irq_suspend_timeout_us",
        ],
    ),
    (
        "altra-cppc",
        &["nic.combined_queues", "cpu.epp", "cpu.boost", "cpu.perf_ctl_mhz", "power.cap_w", "power.cap_window_us"],
    ),
    (
        "graviton-ena",
        &[
            "nic.rx_frames",
            "cpu.freq_mhz",
            "cpu.epp",
            "cpu.boost",
            "cpu.perf_ctl_mhz",
            "idle.max_latency_us",
            "idle.cpu_dma_latency_us",
            "idle.governor",
            "idle.disable",
            "power.cap_w",
            "power.cap_window_us",
            "napi.irq_suspend_timeout_us",
        ],
    ),
    (
        "kvm-virtio",
        &[
            "nic.combined_queues",
            "cpu.freq_mhz",
            "cpu.epp",
            "cpu.boost",
            "cpu.perf_ctl_mhz",
            "power.cap_w",
            "power.cap_window_us",
        ],
    ),
];

struct Machine {
    root: tempfile::TempDir,
    host: Host,
}

impl Machine {
    fn unpack(path: &Path) -> Self {
        let root = tempfile::tempdir().unwrap();
        let host = tree::unpack(&fs::read_to_string(path).unwrap(), root.path()).unwrap();
        Self { root, host }
    }

    fn named(name: &str) -> Self {
        Self::unpack(&Path::new(MACHINES).join(format!("{name}.tree")))
    }

    fn instance(&self, name: &str) -> Instance {
        let instances = survey(&self.host).instances;
        instances.into_iter().find(|instance| instance.name() == name).unwrap_or_else(|| panic!("{name}"))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        // It may be one that only the kernel writes.
        fs::remove_file(&path).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What every file holds, but for the line's end that the kernel adds.
    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.root.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => folders.push(entry.path()),
                    // Registers are a few bytes in a file with holes of gigabytes.
                    kind if kind.is_file() && entry.file_name() != "msr" => {
                        found.insert(entry.path(), fs::read(entry.path()).unwrap().trim_ascii_end().to_owned());
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// What the controls read before they were written first, in the order of those writes.
#[derive(Default)]
struct Originals(Vec<(Control, String)>);

impl Originals {
    fn write(&mut self, host: &Host, writes: &[Write]) {
        for write in writes {
            for control in write.control.reaches(host).unwrap().into_iter().chain([write.control.clone()]) {
                if self.0.iter().all(|(known, _)| *known != control) {
                    let text = control.read(host).unwrap();
                    self.0.push((control, text));
                }
            }
        }
        for write in writes {
            write.control.write(host, &write.text).unwrap();
        }
    }

    /// As the documentation of `Instance::plan` says: the last first, and again what a later write disturbed.
    fn restore(&self, host: &Host) {
        for _ in 0..3 {
            for (control, text) in self.0.iter().rev() {
                if control.read(host).as_ref() != Ok(text) {
                    control.write(host, text).unwrap();
                }
            }
        }
        for (control, text) in &self.0 {
            assert_eq!(control.read(host).as_ref(), Ok(text), "{control}");
        }
    }
}

/// Names the files that differ, and not the hundreds that don't.
fn assert_same(now: &BTreeMap<PathBuf, Vec<u8>>, found: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    assert!(now.keys().eq(found.keys()), "{when}: files came or went");
    let differ: Vec<_> = now.keys().filter(|path| now[*path] != found[*path]).collect();
    assert!(differ.is_empty(), "{when}: {differ:?}");
}

fn corners(domain: &Domain) -> Vec<Value> {
    match domain {
        Domain::Choices(choices) => choices.clone(),
        Domain::Steps { low, high, step, reserved } => {
            let middle = low + ((high - low) / 2.0 / step).round() * step;
            let mut corners = vec![*low, low + step, middle, high - step, *high];
            corners.extend(reserved.iter().flat_map(|kept| [f64::from(kept.low) - step, f64::from(kept.high) + step]));
            corners.retain(|corner| (low..=high).contains(&corner) && domain.reserved(*corner).is_none());
            corners.dedup();
            corners.into_iter().map(Value::Number).collect()
        }
    }
}

fn is_close(effective: &Value, asked: &Value) -> bool {
    match (effective, asked) {
        (Value::Number(effective), Value::Number(asked)) => (effective - asked).abs() <= asked.abs() * 1e-9,
        _ => effective == asked,
    }
}

#[test]
fn every_corner_of_every_knob_is_set_shown_and_put_back() {
    let (mut tried, mut machines) = (0, 0);
    for entry in fs::read_dir(MACHINES).unwrap() {
        let path = entry.unwrap().path();
        let machine = Machine::unpack(&path);
        let (host, found) = (&machine.host, machine.bytes());
        let rounds = |instance: &Instance| {
            instance.knob.id.ends_with("_usecs")
                && ["ens5", "eth0"].contains(&instance.at.split('/').next().unwrap())
                && ["graviton-ena", "amd-pstate-guided"].iter().any(|name| path.ends_with(format!("{name}.tree")))
        };
        machines += 1;
        for instance in survey(host).instances {
            let name = format!("{}: {}", path.display(), instance.name());
            instance.read(host).unwrap_or_else(|error| panic!("{name}: {error}"));
            for asked in corners(&instance.domain) {
                let writes = instance.plan(host, &asked).unwrap_or_else(|error| panic!("{name} = {asked}: {error}"));
                let mut originals = Originals::default();
                originals.write(host, &writes);
                let effective = instance.read(host).unwrap();
                assert!(rounds(&instance) || is_close(&effective, &asked), "{name} = {asked}: {effective}");
                assert!(writes.iter().all(|write| !write.control.command(&write.text).is_empty()));
                originals.restore(host);
                tried += 1;
            }
            assert_same(&machine.bytes(), &found, &name);
        }
    }
    assert!(machines >= MISSING.len() && tried > 500, "{machines} machines, {tried} corners");
}

#[test]
fn a_machine_says_what_it_does_not_have_and_why() {
    for (name, expected) in MISSING {
        let survey = survey(&Machine::named(name).host);
        let missing: Vec<_> = survey.missing.iter().map(|missing| missing.knob.id.as_str()).collect();
        assert_eq!(missing, expected, "{name}");
        assert_eq!(
            survey.missing.iter().filter(|missing| missing.why.kind != Kind::Unsupported).count(),
            0,
            "{name}: {:?}",
            survey.missing
        );
        let mut ids: Vec<_> = survey.instances.iter().map(|instance| &instance.knob.id).collect();
        ids.dedup();
        assert_eq!(ids.len() + missing.len(), bayop_knobs::catalogue::entries().len(), "{name}");
    }
}

#[test]
fn a_value_outside_the_domain_is_refused_without_a_plan() {
    for (name, _) in MISSING {
        let machine = Machine::named(name);
        for instance in survey(&machine.host).instances {
            for value in [f64::NAN, f64::INFINITY, -1.0, 1e18, 0.123_456].map(Value::Number) {
                if !matches!(instance.domain, Domain::Steps { step, .. } if step < 1e-3 && value == Value::from(0.123_456))
                {
                    let error = instance.plan(&machine.host, &value).unwrap_err();
                    assert_eq!((error.kind, error.place.as_deref()), (Kind::Input, Some(&*instance.name())), "{value}");
                }
            }
            assert!(instance.plan(&machine.host, &"nonsense".into()).is_err());
        }
    }
}

#[test]
fn what_a_driver_makes_of_a_value_is_what_is_read() {
    for (name, knob, asked, effective) in [
        ("graviton-ena", "nic.rx_usecs@ens5", 64.0, 50.0),
        ("graviton-ena", "nic.rx_usecs@ens5", 20.0, 0.0),
        ("amd-pstate-guided", "nic.rx_usecs@eth0", 500.0, 500.0),
        ("amd-pstate-guided", "nic.rx_usecs@eth0", 7000.0, 7142.0),
        ("intel-acpi-cpufreq", "nic.rx_usecs@eth0", 314.0, 314.0),
    ] {
        let machine = Machine::named(name);
        let instance = machine.instance(knob);
        let mut originals = Originals::default();
        originals.write(&machine.host, &instance.plan(&machine.host, &asked.into()).unwrap());
        assert_eq!(instance.read(&machine.host), Ok(effective.into()), "{knob} = {asked}");
    }
}

#[test]
fn what_a_driver_keeps_for_itself_is_left_out_of_the_domain_and_refused_with_its_meaning() {
    let mut kept = 0;
    for entry in fs::read_dir(MACHINES).unwrap() {
        let machine = Machine::unpack(&entry.unwrap().path());
        for instance in survey(&machine.host).instances {
            let Domain::Steps { reserved, .. } = &instance.domain else { continue };
            for (reserved, value) in
                reserved.iter().flat_map(|kept| (kept.low..=kept.high).map(move |value| (kept, value)))
            {
                let error = instance.plan(&machine.host, &f64::from(value).into()).unwrap_err();
                assert_eq!((error.kind, error.place.as_deref()), (Kind::Input, Some(&*instance.name())), "{value}");
                assert!(error.to_string().contains(&reserved.meaning), "{error}");
                kept += 1;
            }
        }
    }
    assert!(kept >= 9, "{kept} values: no recorded machine has e1000e any more");
    let shown = |name| Machine::named(name).instance("nic.rx_usecs@eth0").domain.to_string();
    assert_eq!(shown("amd-pstate-guided"), "0 to 10000 in steps of 1 without 1, 2, 3, 4, 5 to 9");
    assert_eq!(shown("intel-acpi-cpufreq"), "0 to 1022 in steps of 2", "1 is between two steps anyway");
}

#[test]
fn a_frequency_is_pinned_by_the_way_that_the_machine_has() {
    let plan = |machine: &Machine, mhz: f64| -> Vec<String> {
        let writes = machine.instance("cpu.freq_mhz@policy0").plan(&machine.host, &mhz.into()).unwrap();
        let command = |write: &Write| write.control.command(&write.text);
        writes
            .iter()
            .map(command)
            .map(|command| command.replace("/sys/devices/system/cpu/cpufreq/policy0/", ""))
            .collect()
    };
    for name in ["intel-acpi-cpufreq", "intel-pstate-passive", "amd-pstate-passive", "altra-cppc"] {
        let expected = ["echo userspace > scaling_governor", "echo 1900000 > scaling_setspeed"];
        assert_eq!(plan(&Machine::named(name), 1900.0), expected, "{name}");
    }
    for (name, mhz) in [("intel-pstate-active", 1900), ("amd-pstate-active", 1901), ("amd-pstate-guided", 1901)] {
        let machine = Machine::named(name);
        let down = [format!("echo {mhz}000 > scaling_min_freq"), format!("echo {mhz}000 > scaling_max_freq")];
        assert_eq!(plan(&machine, f64::from(mhz)), down, "{name}");
        machine.write("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "1500000\n");
        machine.write("sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq", "1500000\n");
        let up = [down[1].clone(), down[0].clone()];
        assert_eq!(plan(&machine, f64::from(mhz)), up, "{name}");
        assert_eq!(machine.instance("cpu.freq_mhz@policy0").read(&machine.host), Ok(1500.0.into()), "{name}");
    }
    let machine = Machine::named("altra-cppc");
    machine.write("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2000000\n");
    let expected =
        ["echo userspace > scaling_governor", "echo 2500000 > scaling_max_freq", "echo 2500000 > scaling_setspeed"];
    assert_eq!(plan(&machine, 2500.0), expected);
}

#[test]
fn a_policy_whose_cpus_are_offline_takes_no_part() {
    let machine = Machine::named("intel-acpi-cpufreq");
    machine.write("sys/devices/system/cpu/cpufreq/policy1/affected_cpus", "\n");
    let instances = survey(&machine.host).instances;
    let places: Vec<_> = instances.iter().map(Instance::name).filter(|name| name.starts_with("cpu.freq_mhz")).collect();
    assert_eq!(places, ["cpu.freq_mhz@policy0"]);
}

#[test]
fn a_preference_under_the_governor_performance_is_refused_with_its_remedy() {
    let machine = Machine::named("amd-pstate-active");
    machine.write("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    let instance = machine.instance("cpu.epp@policy0");
    let error = instance.plan(&machine.host, &"power".into()).unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    let hint = "echo powersave > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    assert_eq!(error.hint.as_deref(), Some(hint));
    instance.plan(&machine.host, &"performance".into()).unwrap();
}

#[test]
fn what_stands_for_a_number_is_read_as_it_is_meant() {
    let machine = Machine::named("intel-pstate-passive");
    let read = |knob: &str| machine.instance(knob).read(&machine.host).unwrap();
    assert_eq!(read("cpu.epp@policy0"), 128.0.into());
    assert_eq!(read("cpu.boost@all"), "off".into());
    assert_eq!(read("idle.max_latency_us@cpu0"), "unlimited".into());
    assert_eq!(read("idle.cpu_dma_latency_us@all"), "unlimited".into());
    machine.write("sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "n/a\n");
    assert_eq!(read("idle.max_latency_us@cpu0"), 0.0.into());
    machine.write("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "1\n");
    assert_eq!(read("idle.disable@C6"), "mixed".into());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn any_sequence_of_settings_is_put_back(
        machine in any::<Index>(),
        settings in prop::collection::vec((any::<Index>(), any::<Index>()), 1..12),
    ) {
        let machine = Machine::named(machine.get(&MISSING).0);
        let found = machine.bytes();
        let instances = survey(&machine.host).instances;
        let mut originals = Originals::default();
        for (instance, corner) in settings {
            let instance = instance.get(&instances);
            let corners = corners(&instance.domain);
            if let Ok(writes) = instance.plan(&machine.host, corner.get(&corners)) {
                originals.write(&machine.host, &writes);
            }
        }
        originals.restore(&machine.host);
        assert_same(&machine.bytes(), &found, "put back");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

    /// Whatever a file holds, a survey ends, and what it finds reads a value or says why not.
    #[test]
    fn garbage_in_a_file_is_an_error_and_never_a_panic(
        which in any::<Index>(),
        file in any::<Index>(),
        garbage in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..64),
            prop::collection::vec(prop_oneof![Just(b'0'), Just(b'9'), Just(b' '), Just(b'-'), Just(b'\n')], 0..64),
            Just(vec![b'9'; 70_000]),
            Just(b"\xff\xfe\n".to_vec()),
        ],
    ) {
        thread_local! {
            static UNPACKED: Vec<(Machine, Vec<PathBuf>)> = MISSING
                .iter()
                .map(|(name, _)| {
                    let machine = Machine::named(name);
                    let files = machine.bytes().into_keys().collect();
                    (machine, files)
                })
                .collect();
        }
        UNPACKED.with(|unpacked| {
            let (machine, files) = which.get(unpacked);
            let file = file.get(files);
            let found = fs::read(file).unwrap();
            let permissions = fs::metadata(file).unwrap().permissions();
            // Only root writes to what nobody may write to.
            fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
            fs::write(file, &garbage).unwrap();
            for instance in survey(&machine.host).instances {
                if let Ok(Value::Number(number)) = instance.read(&machine.host) {
                    assert!(number.is_finite() && number >= 0.0);
                }
                for corner in corners(&instance.domain) {
                    let _ = instance.plan(&machine.host, &corner);
                }
            }
            fs::write(file, found).unwrap();
            fs::set_permissions(file, permissions).unwrap();
        });
    }
}
