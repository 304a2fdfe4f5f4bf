//! What CPUs and devices did: interrupts, softirqs, idle states, packets, frequency.

use std::os::unix::fs::symlink;

use bayop_knobs::Host;
use bayop_knobs::sensor::{Kind, Options, Reading, Sensors, interrupts_of};
use proptest::prelude::*;

use crate::machine::{Machine, find, value};

/// A server with one NIC of each way to find its interrupts: by its own MSI list, by its parent's, by its one line.
fn server() -> Machine {
    let machine = Machine::empty();
    machine.set("proc/stat", "cpu  30 0 0 70 0 0 0 0\ncpu0 30 0 0 70 0 0 0 0\n");
    machine.set("proc/softirqs", "  CPU0\n NET_TX: 5\n NET_RX: 6\n");
    machine.set("proc/net/softnet_stat", "00000010 0 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0\n");
    machine.set(
        "proc/interrupts",
        "            CPU0\n  40:   7  IR-PCI-MSIX-0000:3b:00.0  0-edge  eth9-TxRx-0\n  41:   8  PCI-MSIX-0000:00:03.0  1-edge  \
         virtio2-input.0\n  19:   9  IO-APIC  19-fasteoi  eth2\n  77:  99  PCI-MSIX  0-edge  eth0-TxRx-0\n",
    );
    machine.set("sys/devices/pci0000:3a/0000:3b:00.0/msi_irqs/40", "msix\n");
    machine.set("sys/devices/pci0000:00/0000:00:03.0/msi_irqs/41", "msix\n");
    machine.set("sys/devices/pci0000:00/0000:00:03.0/virtio2/features", "1\n");
    machine.set("sys/devices/pci0000:00/0000:00:19.0/irq", "19\n");
    let devices = ["pci0000:3a/0000:3b:00.0", "pci0000:00/0000:00:03.0/virtio2", "pci0000:00/0000:00:19.0"];
    for (index, device) in devices.into_iter().enumerate() {
        let folder = format!("sys/class/net/eth{index}");
        machine.set(&format!("{folder}/statistics/rx_packets"), "11\n");
        symlink(format!("../../../devices/{device}"), machine.host().path(&format!("{folder}/device"))).unwrap();
    }
    machine.set("sys/class/net/lo/type", "772\n");
    machine.set("sys/class/net/lo/statistics/rx_packets", "5\n");
    for (attribute, text) in [("name", "C6"), ("time", "2500000"), ("usage", "12"), ("above", "3"), ("disable", "1")] {
        machine.set(&format!("sys/devices/system/cpu/cpu0/cpuidle/state3/{attribute}"), format!("{text}\n"));
    }
    machine.set("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2899998\n");
    machine
}

#[test]
fn interrupts_belong_to_devices_whatever_drivers_call_them() {
    let readings = server().sensors("").sample(1.0);
    assert_eq!(value(&readings, "interrupts@eth0/rx-0"), 7.0);
    assert_eq!(value(&readings, "interrupts@eth1/rx-0"), 8.0);
    assert_eq!(value(&readings, "interrupts@eth2/irq-19"), 9.0);
    assert_eq!(readings.iter().filter(|reading| reading.name == "interrupts").count(), 3);
}

#[test]
fn a_device_without_message_signalled_interrupts_has_its_one_line() {
    let machine = server();
    let irqs = |device| interrupts_of(&machine.host(), device);
    assert_eq!(["eth0", "eth1", "eth2", "lo", "eth3"].map(irqs), [vec![40], vec![41], vec![19], vec![], vec![]]);
    machine.set("sys/devices/pci0000:00/0000:00:19.0/msi_irqs/42", "msi\n");
    assert_eq!(irqs("eth2"), [42], "with them the line is out of use");
    machine.set("sys/devices/pci0000:3a/0000:3b:00.0/irq", "0\n");
    machine.remove("sys/devices/pci0000:3a/0000:3b:00.0/msi_irqs/40");
    assert!(irqs("eth0").is_empty(), "0 stands for none");
}

