//! Everything that goes wrong around an agent: dead brains, full disks, stubborn files, gone devices, other people.

mod common;
#[path = "../../knobs/tests/needs/mod.rs"]
mod needs;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use common::{CAPS, Machine};
use serde_json::{Value, json};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_dead_brain_means_restore() {
    let machine = Machine::new();
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.post("/v1/lease", json!({"holder": "brain", "ttl_s": 2}))["lease"].clone();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
    agent.post("/v1/lease/renew", json!({"lease": lease}));
    assert_ne!(machine.tree(), found);
    let status = agent.until(|status| status["lease"].is_null());
    assert_eq!(status["held"], json!([]));
    assert_eq!(machine.tree(), found);
    let (status, error) = agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}}));
    assert_eq!((status, &error["kind"]), (409, &json!("conflict")));
    assert!(machine.log().contains("event=lease_expired holder=brain"));
}

#[test]
fn what_is_kept_outlives_its_lease_and_not_the_agent() {
    let machine = Machine::new();
    let found = machine.tree();
    let (agent, lease) = machine.holding();
    let held = machine.tree();
    agent.post("/v1/release", json!({"lease": lease, "keep": true}));
    let status = agent.get("/v1/status");
    assert_eq!((&status["kept"], &status["lease"]), (&json!(true), &Value::Null));
    assert_eq!(status["applied_by"]["holder"], "test");
    assert_eq!(machine.tree(), held);
    assert_eq!(agent.stop(), Some(0));
    assert_eq!(machine.tree(), found);
}

#[test]
fn what_is_kept_outlives_a_lease_that_applies_nothing() {
    let machine = Machine::new();
    let (agent, lease) = machine.holding();
    let held = machine.tree();
    agent.post("/v1/release", json!({"lease": lease, "keep": true}));
    let lease = agent.lease();
    agent.post("/v1/release", json!({"lease": lease}));
    agent.post("/v1/lease", json!({"holder": "brain", "ttl_s": 2}));
    agent.until(|status| status["lease"].is_null());
    assert_eq!(machine.tree(), held);
    assert_eq!(agent.get("/v1/status")["kept"], true);
}

#[test]
fn one_writer_and_one_agent_at_a_time() {
    let machine = Machine::new();
    let (agent, _lease) = machine.holding();
    let held = machine.tree();
    let (status, error) = agent.refused("/v1/lease", json!({"holder": "second", "ttl_s": 10}));
    assert_eq!((status, &error["value"]), (409, &json!("test")));
    let (status, _) = agent.refused("/v1/apply", json!({"lease": "0", "setting": {"power.cap_w": 60}}));
    assert_eq!(status, 409);
    for verb in ["serve", "restore"] {
        let second = machine.run(verb, &[]);
        assert_eq!(second.status.code(), Some(4), "{second:?}");
        assert!(String::from_utf8(second.stderr).unwrap().contains("the agent is running"));
    }
    assert_eq!(machine.tree(), held);
}

#[test]
fn a_queue_that_is_set_apart_stays_so_whatever_becomes_of_its_device() {
    let machine = Machine::with_config("mode = \"apply\"\n[allow.\"nic.rx_usecs\"]\nplaces = [\"eth0\", \"eth0/*\"]\n");
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    let apply =
        |setting: Value| agent.post("/v1/apply", json!({"lease": lease, "setting": setting}))["changes"].clone();
    let queues = || {
        let text = fs::read_to_string(machine.root().join("ethtool/eth0.toml")).unwrap();
        let queue = text.parse::<toml::Table>().unwrap()["queue"].as_array().unwrap().clone();
        let rx_usecs = |index: usize| queue[index]["rx_usecs"].as_integer().unwrap();
        (rx_usecs(0), rx_usecs(1))
    };
    let (device, queue) = ("nic.rx_usecs@eth0", "nic.rx_usecs@eth0/rx-1");
    assert_eq!(queues(), (10, 25));
    apply(json!({(queue): 50}));
    assert_eq!(queues(), (10, 50));
    let changes = apply(json!({"nic.rx_usecs": 100}));
    assert_eq!(changes.as_array().unwrap().len(), 1, "a device stands for its queues: {changes}");
    assert_eq!((&changes[0]["knob"], queues()), (&json!(device), (100, 50)));
    apply(json!({(device): "auto"}));
    assert_eq!(queues(), (10, 50));
    assert_eq!(agent.held(queue).unwrap()["effective"], 50.0);
    apply(json!({(device): 200}));
    apply(json!({(queue): "auto"}));
    assert_eq!(queues(), (200, 200), "the device still has it");
    apply(json!({(device): 300, (queue): 60}));
    assert_eq!(queues(), (300, 60));
    apply(json!({"nic.rx_usecs": "auto"}));
    assert_eq!(agent.get("/v1/status")["held"], json!([]));
    assert_eq!(machine.tree(), found);
}

