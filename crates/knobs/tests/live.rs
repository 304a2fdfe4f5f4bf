//! Knobs of the machine that runs the tests, as root, each put back as it was found.

mod needs;

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bayop_core::Kind;
use bayop_knobs::control::Control;
use bayop_knobs::knob::{Instance, survey};
use bayop_knobs::network::{CoalesceParameter, NapiParameter};
use bayop_knobs::{Host, Value};

/// Set in the process that runs inside its own network namespace.
const INSIDE: &str = "BAYOP_TEST_IN_NAMESPACE";

/// A veth pair polls only with GRO on; sysfs shows the namespace that mounted it.
const NAMESPACE: &str = "mount -t sysfs sysfs /sys && ip link add veth0 type veth peer name veth1 \
    && ip link set veth0 up && ip link set veth1 up && ethtool -K veth0 gro on \
    && ip tuntap add dev tap0 mode tap && exec \"$@\"";

fn kernel_is_since(major: u32, minor: u32) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

/// Whether this process is in its own namespace; if not, runs `test` again in one.
fn is_in_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if !needs::has_root() || !needs::has_programs(&["unshare", "ip", "ethtool"]) {
        return false;
    }
    let output = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c", NAMESPACE, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    false
}

/// Sets a knob, reads it back, and restores each of its controls.
fn set_and_restore(host: &Host, instance: &Instance, value: Value) {
    let name = instance.name();
    let writes = instance.plan(host, &value).unwrap();
    let found: Vec<_> = writes.iter().map(|write| write.control.read(host).unwrap()).collect();
    for write in &writes {
        write.control.write(host, &write.text).unwrap();
    }
    assert_eq!(instance.read(host), Ok(value), "{name}");
    for (write, found) in writes.iter().zip(&found).rev() {
        write.control.write(host, found).unwrap();
        assert_eq!(write.control.read(host).as_ref(), Ok(found), "{name}");
    }
}

fn instances(host: &Host, id: &str) -> Vec<Instance> {
    survey(host).instances.into_iter().filter(|instance| instance.knob.id == id).collect()
}

#[test]
fn deferral_is_set_on_a_veth_device_and_its_queue() {
    if !is_in_namespace("deferral_is_set_on_a_veth_device_and_its_queue") {
        return;
    }
    if !kernel_is_since(6, 13) {
        needs::unsupported("NAPI parameters of queues are since kernel 6.13");
        return;
    }
    let host = Host::live();
    for (id, value, on_device) in [
        ("napi.gro_flush_timeout_us", 50.0, true),
        ("napi.defer_hard_irqs", 2.0, true),
        ("napi.irq_suspend_timeout_us", 20_000.0, false),
    ] {
        let instances = instances(&host, id);
        let places: Vec<_> = instances.iter().map(|instance| instance.at.as_str()).collect();
        assert!(places.contains(&"veth0/rx-0"), "{id}: {places:?}");
        assert_eq!(places.contains(&"veth0"), on_device, "{id}: {places:?}");
        for instance in instances.iter().filter(|instance| instance.at.starts_with("veth0")) {
            set_and_restore(&host, instance, value.into());
        }
    }
}

#[test]
fn a_driver_that_clamps_shows_what_is_in_effect() {
    if !is_in_namespace("a_driver_that_clamps_shows_what_is_in_effect") {
        return;
    }
    let host = Host::live();
    let instances = instances(&host, "nic.rx_frames");
    let [instance] = &instances[..] else { panic!("{instances:?}") };
    assert_eq!((instance.name(), instance.read(&host)), ("nic.rx_frames@tap0".to_owned(), Ok(0.0.into())));
    set_and_restore(&host, instance, 8.0.into());
    // A tap device holds back no more packets than a poll takes (drivers/net/tun.c, tun_set_coalesce).
    for write in instance.plan(&host, &1000.0.into()).unwrap() {
        write.control.write(&host, &write.text).unwrap();
    }
    assert_eq!(instance.read(&host), Ok(64.0.into()));
    let tx_usecs = Control::Coalesce { device: "tap0".to_owned(), queue: None, parameter: CoalesceParameter::TxUsecs };
    assert_eq!(tx_usecs.read(&host).unwrap_err().kind, Kind::Unsupported);
    let error = tx_usecs.write(&host, "8").unwrap_err();
    // The kernel's own words.
    assert!(error.to_string().contains("cannot modify an unsupported parameter"), "{error}");
}