#[test]
fn every_sensor_has_its_value_unit_kind_source_and_time() {
    let readings = server().sensors("").sample(4.5);
    for (id, expected, unit, kind, source) in [
        ("cpu_busy_s@cpu0", 0.3, "s", Kind::Counter, "/proc/stat"),
        ("cpu_idle_s@cpu0", 0.7, "s", Kind::Counter, "/proc/stat"),
        ("softirqs@NET_RX/cpu0", 6.0, "1", Kind::Counter, "/proc/softirqs"),
        ("napi_packets@cpu0", 16.0, "1", Kind::Counter, "/proc/net/softnet_stat"),
        ("napi_squeezed@cpu0", 2.0, "1", Kind::Counter, "/proc/net/softnet_stat"),
        ("idle_time_s@cpu0/C6", 2.5, "s", Kind::Counter, "/sys/devices/system/cpu/cpu0/cpuidle/state3/time"),
        ("idle_usage@cpu0/C6", 12.0, "1", Kind::Counter, "/sys/devices/system/cpu/cpu0/cpuidle/state3/usage"),
        ("idle_above@cpu0/C6", 3.0, "1", Kind::Counter, "/sys/devices/system/cpu/cpu0/cpuidle/state3/above"),
        ("idle_disabled@cpu0/C6", 1.0, "1", Kind::Gauge, "/sys/devices/system/cpu/cpu0/cpuidle/state3/disable"),
        ("nic_rx_packets@eth0", 11.0, "1", Kind::Counter, "/sys/class/net/eth0/statistics/rx_packets"),
        ("freq_mhz@cpu0", 2899.998, "MHz", Kind::Gauge, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"),
    ] {
        let reading = find(&readings, id);
        assert!((value(&readings, id) - expected).abs() < 1e-9, "{id}");
        assert_eq!((reading.unit, reading.kind, reading.source.as_str()), (unit, kind, source), "{id}");
        assert_eq!((reading.time_s, reading.estimated), (4.5, false), "{id}");
    }
}

#[test]
fn what_the_machine_does_not_have_gives_no_reading() {
    let readings = server().sensors("").sample(1.0);
    for absent in ["idle_below@cpu0/C6", "nic_rx_packets@lo", "nic_rx_bytes@eth0", "freq_mhz@cpu1"] {
        assert!(readings.iter().all(|reading| reading.id() != absent), "{absent}");
    }
}

#[test]
fn the_average_that_the_cpu_counted_goes_before_the_current_frequency() {
    let machine = server();
    let average = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_avg_freq";
    machine.set(average, "1700000\n");
    let mut sensors = machine.sensors("");
    assert_eq!(value(&sensors.sample(1.0), "freq_mhz@cpu0"), 1700.0);
    machine.set(average, "<unknown>\n");
    assert_eq!(value(&sensors.sample(2.0), "freq_mhz@cpu0"), 2899.998);
}

/// Every file of the server with the readings that must turn into errors when it is garbage.
const FILES: [(&str, &str); 10] = [
    ("proc/stat", "cpu_busy_s@machine"),
    ("proc/softirqs", "softirqs@machine"),
    ("proc/net/softnet_stat", "napi_packets@machine"),
    ("proc/interrupts", "interrupts@machine"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state3/time", "idle_time_s@cpu0/C6"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state3/usage", "idle_usage@cpu0/C6"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state3/above", "idle_above@cpu0/C6"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "idle_disabled@cpu0/C6"),
    ("sys/class/net/eth0/statistics/rx_packets", "nic_rx_packets@eth0"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "freq_mhz@cpu0"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn garbage_gives_an_error_and_never_a_number(which in 0..FILES.len(), bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        let machine = server();
        let (path, id) = FILES[which];
        // No garbage holds what makes it well-formed: a number alone, or the first word of a table.
        prop_assume!(!bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace()) || bytes.is_empty());
        prop_assume!(!bytes.starts_with(b"CPU") && !bytes.starts_with(b"+"));
        machine.set(path, &bytes);
        let readings = machine.sensors("").sample(1.0);
        let error = find(&readings, id).value.clone().unwrap_err();
        prop_assert!(error.to_string().contains(&format!("/{path}")), "{error}");
        let others = readings.iter().filter(|reading| reading.id() != id && reading.name != "energy_j");
        prop_assert!(others.into_iter().all(|reading| reading.value.is_ok()), "the others are not touched");
    }
}

#[test]
fn a_huge_file_is_refused() {
    let machine = server();
    let (path, id) = FILES[9];
    machine.set(path, vec![b'9'; 10_000_000]);
    let error = find(&machine.sensors("").sample(1.0), id).value.clone().unwrap_err();
    assert!(error.to_string().len() < 300);
}

#[test]
fn a_device_that_goes_away_takes_its_readings_along() {
    let machine = server();
    let mut sensors = machine.sensors("");
    assert_eq!(value(&sensors.sample(1.0), "nic_rx_packets@eth0"), 11.0);
    machine.remove("sys/class/net/eth0/statistics/rx_packets");
    assert!(sensors.sample(2.0).iter().all(|reading| reading.id() != "nic_rx_packets@eth0"));
}

#[test]
fn the_machine_of_this_test_has_cpus_that_get_busier() {
    let mut sensors = Sensors::open(Host::live(), &Options::default(), 0.0).unwrap();
    let (before, after) = (sensors.sample(0.0), sensors.sample(1.0));
    let busy = |readings: &[Reading]| -> f64 {
        let cpus = readings.iter().filter(|reading| reading.name == "cpu_busy_s");
        cpus.map(|reading| reading.value.clone().unwrap()).sum()
    };
    assert!(busy(&before) > 0.0);
    assert!(busy(&after) >= busy(&before));
}
