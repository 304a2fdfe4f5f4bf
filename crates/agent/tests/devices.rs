//! Devices that never answer, change their names, give them to others, or come back.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::Instant;

use bayop_agent::devices::Devices;
use bayop_agent::hold::Hold;
use bayop_agent::journal::{Asked, Entry, Journal, State};
use bayop_knobs::Host;
use bayop_knobs::control::Control;
use common::{CAPS, Machine, Tree};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;

/// How long the agent waits here for what never comes.
const PATIENCE: (&str, &str) = ("BAYOP_PATIENCE_MS", "500");

/// A file that never answers, in place of another; dropped, it is the other again.
struct Hung(PathBuf);

impl Hung {
    fn at(path: PathBuf) -> Self {
        fs::rename(&path, path.with_extension("aside")).unwrap();
        mkfifo(&path, Mode::from_bits_truncate(0o600)).unwrap();
        Self(path)
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        // Whoever waits for the other end of the pipe meets it, and the end of the file.
        let pipe = fs::OpenOptions::new().read(true).write(true).open(&self.0).unwrap();
        fs::rename(self.0.with_extension("aside"), &self.0).unwrap();
        drop(pipe);
    }
}

#[test]
fn a_device_that_never_answers_keeps_no_other_from_being_restored() {
    for how in ["release", "stop", "restore"] {
        let machine = Machine::new();
        let found = machine.tree();
        let agent = machine.serve_with(&[PATIENCE]).unwrap();
        let lease = agent.lease();
        agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70, "cpu.freq_mhz": 1700}}));
        let hung = Hung::at(machine.cap(CAPS[0]));
        let code = match how {
            "release" => {
                let released = agent.post("/v1/release", json!({"lease": lease}));
                let latched = released["latched"].to_string();
                assert!(latched.contains("intel-rapl:0 did not answer") && latched.contains(CAPS[0]), "{released}");
                assert!(released["restored"].to_string().contains(CAPS[2]), "{released}");
                agent.stop()
            }
            "stop" => agent.stop(),
            _ => {
                agent.kill();
                machine.command("restore").env(PATIENCE.0, PATIENCE.1).status().unwrap().code()
            }
        };
        assert_eq!(code, Some(3), "{how}");
        let zone = machine.cap(CAPS[0]).parent().unwrap().to_owned();
        let others = |mut tree: Tree| -> Tree {
            tree.retain(|path, _| !path.starts_with(&zone));
            tree
        };
        assert_eq!(others(machine.tree()), others(found.clone()), "{how}");
        drop(hung);
        assert_eq!(machine.run("restore", &[]).status.code(), Some(0), "{how}");
        assert_eq!(machine.tree(), found, "{how}");
    }
}

#[test]
fn a_device_that_answers_at_last_is_restored_without_anybody_asking() {
    let machine = Machine::new();
    let found = machine.tree();
    let agent = machine.serve_with(&[PATIENCE]).unwrap();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {(CAPS[2]): 70}}));
    let hung = Hung::at(machine.cap(CAPS[2]));
    agent.post("/v1/release", json!({"lease": lease}));
    let start = Instant::now();
    assert_eq!(agent.held(CAPS[2]).unwrap()["state"], "latched");
    assert!(start.elapsed() < 2 * fault_patience(), "what hangs is not asked again until it answers");
    drop(hung);
    agent.until(|status| status["held"] == json!([]));
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.stop(), Some(0));
}

fn fault_patience() -> std::time::Duration {
    std::time::Duration::from_millis(PATIENCE.1.parse().unwrap())
}

#[test]
fn a_request_that_never_ends_is_a_crash_after_which_the_machine_is_restored() {
    let machine = Machine::new();
    let found = machine.tree();
    let mut agent = machine.serve_with(&[PATIENCE]).unwrap();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
    let hung = Hung::at(machine.root().join("proc/stat"));
    assert_eq!(agent.try_request("GET", "/v1/sensors", &json!(null)), None);
    assert_eq!(agent.wait(), Some(1), "{}", machine.log());
    assert!(machine.log().contains("event=hung after_s=2\n"), "{}", machine.log());
    drop(hung);
    assert_eq!(machine.tree(), found);
}

