//! Energy: which meter is taken, what is summed, and that nothing is summed twice.

use std::fs::File;
use std::os::unix::fs::FileExt;

use bayop_core::Kind;
use bayop_knobs::sensor::{Method, Options, Sensors};

use crate::machine::{Machine, find, value};

const POWERCAP: &str = "sys/class/powercap";

/// Adds to each zone's energy and gives what the machine's energy rises by.
fn rise_j(machine: &Machine, sensors: &mut Sensors, zones: &[(&str, u64)]) -> f64 {
    for (zone, rise_uj) in zones {
        let path = format!("{POWERCAP}/{zone}/energy_uj");
        let energy_uj: u64 = machine.host().read(&path).unwrap().parse().unwrap();
        machine.set(&path, format!("{}\n", energy_uj + rise_uj));
    }
    let readings = sensors.sample(1.0);
    value(&readings, "energy_j@machine")
}

#[test]
fn two_sockets_count_packages_and_memory_but_not_the_platform() {
    let machine = Machine::recorded("xeon-2-sockets-psys");
    let mut sensors = machine.sensors("");
    assert_eq!(sensors.method(), Ok(Method::Powercap));
    let zones = [
        ("intel-rapl:0", 100_000_000),
        ("intel-rapl:0:0", 20_000_000),
        ("intel-rapl:2", 3_000_000),
        ("intel-rapl:2:0", 400_000),
        ("intel-rapl:1", 900_000_000),
    ];
    assert!((rise_j(&machine, &mut sensors, &zones) - 123.4).abs() < 1e-9);
    let readings = sensors.sample(1.5);
    assert!((value(&readings, "energy_j@package-1/dram") - 0.4).abs() < 1e-9);
    assert_eq!(value(&readings, "energy_j@psys"), 900.0);
    let dram = find(&readings, "energy_j@package-1/dram");
    assert_eq!(dram.source, "/sys/class/powercap/intel-rapl:2:0/energy_uj");
    assert!(!dram.estimated);
}

#[test]
fn the_platform_counts_alone_when_it_is_asked_for() {
    let machine = Machine::recorded("xeon-2-sockets-psys");
    let mut sensors = machine.sensors("meter = 'psys'");
    let zones = [("intel-rapl:0", 100_000_000), ("intel-rapl:1", 900_000_000)];
    assert_eq!(rise_j(&machine, &mut sensors, &zones), 900.0);
}

#[test]
fn every_die_of_intel_counts_for_itself() {
    let machine = Machine::recorded("xeon-2-sockets-2-dies");
    let mut sensors = machine.sensors("");
    let zones = [
        ("intel-rapl:0", 1_000_000),
        ("intel-rapl:1", 20_000_000),
        ("intel-rapl:2", 300_000_000),
        ("intel-rapl:3", 4_000_000),
        ("intel-rapl:3:0", 500_000),
    ];
    assert!((rise_j(&machine, &mut sensors, &zones) - 325.5).abs() < 1e-9);
    assert!((value(&sensors.sample(1.5), "energy_j@package-1-die-1/dram") - 0.5).abs() < 1e-9);
}

#[test]
fn the_dies_of_an_amd_socket_show_the_same_energy_which_counts_once() {
    let machine = Machine::recorded("threadripper-2-dies");
    let mut sensors = machine.sensors("");
    assert_eq!(rise_j(&machine, &mut sensors, &[("intel-rapl:0", 68_000_000), ("intel-rapl:1", 68_000_000)]), 68.0);
}

#[test]
fn parts_of_a_package_and_its_second_interface_count_once() {
    let machine = Machine::recorded("laptop-mmio");
    let mut sensors = machine.sensors("");
    let zones = [
        ("intel-rapl:0", 7_000_000),
        ("intel-rapl:0:0", 4_000_000),
        ("intel-rapl:0:1", 1_000_000),
        ("intel-rapl:1", 9_000_000),
        ("intel-rapl-mmio:0", 7_000_000),
    ];
    assert_eq!(rise_j(&machine, &mut sensors, &zones), 7.0);
    let readings = sensors.sample(1.5);
    assert_eq!(readings.iter().filter(|reading| reading.id() == "energy_j@package-0").count(), 1);
}