#[test]
fn a_setting_is_applied_as_a_whole_or_not_at_all() {
    let machine = Machine::new();
    let (agent, lease) = machine.holding();
    let held = machine.tree();
    mode(&machine.cap(CAPS[2]), 0o444);
    let (status, error) = agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}}));
    assert_eq!((status, &error["kind"]), (502, &json!("unsupported")));
    assert!(error["wrong"].as_str().unwrap().contains("intel-rapl:1/constraint_0"), "{error}");
    assert_eq!(error["place"], CAPS[2]);
    assert_eq!(machine.tree(), held);
    assert!(agent.get("/v1/status")["held"].as_array().unwrap().iter().all(|held| held["state"] == "held"));
}

#[test]
fn a_knob_that_can_not_be_restored_is_latched_until_it_is() {
    let machine = Machine::new();
    let found = machine.tree();
    let (agent, lease) = machine.holding();
    mode(&machine.cap(CAPS[0]), 0o444);
    let released = agent.post("/v1/release", json!({"lease": lease}));
    assert_eq!(released["latched"][0]["knob"], CAPS[0]);
    assert_eq!(released["restored"], json!([CAPS[1], CAPS[2]]));
    let held = agent.held(CAPS[0]).unwrap();
    assert_eq!((&held["state"], &held["found"], &held["effective"]), (&json!("latched"), &json!(125.0), &json!(70.0)));

    let lease = agent.lease();
    let (status, error) = agent.refused("/v1/apply", json!({"lease": lease, "setting": {(CAPS[0]): 60}}));
    assert_eq!((status, &error["place"]), (409, &json!(CAPS[0])));
    agent.post("/v1/apply", json!({"lease": lease, "setting": {(CAPS[1]): 60}}));

    // The latch outlives the agent, which says by its exit code that the machine is not as it was found.
    assert_eq!(agent.stop(), Some(3));
    let restore = machine.run("restore", &[]);
    assert_eq!(restore.status.code(), Some(3), "{restore:?}");
    let agent = machine.serve();
    assert_eq!(agent.held(CAPS[0]).unwrap()["state"], "latched");

    // Nobody has to ask: it is tried again and again.
    mode(&machine.cap(CAPS[0]), 0o644);
    agent.until(|status| status["held"] == json!([]));
    assert!(machine.log().contains(&format!("event=restored knob={} reason=retry", CAPS[0])));
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_device_that_vanishes_is_latched_and_the_others_are_restored() {
    let machine = Machine::new();
    let mut found = machine.tree();
    let (agent, _lease) = machine.holding();
    let zone = machine.root().join("sys/class/powercap/intel-rapl:1");
    fs::remove_dir_all(&zone).unwrap();
    found.retain(|path, _| !path.starts_with(&zone));
    agent.until(|status| status["held"].as_array().unwrap().iter().any(|held| held["state"] == "latched"));
    let held = agent.held(CAPS[2]).unwrap();
    assert!(held["reason"].as_str().unwrap().contains("no such file"), "{held}");
    let released = agent.post("/v1/restore", json!({}));
    assert_eq!((&released["restored"], &released["latched"][0]["knob"]), (&json!([CAPS[0], CAPS[1]]), &json!(CAPS[2])));
    assert_eq!(machine.tree(), found);
}

#[test]
fn what_somebody_else_changes_is_theirs() {
    let machine = Machine::new();
    let mut found = machine.tree();
    let (agent, lease) = machine.holding();
    assert_eq!(agent.metric("bayop_knob_drift_total{knob=\"power.cap_w\"}"), Some(0.0));
    // In one step, as the kernel's file would change: between truncating a file and writing it the agent may look.
    fs::OpenOptions::new().write(true).open(machine.cap(CAPS[0])).unwrap().write_all(b"99000000").unwrap();
    found.insert(machine.cap(CAPS[0]), "99000000".to_owned());
    agent.until(|status| status["held"][0]["state"] == "stood_down");
    let held = agent.held(CAPS[0]).unwrap();
    assert!(held["reason"].as_str().unwrap().contains("from 70000000 to 99000000"), "{held}");
    assert_eq!(held["effective"], 99.0);
    let (status, error) = agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}}));
    assert_eq!((status, &error["place"]), (409, &json!(CAPS[0])));
    assert_eq!(agent.metric("bayop_knob_drift_total{knob=\"power.cap_w\"}"), Some(1.0));
    assert_eq!(agent.metric("bayop_knobs_held{state=\"stood_down\"}"), Some(1.0));

    let released = agent.post("/v1/release", json!({"lease": lease}));
    assert_eq!(released["stood_down"], json!([CAPS[0]]));
    assert_eq!(released["restored"], json!([CAPS[1], CAPS[2]]));
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.stop(), Some(0));
}