#[test]
fn what_nobody_holds_any_more_and_can_not_be_restored_is_not_forgotten() {
    let machine = Machine::new();
    let path = machine.cap(CAPS[0]).strip_prefix(machine.root()).unwrap().to_str().unwrap().to_owned();
    fs::create_dir(machine.path("state")).unwrap();
    fs::set_permissions(machine.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
    let entry = Entry {
        control: Control::file(path.clone()),
        device: None,
        holders: Default::default(),
        original: "99000000".to_owned(),
        intended: Some("70000000".to_owned()),
        effective: None,
        state: State::Held,
        reason: None,
    };
    let boot = fs::read_to_string(machine.root().join("proc/sys/kernel/random/boot_id")).unwrap();
    Journal::new(machine.path("state")).store(boot.trim_end(), &[entry]).unwrap();
    fs::set_permissions(machine.cap(CAPS[0]), fs::Permissions::from_mode(0o444)).unwrap();
    let restored = machine.run("restore", &[]);
    let text = String::from_utf8(restored.stdout).unwrap();
    assert_eq!(restored.status.code(), Some(3), "{text}");
    assert!(text.contains(&format!("FAILED    /{path}: ")), "{text}");
    let agent = machine.serve();
    assert_eq!(agent.held(&format!("/{path}")).unwrap()["state"], "latched");
    assert_eq!(agent.stop(), Some(3));
    fs::set_permissions(machine.cap(CAPS[0]), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(machine.run("restore", &[]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(machine.cap(CAPS[0])).unwrap().trim_end(), "99000000");
}

/// A machine with two NICs that sit in PCI slots.
fn two_nics() -> Machine {
    let machine = Machine::with_config("mode = \"apply\"\n[allow.\"nic.rx_usecs\"]\nplaces = [\"*\"]\n");
    for (name, slot, ifindex, rx_usecs) in [("eth0", "0000:01:00.0", 2, 10), ("eth1", "0000:02:00.0", 3, 20)] {
        let (net, bus) =
            (machine.root().join("sys/class/net").join(name), machine.root().join("sys/devices").join(slot));
        fs::create_dir_all(&bus).unwrap();
        let _ = fs::remove_dir_all(&net);
        fs::create_dir_all(&net).unwrap();
        symlink(format!("../../../devices/{slot}"), net.join("device")).unwrap();
        symlink("../../bus/pci/drivers/bnxt_en", bus.join("driver")).ok();
        fs::write(net.join("ifindex"), ifindex.to_string()).unwrap();
        fs::write(net.join("type"), "1").unwrap();
        let answers = format!("per_queue = false\n[[queue]]\nadaptive_rx = 0\nrx_usecs = {rx_usecs}\n");
        fs::write(machine.root().join(format!("ethtool/{name}.toml")), answers).unwrap();
    }
    machine
}

fn rename(machine: &Machine, from: &str, to: &str) {
    let net = machine.root().join("sys/class/net");
    fs::rename(net.join(from), net.join(to)).unwrap();
    let answers = machine.root().join("ethtool");
    fs::rename(answers.join(format!("{from}.toml")), answers.join(format!("{to}.toml"))).unwrap();
}

fn rx_usecs(machine: &Machine, name: &str) -> i64 {
    let text = fs::read_to_string(machine.root().join(format!("ethtool/{name}.toml"))).unwrap();
    text.parse::<toml::Table>().unwrap()["queue"][0]["rx_usecs"].as_integer().unwrap()
}

#[test]
fn a_nic_that_is_renamed_while_held_is_restored_and_its_namesake_left_alone() {
    for how in ["running", "killed", "rebooted"] {
        let machine = two_nics();
        let agent = machine.serve();
        let lease = agent.lease();
        agent.post("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs@eth0": 100}}));
        let kill = how != "running";
        let agent = if kill {
            agent.kill();
            None
        } else {
            Some(agent)
        };
        rename(&machine, "eth0", "lan0");
        rename(&machine, "eth1", "eth0");
        if how == "rebooted" {
            fs::write(machine.root().join("proc/sys/kernel/random/boot_id"), "another boot\n").unwrap();
            let index = |name: &str, number: &str| {
                fs::write(machine.root().join("sys/class/net").join(name).join("ifindex"), number)
            };
            index("lan0", "3").and(index("eth0", "2")).unwrap();
            // So that its value matches, too.
            let text = fs::read_to_string(machine.root().join("ethtool/eth0.toml")).unwrap();
            fs::write(machine.root().join("ethtool/eth0.toml"), text.replace("20", "100")).unwrap();
        }
        match agent {
            Some(agent) => {
                agent.until(|status| status["held"].to_string().contains("nic.rx_usecs@lan0"));
                let released = agent.post("/v1/release", json!({"lease": lease}));
                assert_eq!(released["restored"], json!(["nic.rx_usecs@lan0"]), "{released}");
                assert_eq!(agent.stop(), Some(0));
            }
            None => assert_eq!(machine.run("restore", &[]).status.code(), Some(0)),
        }
        let namesake = if how == "rebooted" { 100 } else { 20 };
        assert_eq!((rx_usecs(&machine, "lan0"), rx_usecs(&machine, "eth0")), (10, namesake), "{how}");
    }
}