#[test]
fn ticks_carry_the_energy_over_wraps() {
    let machine = Machine::recorded("threadripper-2-dies");
    let path = format!("{POWERCAP}/intel-rapl:0/energy_uj");
    let range_uj = 65_532_610_987_u64;
    machine.set(&path, "65532000000\n");
    let mut sensors = machine.sensors("");
    let within_s = sensors.tick_within_s().unwrap();
    assert!((30.0..35.0).contains(&within_s), "{within_s}");
    // 1 kW for two minutes: the counter wraps twice.
    for second in 1..=120_u64 {
        machine.set(&path, format!("{}\n", (65_532_000_000 + second * 1_000_000_000) % range_uj));
        sensors.tick(second as f64);
    }
    let readings = sensors.sample(120.0);
    assert!((value(&readings, "energy_j@machine") - 120_000.0).abs() < 1e-6);
    assert!((value(&readings, "power_w@machine") - 1000.0).abs() < 1e-6);
}

#[test]
fn a_refused_meter_is_reported_and_the_next_one_taken() {
    let machine = Machine::recorded("epyc-amd-energy");
    machine.set(&format!("{POWERCAP}/intel-rapl:0/name"), "package-0\n");
    machine.set(&format!("{POWERCAP}/intel-rapl:0/energy_uj"), "garbage\n");
    machine.set(&format!("{POWERCAP}/intel-rapl:0/max_energy_range_uj"), "65532610987\n");
    let mut sensors = machine.sensors("");
    assert_eq!(sensors.method(), Ok(Method::HwmonEnergy));
    let error = find(&sensors.sample(1.0), "energy_j@package-0").value.clone().unwrap_err();
    let said = "cannot use 'garbage': the file must hold a whole number (/sys/class/powercap/intel-rapl:0/energy_uj)";
    assert_eq!(error.to_string(), said);
}

#[test]
fn energy_that_only_root_may_read_is_an_error_with_a_hint() {
    let machine = Machine::recorded("threadripper-2-dies");
    machine.forbid(&format!("{POWERCAP}/intel-rapl:0/energy_uj"));
    let mut sensors = machine.sensors("");
    for id in ["energy_j@package-0-die-0", "energy_j@machine"] {
        let error = find(&sensors.sample(1.0), id).value.clone().unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("run as root"));
    }
}

#[test]
fn sockets_count_and_their_cores_and_graphics_cards_do_not() {
    let machine = Machine::recorded("epyc-amd-energy");
    let mut sensors = machine.sensors("");
    assert_eq!(sensors.method(), Ok(Method::HwmonEnergy));
    for (input, energy_uj) in [(1, 2_000_000), (5, 61_000_000), (6, 62_000_000)] {
        machine.set(&format!("sys/class/hwmon/hwmon1/energy{input}_input"), format!("{energy_uj}\n"));
    }
    let readings = sensors.sample(1.0);
    assert_eq!(value(&readings, "energy_j@machine"), 11.0 + 2.0);
    assert_eq!(value(&readings, "power_w@amdgpu/power1"), 31.0);
    assert!(readings.iter().all(|reading| reading.id() != "energy_j@amdgpu/power1"), "nobody integrates it");
    assert!(find(&readings, "energy_j@amd_energy/energy5").source.ends_with("energy5_input (Esocket0)"));
}

#[test]
fn power_is_integrated_and_says_so() {
    let machine = Machine::recorded("altra-xgene");
    let mut sensors = machine.sensors("");
    assert_eq!(sensors.method(), Ok(Method::HwmonPower));
    for second in 1..=10 {
        sensors.tick(f64::from(second));
    }
    let readings = sensors.sample(10.0);
    assert!((value(&readings, "energy_j@machine") - 557.5).abs() < 1e-9);
    assert!((value(&readings, "power_w@machine") - 55.75).abs() < 1e-9);
    assert_eq!(value(&readings, "power_w@apm_xgene/power2"), 21.25);
    assert!(find(&readings, "energy_j@apm_xgene/power1").source.ends_with("(CPU power), integrated over time"));
}