/// A file system of 64 KiB in the state folder, full but for nothing.
struct FullDisk<'a>(&'a Machine);

impl<'a> FullDisk<'a> {
    /// None, with the reason noted, when this user may not mount.
    fn mount(machine: &'a Machine) -> Option<Self> {
        if !needs::has_root() {
            return None;
        }
        let state = machine.path("state");
        fs::create_dir(&state).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k,mode=700", "none"]).arg(&state).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(machine)),
            refused => {
                needs::unsupported(&format!("a small file system can't be mounted: {refused:?}"));
                None
            }
        }
    }

    fn fill(&self) {
        use std::io::Write as _;
        let mut file = fs::File::create(self.0.path("state/filler")).unwrap();
        while file.write_all(&[0; 512]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.path("state/filler")).unwrap();
    }
}

impl Drop for FullDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path("state")).status();
    }
}

#[test]
fn a_full_disk_means_nothing_is_written() {
    let machine = Machine::new();
    let found = machine.tree();
    let Some(disk) = FullDisk::mount(&machine) else { return };
    let agent = machine.serve();
    let lease = agent.lease();
    disk.fill();
    let (status, error) = agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}}));
    assert_eq!((status, &error["kind"]), (502, &json!("unsupported")));
    assert!(error["wrong"].as_str().unwrap().contains("no space left"), "{error}");
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.get("/v1/status")["held"], json!([]));

    disk.make_room();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}}));
    let held = machine.tree();
    disk.fill();
    agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 55}}));
    assert_eq!(machine.tree(), held);
    // Restoring needs no room.
    assert_eq!(agent.stop(), Some(0));
    assert_eq!(machine.tree(), found);
    assert!(!machine.journal().exists());
}

#[test]
fn a_fall_back_that_a_full_disk_keeps_out_of_the_journal_is_the_default() {
    let machine = Machine::new();
    let found = machine.tree();
    let Some(disk) = FullDisk::mount(&machine) else { return };
    let agent = machine.serve();
    let conditions = json!({"latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 60}});
    let (setting, fall_back) = (json!({"power.cap_w": 70}), json!({"power.cap_w": 90}));
    agent.post(
        "/v1/hold",
        json!({"lease": agent.lease(), "setting": setting, "fall_back": fall_back, "conditions": conditions}),
    );
    disk.fill();
    machine.push(json!({"vantage": "client", "p99_us": 501}));
    let status = agent.until(|status| !status["hold"]["fell_back"].is_null());
    assert!(status["hold"]["fell_back"]["error"]["wrong"].as_str().unwrap().contains("no space left"), "{status}");
    assert_eq!((&status["lease"], &status["held"]), (&Value::Null, &json!([])));
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_killed_agent_s_machine_is_restored_on_a_full_disk() {
    let machine = Machine::new();
    let found = machine.tree();
    let Some(disk) = FullDisk::mount(&machine) else { return };
    let (agent, _lease) = machine.holding();
    disk.fill();
    agent.kill();
    let agent = machine.serve();
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_state_folder_that_can_not_be_written_any_more_is_restored_from() {
    let machine = Machine::new();
    let found = machine.tree();
    let Some(_disk) = FullDisk::mount(&machine) else { return };
    let remount = |how: &str| {
        let mounted = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(machine.path("state")).status();
        assert!(mounted.unwrap().success());
    };
    let (agent, _lease) = machine.holding();
    agent.kill();
    remount("ro");
    let restored = machine.run("restore", &[]);
    assert_eq!(restored.status.code(), Some(0), "{restored:?}");
    assert!(String::from_utf8(restored.stderr).unwrap().contains("can't be written and still has all of this"));
    assert_eq!(machine.tree(), found);
    remount("rw");
    machine.holding().0.kill();
    remount("ro");
    // An agent starts there, restores, and refuses to apply.
    let agent = machine.serve();
    assert_eq!(machine.tree(), found);
    let lease = agent.lease();
    assert_eq!(agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}})).0, 502);
    assert_eq!(agent.stop(), Some(0));
    remount("rw");
    assert_eq!(machine.run("restore", &[]).status.code(), Some(0));
    assert!(!machine.journal().exists());
}