#[test]
fn a_nic_that_is_gone_is_latched_and_found_when_it_is_back() {
    let machine = two_nics();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs@eth0": 100}}));
    let net = machine.root().join("sys/class/net");
    fs::rename(net.join("eth0"), machine.path("unplugged")).unwrap();
    rename(&machine, "eth1", "eth0.1");
    let released = agent.post("/v1/release", json!({"lease": lease}));
    let reason = released["latched"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("eth0 (at /sys/devices/0000:01:00.0) is gone"), "{released}");
    fs::rename(machine.path("unplugged"), net.join("eth0")).unwrap();
    agent.until(|status| status["held"] == json!([]));
    assert_eq!((rx_usecs(&machine, "eth0"), rx_usecs(&machine, "eth0.1")), (10, 20));
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_nic_that_was_plugged_in_anew_while_held_is_not_taken_over_again() {
    let machine = two_nics();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs@eth0": 100}}));
    // The card is in its place again before anybody looked, with another number and its driver's default.
    fs::write(machine.root().join("sys/class/net/eth0/ifindex"), "4").unwrap();
    let (answers, anew) = (machine.root().join("ethtool/eth0.toml"), machine.path("anew"));
    fs::write(&anew, fs::read_to_string(&answers).unwrap().replace("100", "3")).unwrap();
    fs::rename(anew, answers).unwrap();
    agent.until(|status| status["held"][0]["state"] == "stood_down");
    assert_eq!(agent.post("/v1/release", json!({"lease": lease}))["stood_down"], json!(["nic.rx_usecs@eth0"]));
    assert_eq!((rx_usecs(&machine, "eth0"), agent.stop()), (3, Some(0)));
}

#[test]
fn a_journal_of_an_older_or_a_newer_agent_is_restored_from() {
    let machine = Machine::new();
    let found = machine.tree();
    machine.holding().0.kill();
    let journal = fs::read_to_string(machine.journal()).unwrap();
    let held = machine.tree();
    let line = |json: &str| format!("{:08x} {json}\n", crc32(json));
    let rewritten =
        |change: &dyn Fn(&str) -> String| -> String { journal.lines().map(|text| line(&change(&text[9..]))).collect() };
    let older = rewritten(&|json| json.replace("\"version\":1,", "").replace("\"device\":null,", ""));
    let newer = rewritten(&|json| {
        json.replace("\"version\":1", "\"version\":2").replace("{\"control", "{\"news\":[1],\"control")
    });
    for (whose, text) in [("older", older), ("newer", newer)] {
        assert_ne!(text, journal);
        let now = machine.tree();
        for (path, text) in held.iter().filter(|(path, text)| now.get(*path) != Some(text)) {
            fs::write(path, text).unwrap();
        }
        fs::write(machine.journal(), text).unwrap();
        let restored = machine.run("restore", &[]);
        assert_eq!(restored.status.code(), Some(0), "{whose}: {restored:?}");
        assert_eq!(machine.tree(), found, "{whose}");
    }
    // What it can't make sense of is kept for the agent that can.
    let foreign = rewritten(&|json| {
        json.replace("\"kind\":\"file\"", "\"kind\":\"warp\"").replace("\"version\":1", "\"version\":9")
    });
    fs::write(machine.journal(), &foreign).unwrap();
    let refused = machine.run("restore", &[]);
    let text = String::from_utf8(refused.stdout).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{text}");
    assert!(text.contains("3 of its lines, of version 9, are none that this agent of 1 writes"), "{text}");
    assert_eq!(fs::read_to_string(machine.path("state/journal.damaged")).unwrap(), foreign);
}

fn crc32(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}

#[test]
fn what_a_retry_finds_as_it_was_is_not_written() {
    let machine = Machine::new();
    let host = Host::recorded(machine.root());
    let boot = host.read("proc/sys/kernel/random/boot_id").unwrap();
    let state = machine.path("state");
    fs::create_dir(&state).unwrap();
    let path = machine.cap(CAPS[0]).strip_prefix(machine.root()).unwrap().to_str().unwrap().to_owned();
    let asked = Asked { found: 125.0.into(), requested: 70.0.into() };
    let entry = Entry {
        control: Control::file(path),
        device: None,
        holders: [(CAPS[0].to_owned(), asked)].into(),
        original: "1".to_owned(),
        intended: Some("70000000".to_owned()),
        effective: None,
        state: State::Latched,
        reason: None,
    };
    Journal::new(&state).store(&boot, &[entry]).unwrap();
    fs::set_permissions(machine.cap(CAPS[0]), fs::Permissions::from_mode(0o444)).unwrap();
    let mut hold = Hold::new(host, Devices::default(), boot, Journal::new(&state));
    assert_eq!(hold.recover().unwrap().latched.len(), 1);
    let tries = |hold: &mut Hold, at_s: u64| hold.retry(std::time::Duration::from_secs(at_s)).latched.len();
    assert_eq!([0, 0, 1, 2, 3, 4, 6, 7].map(|at_s| tries(&mut hold, at_s)), [1, 0, 1, 0, 1, 0, 0, 1]);
    fs::set_permissions(machine.cap(CAPS[0]), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(machine.cap(CAPS[0]), "1\n").unwrap();
    fs::set_permissions(machine.cap(CAPS[0]), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(hold.retry(std::time::Duration::from_secs(60)).restored, [CAPS[0]]);
    assert!(hold.held().is_empty() && !machine.journal().exists());
}

#[test]
fn two_nics_in_one_place_are_told_apart_by_their_numbers() {
    let machine = two_nics();
    let link = machine.root().join("sys/class/net/eth1/device");
    fs::remove_file(&link).unwrap();
    symlink("../../../devices/0000:01:00.0", link).unwrap();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs@eth0": 100}}));
    rename(&machine, "eth0", "lan0");
    rename(&machine, "eth1", "eth0");
    assert_eq!(agent.post("/v1/release", json!({"lease": lease}))["restored"], json!(["nic.rx_usecs@lan0"]));
    assert_eq!((rx_usecs(&machine, "lan0"), rx_usecs(&machine, "eth0")), (10, 20), "{}", machine.log());
}

#[test]
fn a_file_that_says_what_a_nic_is_may_hang_too() {
    let machine = two_nics();
    let net = machine.root().join("sys/class/net");
    fs::write(net.join("eth0/address"), "02:00:00:00:00:01").unwrap();
    let agent = machine.serve_with(&[PATIENCE]).unwrap();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"nic.rx_usecs@eth0": 100, "nic.rx_usecs@eth1": 100}}));
    // Its number is no longer there, so that the rest is asked for.
    fs::remove_file(net.join("eth0/ifindex")).unwrap();
    let hung = Hung::at(net.join("eth0/address"));
    let released = agent.post("/v1/release", json!({"lease": lease}));
    assert_eq!(released["restored"], json!(["nic.rx_usecs@eth1"]), "{released}");
    drop(hung);
    agent.until(|status| status["held"] == json!([]));
    assert_eq!((rx_usecs(&machine, "eth0"), rx_usecs(&machine, "eth1")), (10, 20));
}