#[test]
fn an_acpi_meter_is_found_in_its_parent_device() {
    let machine = Machine::recorded("acpi-power-meter");
    let mut sensors = machine.sensors("");
    sensors.tick(1.0);
    let readings = sensors.sample(2.0);
    assert_eq!(value(&readings, "power_w@power_meter/power1"), 62.0);
    assert_eq!(value(&readings, "energy_j@machine"), 124.0);
}

#[test]
fn two_meters_of_the_whole_machine_count_only_by_name() {
    let machine = Machine::recorded("acpi-power-meter");
    let second = "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI000D:01";
    machine.set(&format!("{second}/name"), "power_meter\n");
    machine.set(&format!("{second}/power1_average"), "200000000\n");
    std::fs::create_dir_all(machine.host().path("sys/class/hwmon/hwmon1")).unwrap();
    let link = machine.host().path("sys/class/hwmon/hwmon1/device");
    std::os::unix::fs::symlink("../../../devices/LNXSYSTM:00/LNXSYBUS:00/ACPI000D:01", link).unwrap();
    assert_eq!(machine.sensors("").method().unwrap_err().kind, Kind::Unsupported);
    let mut sensors = machine.sensors("inputs = ['power_meter-ACPI000D:01/power1']");
    assert_eq!(value(&sensors.sample(1.0), "energy_j@machine"), 200.0);
}

#[test]
fn an_unknown_device_counts_only_by_name() {
    let machine = Machine::recorded("epyc-amd-energy");
    let mut sensors = machine.sensors("inputs = ['amdgpu/power1']\nmeter = 'hwmon_power'");
    assert_eq!(value(&sensors.sample(1.0), "energy_j@machine"), 31.0);
    let options: Options = toml::from_str("inputs = ['nvme/power1']").unwrap();
    let error = Sensors::open(machine.host(), &options, 0.0).unwrap_err();
    assert_eq!((error.kind, error.value.as_deref()), (Kind::Input, Some("nvme/power1")));
    assert!(error.hint.unwrap().contains("amd_energy/energy5, amd_energy/energy6, amdgpu/power1"));
}

/// Registers of package 0's first CPU, at their offsets in a sparse file.
fn write_registers(machine: &Machine, registers: &[(u64, u64)]) {
    machine.set("dev/cpu/0/msr", "");
    let file = File::options().write(true).open(machine.host().path("dev/cpu/0/msr")).unwrap();
    for (register, value) in registers {
        file.write_all_at(&value.to_le_bytes(), *register).unwrap();
    }
}