#[test]
fn two_agents_do_not_write_one_machine() {
    let machine = Machine::new();
    let (agent, _lease) = machine.holding();
    let held = machine.tree();
    let config = fs::read_to_string(machine.path("agent.toml")).unwrap();
    let state = format!("state_dir = {:?}", machine.path("state"));
    fs::write(machine.path("agent.toml"), config.replace(&state, &format!("state_dir = {:?}", machine.path("other"))))
        .unwrap();
    for verb in ["serve", "restore"] {
        let second = machine.run(verb, &[]);
        let message = String::from_utf8(second.stderr).unwrap();
        assert_eq!(second.status.code(), Some(4), "{verb}: {message}");
        assert!(message.contains("one agent at a time must write a machine"), "{verb}: {message}");
    }
    // Who only observes may look at it meanwhile.
    let observer = fs::read_to_string(machine.path("agent.toml")).unwrap().replace("\"apply\"", "\"observe\"");
    fs::write(machine.path("agent.toml"), observer.replace("agent.sock", "observer.sock")).unwrap();
    assert_eq!(machine.run("check-config", &[]).status.code(), Some(0));
    assert_eq!(machine.tree(), held);
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_fraction_does_not_pass_for_what_the_driver_keeps_for_itself() {
    let machine = Machine::with_config("mode = \"apply\"\n[allow.\"nic.rx_usecs\"]\nplaces = [\"*\"]\n");
    let driver = machine.root().join("sys/class/net/eth0/device/driver");
    fs::remove_file(&driver).unwrap();
    std::os::unix::fs::symlink("../../../../bus/pci/drivers/igb", driver).unwrap();
    let agent = machine.serve();
    let lease = agent.lease();
    for reserved in [1.0, 1.0005, 0.9995, 9.0002] {
        let (status, error) =
            agent.refused("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs": reserved}}));
        assert_eq!(status, 400, "{error}");
        assert!(error["wrong"].as_str().unwrap().contains("the driver keeps"), "{reserved}: {error}");
    }
    let applied = agent.post("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs": 19.9995}}));
    assert_eq!(applied["setting"]["nic.rx_usecs"], 20.0, "{applied}");
}

#[test]
fn a_knob_that_stands_is_not_written_again() {
    let machine = Machine::new();
    let log = machine.path("steps");
    let agent = machine.serve_with(&[("BAYOP_FAULT_LOG", log.to_str().unwrap())]).unwrap();
    let lease = agent.lease();
    let writes = |setting: Value| {
        let count = || fs::read_to_string(&log).unwrap_or_default().matches("apply.before_write").count();
        let before = count();
        agent.post("/v1/apply", json!({"lease": lease, "setting": setting}));
        count() - before
    };
    let nic = writes(json!({"nic.rx_usecs": 100}));
    assert!(nic > 0);
    assert_eq!(writes(json!({"nic.rx_usecs": 100, (CAPS[0]): 90})), 1);
    assert_eq!(writes(json!({"nic.rx_usecs": 100, (CAPS[0]): 90})), 0);
    assert_eq!(writes(json!({"nic.rx_usecs": 200, (CAPS[0]): 90})), nic);
    // Handed back and asked for anew: what is in effect then is not BayOp's.
    assert_eq!(writes(json!({"nic.rx_usecs": "auto"})), 0);
    assert_eq!(writes(json!({"nic.rx_usecs": 200})), nic);
}

#[test]
fn an_observer_refuses_and_an_adviser_writes_nothing() {
    let allow = "[allow.\"power.cap_w\"]\nplaces = [\"*\"]\n";
    for (mode, status) in [("observe", 403), ("advise", 200)] {
        let machine = Machine::with_config(&format!("mode = \"{mode}\"\n{allow}"));
        let found = machine.tree();
        let agent = machine.serve();
        let lease = agent.lease();
        let request = json!({"lease": lease, "setting": {"power.cap_w": 60}});
        let (answered, answer) = agent.request("POST", "/v1/apply", request);
        assert_eq!(answered, status, "{answer}");
        if mode == "advise" {
            assert_eq!(answer["advised"], true);
            let change = json!({"knob": CAPS[0], "before": 125.0, "requested": 60.0, "effective": null});
            assert_eq!(answer["changes"][0], change);
            assert!(machine.log().contains("event=advised knob=power.cap_w@intel-rapl:0/0 before=125 requested=60"));
        }
        let dry_run = agent.post("/v1/apply", json!({"setting": {(CAPS[1]): 60}, "dry_run": true}));
        assert_eq!(dry_run["changes"][0]["before"], 150.0);
        assert_eq!(machine.tree(), found);
        assert!(!machine.journal().exists());
    }
}