#[test]
fn a_request_that_comes_back_after_the_watchdog_writes_nothing() {
    let machine = Machine::new();
    let found = machine.tree();
    // The first setting of a cap hangs the knob's own file, in a look that is given no deadline: its plan.
    let mut agent = machine.serve_with(&[PATIENCE]).unwrap();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
    let governors = machine.root().join("sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors");
    let hung = Hung::at(governors);
    let answered = agent.try_request(
        "POST",
        "/v1/apply",
        &json!({"lease": lease, "setting": {"power.cap_w": 60, "cpu.freq_mhz": 1700}}),
    );
    drop(hung);
    match answered {
        None => assert!([Some(1), Some(3)].contains(&agent.wait()), "{}", machine.log()),
        Some(_) => assert_eq!(agent.stop(), Some(0)),
    }
    assert_eq!(machine.run("restore", &[]).status.code(), Some(0));
    assert_eq!(machine.tree(), found);
}

#[test]
fn what_an_agent_of_another_version_set_aside_is_restored_by_the_one_that_can() {
    let machine = Machine::new();
    let found = machine.tree();
    machine.holding().0.kill();
    fs::rename(machine.journal(), machine.path("state/journal.damaged")).unwrap();
    let agent = machine.serve();
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.get("/v1/status")["damage"], json!(null));
    assert!(!machine.path("state/journal.damaged").exists());
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn what_was_set_aside_in_another_boot_is_not_taken_for_one_of_this() {
    let machine = Machine::new();
    machine.holding().0.kill();
    let aside = fs::read_to_string(machine.journal()).unwrap();
    assert_eq!(machine.run("restore", &[]).status.code(), Some(0));
    fs::write(machine.root().join("proc/sys/kernel/random/boot_id"), "another boot\n").unwrap();
    machine.holding().0.kill();
    fs::write(machine.path("state/journal.damaged"), &aside).unwrap();
    let agent = machine.serve();
    let damage = agent.get("/v1/status")["damage"].to_string();
    assert!(damage.contains("it was set aside"), "{damage}");
    assert_eq!(fs::read_to_string(machine.path("state/journal.damaged")).unwrap(), aside);
}