#[test]
fn registers_are_read_by_choice_only() {
    for (vendor, unit, energy) in [("GenuineIntel", 0x606, 0x611), ("AuthenticAMD", 0xC001_0299, 0xC001_029B)] {
        let machine = Machine::empty();
        machine.set("proc/cpuinfo", format!("vendor_id\t: {vendor}\n"));
        machine.set("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
        // ESU 14: units of 61 uJ; the upper half of the energy register is reserved.
        write_registers(&machine, &[(unit, 0xA0E03), (energy, 0xDEAD_BEEF_FFFF_FF00)]);
        assert!(machine.sensors("").method().is_err());
        let mut sensors = machine.sensors("meter = 'msr'");
        assert_eq!(sensors.method(), Ok(Method::Msr));
        write_registers(&machine, &[(unit, 0xA0E03), (energy, 0x3F00)]);
        let readings = sensors.sample(1.0);
        assert_eq!(value(&readings, "energy_j@machine"), f64::from(0x4000) / f64::from(1 << 14));
        assert!(find(&readings, "energy_j@msr/package-0").source.starts_with("/dev/cpu/0/msr, register"));
    }
}

#[test]
fn the_estimate_follows_utilization_and_says_that_it_is_one() {
    let machine = Machine::empty();
    machine.set("proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 100 0 0 900 0 0 0 0 0 0\n");
    let mut sensors = machine.sensors("[model]\nidle_w = 50.0\nbusy_w = 150.0");
    assert_eq!(sensors.method(), Ok(Method::Model));
    // A quarter busy for two seconds.
    machine.set("proc/stat", "cpu  150 0 0 1050 0 0 0 0 0 0\ncpu0 150 0 0 1050 0 0 0 0 0 0\n");
    let readings = sensors.sample(2.0);
    let energy = find(&readings, "energy_j@machine");
    assert_eq!(energy.value, Ok(2.0 * 75.0));
    assert!(energy.estimated);
    assert_eq!(value(&readings, "power_w@model"), 75.0);
}

#[test]
fn the_estimate_follows_the_frequency_where_it_is_told_how() {
    let machine = Machine::empty();
    machine.set("proc/stat", "cpu  0 0 0 900 0 0 0 0\n");
    for (policy, khz) in [(0, 1_000_000), (4, 2_000_000)] {
        machine.set(&format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_cur_freq"), format!("{khz}\n"));
    }
    let model = "[model]\nidle_w = 50.0\nbusy_w = 150.0\nfrequency = { busy_mhz = 3000.0, exponent = 2.0 }";
    let mut sensors = machine.sensors(model);
    machine.set("proc/stat", "cpu  100 0 0 900 0 0 0 0\n");
    assert_eq!(value(&sensors.sample(1.0), "energy_j@machine"), 50.0 + 100.0 * 0.25);

    // A policy whose CPUs went offline, of which nothing can be read.
    machine.set("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "");
    machine.set("proc/stat", "cpu  200 0 0 900 0 0 0 0\n");
    assert!((value(&sensors.sample(2.0), "power_w@model") - (50.0 + 100.0 * 4.0 / 9.0)).abs() < 1e-9);
}

#[test]
fn a_machine_without_a_meter_has_an_error_for_its_energy() {
    let readings = Machine::empty().sensors("").sample(1.0);
    let error = find(&readings, "energy_j@machine").value.clone().unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    assert!(error.hint.unwrap().contains("[power.model]"));
}

#[test]
fn a_meter_that_fails_later_gives_errors_and_comes_back() {
    let machine = Machine::recorded("altra-xgene");
    let mut sensors = machine.sensors("");
    let path = "sys/class/hwmon/hwmon1/power1_input";
    machine.set(path, b"\xff\xfe");
    sensors.tick(1.0);
    assert!(find(&sensors.sample(1.0), "energy_j@machine").value.is_err());
    machine.set(path, "34500000\n");
    sensors.tick(2.0);
    let readings = sensors.sample(2.0);
    assert!((value(&readings, "energy_j@machine") - 2.0 * 55.75).abs() < 1e-9, "a gap of seconds is bridged");
}

#[test]
fn options_that_cant_be_meant_are_refused() {
    let machine = Machine::empty();
    for (power, place) in [
        ("meter = []", "power.meter"),
        ("meter = ['model', 'model']", "power.meter"),
        ("model = { idle_w = -1.0, busy_w = 5.0 }", "power.model"),
        ("model = { idle_w = 9.0, busy_w = 5.0 }", "power.model"),
        ("model = { idle_w = 9.0, busy_w = nan }", "power.model"),
        (
            "model = { idle_w = 1.0, busy_w = 2.0, frequency = { busy_mhz = 0.0, exponent = 1.0 } }",
            "power.model.frequency",
        ),
        (
            "model = { idle_w = 1.0, busy_w = 2.0, frequency = { busy_mhz = 1.0, exponent = -1.0 } }",
            "power.model.frequency",
        ),
    ] {
        let options: Options = toml::from_str(power).unwrap();
        let error = Sensors::open(machine.host(), &options, 0.0).unwrap_err();
        assert_eq!((error.kind, error.place.as_deref()), (Kind::Input, Some(place)), "{power}");
    }
    for unknown in ["meter = 'rapl'", "metre = 'auto'", "meter = ['auto']", "model = { idle_w = 1.0 }"] {
        assert!(toml::from_str::<Options>(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn the_manuals_options_are_understood() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sensors.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let (_, toml) = manual.split_once("```toml\n").unwrap();
    let (toml, _) = toml.split_once("```").unwrap();
    let table: toml::Table = toml.parse().unwrap();
    let options: Options = table["power"].clone().try_into().unwrap();
    options.check().unwrap();
    assert_eq!(options.inputs, ["ina226/power1"]);
    assert!(options.model.unwrap().frequency.is_some());
}