#[test]
fn a_device_without_what_is_asked_is_told_from_one_that_is_not_there() {
    if !is_in_namespace("a_device_without_what_is_asked_is_told_from_one_that_is_not_there") {
        return;
    }
    let host = Host::live();
    for (device, queue, reason) in [
        ("veth0", None, "not supported"),
        ("veth0", Some(0), "not supported"),
        ("nosuch0", None, "o such device"),
        ("nosuch0", Some(0), "o such device"),
        ("a-name-that-is-too-long", Some(0), "15 bytes"),
        ("veth0", Some(4096), "4096 queues at most"),
    ] {
        let control = Control::Coalesce { device: device.to_owned(), queue, parameter: CoalesceParameter::RxUsecs };
        for error in [control.read(&host).unwrap_err(), control.write(&host, "50").unwrap_err()] {
            assert_eq!(error.kind, Kind::Unsupported, "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
    for (device, reason) in [("veth0", "not supported"), ("nosuch0", "o such device")] {
        let table = Control::Indirection { device: device.to_owned() };
        for error in [table.read(&host).unwrap_err(), table.write(&host, "4: 0 1").unwrap_err()] {
            assert_eq!(error.kind, Kind::Unsupported, "{error}");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
    let missing = survey(&host).missing;
    let why = missing.iter().find(|missing| missing.knob.id == "nic.rx_usecs").map(|missing| &missing.why);
    assert!(why.is_some_and(|why| why.hint.is_some()), "{missing:?}");
    let napi = Control::Napi { device: "nosuch0".to_owned(), queue: 0, parameter: NapiParameter::DeferHardIrqs };
    assert!(napi.read(&host).unwrap_err().to_string().contains("o such device"));
}

#[test]
fn a_queue_of_a_virtio_nic_tells_what_its_device_tells() {
    let host = Host::live();
    let driver = |device: &str| std::fs::read_link(format!("/sys/class/net/{device}/device/driver"));
    let has_virtio = |device: &String| driver(device).is_ok_and(|driver| driver.ends_with("virtio_net"));
    let devices: Vec<_> = host.names("sys/class/net").into_iter().filter(has_virtio).collect();
    if devices.is_empty() {
        needs::unsupported("there is no virtio NIC");
    }
    if devices.is_empty() || !needs::has_root() {
        return;
    }
    for device in devices {
        let frames =
            |queue| Control::Coalesce { device: device.clone(), queue, parameter: CoalesceParameter::RxFrames };
        let found = frames(Some(0)).read(&host);
        assert_eq!(found, frames(None).read(&host));
        frames(Some(0)).write(&host, &found.clone().unwrap()).unwrap();
        assert_eq!(frames(Some(0)).read(&host), found);
    }
}

#[test]
fn the_latency_of_all_cpus_is_asked_for_as_long_as_it_is_held() {
    let host = Host::live();
    if !host.has("dev/cpu_dma_latency") {
        return needs::unsupported("there is no /dev/cpu_dma_latency");
    }
    if !needs::has_root() {
        return;
    }
    let in_effect = || {
        let bytes = std::fs::read("/dev/cpu_dma_latency").unwrap();
        i32::from_ne_bytes(bytes.try_into().unwrap())
    };
    // A program that another test starts at this moment has a copy of the open file until its exec, and the kernel
    // ends a request with the last copy.
    let in_effect_soon = |latency_us: i32| {
        let deadline = Instant::now() + Duration::from_secs(10);
        while in_effect() != latency_us && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        in_effect()
    };
    let found = in_effect();
    Control::DmaLatency.write(&host, "7").unwrap();
    assert_eq!((Control::DmaLatency.read(&host), in_effect()), (Ok("7".to_owned()), found.min(7)));
    Control::DmaLatency.write(&host, "3").unwrap();
    assert_eq!(in_effect(), found.min(3));
    Control::DmaLatency.write(&host, "none").unwrap();
    assert_eq!((Control::DmaLatency.read(&host), in_effect_soon(found)), (Ok("none".to_owned()), found));
    Control::DmaLatency.write(&host, "7").unwrap();
    drop(host);
    assert_eq!(in_effect_soon(found), found);
}

#[test]
fn the_latency_of_one_cpu_is_limited() {
    let host = Host::live();
    let instances = instances(&host, "idle.max_latency_us");
    if instances.is_empty() {
        return needs::unsupported("there is no PM QoS latency of CPUs");
    }
    if !needs::has_root() {
        return;
    }
    for instance in &instances {
        for latency_us in [0.0, 1.0] {
            set_and_restore(&host, instance, latency_us.into());
        }
    }
}