#[test]
fn a_doctor_that_waits_for_a_device_ends_nothing() {
    let machine = Machine::new();
    let agent = machine.serve_with(&[PATIENCE]).unwrap();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
    let hung = Hung::at(machine.root().join("sys/devices/system/cpu/cpufreq/policy0/scaling_driver"));
    for _ in 0..2 {
        let (status, answer) = agent.request("GET", "/v1/doctor", json!(null));
        assert_eq!(status, 502, "{answer}");
    }
    assert_ne!(agent.get("/v1/status")["held"], json!([]));
    drop(hung);
    agent.until(|_| agent.request("GET", "/v1/doctor", json!(null)).0 == 200);
    assert_eq!(agent.stop(), Some(0));
}

#[test]
fn a_journal_leads_nowhere_but_to_attributes_of_the_kernel() {
    for (from, to) in [("sys/class", "../victim/sys/class"), ("sys/class", "sys/../../victim"), ("sys/class", "/etc")] {
        let machine = Machine::new();
        machine.holding().0.kill();
        let journal = fs::read_to_string(machine.journal()).unwrap();
        let line = |json: String| format!("{:08x} {json}\n", crc32(&json));
        let led: String = journal.lines().map(|text| line(text[9..].replace(from, to))).collect();
        fs::write(machine.journal(), led).unwrap();
        let restored = machine.run("restore", &[]);
        assert_eq!(restored.status.code(), Some(3), "{to}: {restored:?}");
        assert!(String::from_utf8(restored.stdout).unwrap().contains("DAMAGED"), "{to}");
    }
}

#[test]
fn a_setting_leaves_out_a_cpu_that_went_offline_and_has_it_again_when_it_is_back() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    let cpus = machine.root().join("sys/devices/system/cpu");
    let online = |cpus_online: &str, affected: &str| {
        let policy = cpus.join("cpufreq/policy1/affected_cpus");
        let _ = fs::remove_file(&policy);
        fs::write(policy, affected).unwrap();
        fs::write(cpus.join("online"), cpus_online).unwrap();
        let applied = agent.post("/v1/apply", json!({"lease": lease, "setting": {"cpu.freq_mhz": 1700}}));
        applied["changes"].as_array().unwrap_or_else(|| panic!("{applied}")).len()
    };
    assert_eq!([online("0-3\n", "2 3\n"), online("0-1\n", "\n"), online("0-3\n", "2 3\n")], [2, 1, 2]);
}
