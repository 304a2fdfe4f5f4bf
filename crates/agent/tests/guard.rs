//! A setting that is held under conditions: when it gives way, and to what.

mod common;
#[path = "../../knobs/tests/needs/mod.rs"]
mod needs;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::holding::{asked, cap_w, client, fallen, heard, p99};
use common::{CAPS, Machine};
use serde_json::{Value, json};

const PACKETS: &str = "sys/class/net/eth0/statistics/rx_packets";

#[test]
fn a_latency_above_its_limit_means_the_fall_back_and_the_lease_goes_on() {
    let machine = Machine::new();
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    assert_eq!(agent.get("/v1/hold"), json!({"hold": null}));
    let applied = agent.post("/v1/hold", asked(&lease, p99()));
    assert_eq!((&applied["setting"], &applied["advised"]), (&json!({"power.cap_w": 70.0}), &json!(false)));
    assert_eq!(agent.metric("bayop_hold{state=\"held\"}"), Some(1.0));

    machine.push(client(499.0));
    heard(&agent, 1.0);
    let hold = agent.get("/v1/hold")["hold"].clone();
    assert_eq!((&hold["fell_back"], &hold["latest"]["latency_us"]), (&Value::Null, &json!(499.0)));
    assert_eq!(cap_w(&machine), 70.0);
    assert_eq!(agent.metric("bayop_hold_latency_seconds"), Some(499e-6));

    machine.push(client(812.4));
    let fell_back = fallen(&agent);
    assert_eq!((&fell_back["condition"], &fell_back["error"]), (&json!("latency"), &Value::Null));
    assert_eq!(fell_back["seen"], "p99 812 us, over 500 us");
    assert!(fell_back["took_s"].as_f64().unwrap() < 1.0, "{fell_back}");
    assert_eq!(cap_w(&machine), 90.0);
    assert_eq!(agent.held(CAPS[0]).unwrap()["requested"], 90.0);
    assert_eq!(agent.metric("bayop_hold{state=\"fell_back\"}"), Some(1.0));
    assert_eq!(agent.metric("bayop_fallbacks_total{reason=\"latency\"}"), Some(1.0));
    let log = machine.log();
    assert!(log.contains("event=fall_back condition=latency reason=\"p99 812 us, over 500 us\" holder=test"), "{log}");
    let change = format!("event=applied knob={} before=70 requested=90 effective=90 holder=test by=agent", CAPS[0]);
    assert!(log.contains(&change), "{log}");

    // What is over is not watched any more, and the holder decides what is next.
    assert_eq!(agent.request("PUT", "/v1/latency", client(9000.0)), (200, json!({"watched": false})));
    agent.post("/v1/lease/renew", json!({"lease": lease}));
    agent.post("/v1/hold", asked(&lease, p99()));
    assert_eq!((cap_w(&machine), agent.get("/v1/hold")["hold"]["fell_back"].clone()), (70.0, Value::Null));
    assert_eq!(agent.request("PUT", "/v1/latency", client(501.0)), (200, json!({"watched": true})));
    assert_eq!(cap_w(&machine), 90.0, "a request is answered when the fall-back is in effect");
    agent.post("/v1/release", json!({"lease": lease}));
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.get("/v1/hold"), json!({"hold": null}));
}

#[test]
fn a_hold_and_its_fall_back_are_whole() {
    let machine = Machine::new();
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"cpu.freq_mhz": 1700}}));
    let mut hold = asked(&lease, p99());
    hold["setting"]["nic.rx_usecs"] = 100.into();
    hold["fall_back"] = json!({"nic.rx_usecs": 50});
    let changes = agent.post("/v1/hold", hold.clone())["changes"].clone();
    let freed = changes.as_array().unwrap().iter().filter(|change| change["requested"] == "auto").count();
    assert_eq!((freed, agent.held("cpu.freq_mhz@policy0")), (2, None), "what the hold does not name is handed back");
    machine.push(client(501.0));
    fallen(&agent);
    assert_eq!(agent.held(CAPS[0]), None);
    assert_eq!(agent.held("nic.rx_usecs@eth0").unwrap()["requested"], 50.0);
    hold["fall_back"] = json!({});
    agent.post("/v1/hold", hold);
    machine.push(client(501.0));
    fallen(&agent);
    assert_eq!(machine.tree(), found, "nothing in the fall-back is the machine's own setting");
    assert_eq!(agent.get("/v1/status")["held"], json!([]));
    assert!(!machine.journal().exists());
}

/// Sets the packets that eth0 has received, as a kernel does between two looks.
fn receive(machine: &Machine, packets: u64) {
    let path = machine.root().join(PACKETS);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(machine.path("packets"), format!("{packets}\n")).unwrap();
    fs::rename(machine.path("packets"), path).unwrap();
}

#[test]
fn silence_time_and_load_break_without_a_word() {
    let band = |low: f64, high: f64| json!({"load": {"device": "eth0", "low_packets_per_s": low, "high_packets_per_s": high, "window_s": 0.5}});
    let silence = json!({"latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 0.5}});
    for (conditions, condition, seen) in [
        (silence, "silence", "no p99_us for 0.5 s"),
        (json!({"longest_s": 1}), "time", "held for 1 s"),
        (band(10_000.0, 20_000.0), "load", "packets/s, not 10000 to 20000"),
        (band(1.0, 2.0), "load", "packets/s, not 1 to 2"),
        (band(1.0, 1e9), "load", "eth0 does not say what it receives"),
    ] {
        let machine = Machine::new();
        receive(&machine, 1_000_000);
        let agent = machine.serve();
        let lease = agent.lease();
        agent.post("/v1/hold", asked(&lease, conditions));
        let start = Instant::now();
        if seen.contains("does not say") {
            fs::remove_file(machine.root().join(PACKETS)).unwrap();
        }
        let mut packets = 1_000_000;
        while agent.get("/v1/hold")["hold"]["fell_back"].is_null() {
            assert!(start.elapsed() < Duration::from_secs(10), "{condition}");
            if condition == "load" && !seen.contains("does not say") {
                packets += 50;
                receive(&machine, packets);
            }
            sleep(Duration::from_millis(10));
        }
        let fell_back = fallen(&agent);
        assert_eq!(fell_back["condition"], condition);
        assert!(fell_back["seen"].as_str().unwrap().contains(seen), "{fell_back}");
        assert!(start.elapsed() < Duration::from_secs(4), "{condition}: {:?}", start.elapsed());
        assert_eq!(cap_w(&machine), 90.0);
    }
}

#[test]
fn a_dead_brain_means_that_the_hold_goes_on_until_its_lease_ends() {
    let machine = Machine::new();
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.post("/v1/lease", json!({"holder": "brain", "ttl_s": 2}))["lease"].clone();
    agent.post("/v1/hold", asked(&lease, p99()));
    assert_eq!(agent.post("/v1/lease/renew", json!({"lease": lease, "ttl_s": 5}))["expires_in_s"], 5.0);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        machine.push(client(100.0));
        assert_eq!(cap_w(&machine), 70.0);
        sleep(Duration::from_millis(50));
    }
    agent.until(|status| status["lease"].is_null());
    assert!(start.elapsed() > Duration::from_secs(4), "{:?}", start.elapsed());
    assert_eq!(machine.tree(), found);
    assert_eq!(agent.get("/v1/hold"), json!({"hold": null}));
    // Neither does what fell back stay for longer.
    let lease = agent.post("/v1/lease", json!({"holder": "brain", "ttl_s": 2}))["lease"].clone();
    agent.post("/v1/hold", asked(&lease, p99()));
    machine.push(client(501.0));
    fallen(&agent);
    agent.until(|status| status["lease"].is_null());
    assert_eq!(machine.tree(), found);
}

#[test]
fn where_the_fall_back_can_not_be_put_in_effect_everything_is_restored() {
    let machine = Machine::new();
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    let mut hold = asked(&lease, p99());
    hold["setting"] = json!({"nic.rx_usecs": 100, "power.cap_w": 70});
    hold["fall_back"] = json!({"cpu.freq_mhz": 1700, "power.cap_w": 90});
    agent.post("/v1/hold", hold);
    let governor = machine.root().join("sys/devices/system/cpu/cpufreq/policy0/scaling_governor");
    fs::set_permissions(&governor, fs::Permissions::from_mode(0o444)).unwrap();
    machine.push(client(501.0));
    let fell_back = fallen(&agent);
    fs::set_permissions(&governor, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(fell_back["error"]["place"].as_str().is_some(), "{fell_back}");
    assert_eq!(machine.tree(), found);
    assert!(machine.log().contains("event=fall_back_failed"), "{}", machine.log());
    assert_eq!(agent.get("/v1/status")["lease"], Value::Null);
    let (status, _) = agent.refused("/v1/lease/renew", json!({"lease": lease}));
    assert_eq!(status, 409, "its holder learns of it");
}

#[test]
fn what_is_refused_leaves_the_hold_before_in_force() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/hold", asked(&lease, p99()));
    let with = |part: &str, value: Value| {
        let mut hold = asked(&lease, p99());
        hold[part] = value;
        hold
    };
    let load = json!({"load": {"device": "../eth0", "low_packets_per_s": 1, "high_packets_per_s": 2}});
    for (body, status, part) in [
        (with("conditions", json!({})), 400, "condition"),
        (with("conditions", json!({"longest": 3})), 400, "longest"),
        (with("conditions", load), 404, "eth0"),
        (with("fall_back", json!({"power.cap_w": 20})), 403, "50 to 200"),
        (with("fall_back", json!({"power.cap": 60})), 404, "power.cap"),
        (with("fall_back", Value::Null), 400, "JSON"),
        (with("setting", json!({"power.cap_w": 20})), 403, "50 to 200"),
        (with("lease", json!("another's")), 409, "lease"),
        (json!({"lease": lease, "setting": {}}), 400, "missing field"),
    ] {
        let (answered, error) = agent.refused("/v1/hold", body.clone());
        assert_eq!(answered, status, "{body}: {error}");
        assert!(error.to_string().contains(part), "{part} is not in {error}");
    }
    assert_eq!(cap_w(&machine), 70.0);
    agent.refused("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 20}}));
    assert_eq!(agent.request("PUT", "/v1/latency", json!({"vantage": "client", "p99_us": -1})).0, 400);
    machine.push(client(501.0));
    fallen(&agent);
    assert_eq!(cap_w(&machine), 90.0);
    // What is applied is under no condition any more.
    agent.post("/v1/hold", asked(&lease, p99()));
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60}}));
    assert_eq!(agent.get("/v1/hold"), json!({"hold": null}));
}

#[test]
fn a_fall_back_that_contradicts_itself_is_refused_when_the_hold_begins() {
    let any = |id: &str| format!("[allow.{id:?}]\nplaces = [\"eth0\"]\n");
    let machine = Machine::with_config(&format!("mode = \"apply\"\n{}{}", any("nic.rx_usecs"), any("nic.adaptive_rx")));
    let found = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    let wrong = json!({"nic.rx_usecs": 50, "nic.adaptive_rx": "on"});
    let right = json!({"nic.rx_usecs": 50, "nic.adaptive_rx": "off"});
    let hold = |fall_back: &Value| json!({"lease": lease, "setting": {"nic.rx_usecs": 100}, "fall_back": fall_back, "conditions": p99()});
    for (path, body) in [("/v1/hold", hold(&wrong)), ("/v1/apply", json!({"setting": wrong, "dry_run": true}))] {
        let (status, error) = agent.refused(path, body);
        assert_eq!(status, 400, "{path}: {error}");
        assert!(error["wrong"].as_str().unwrap().contains("write different things"), "{path}: {error}");
    }
    assert_eq!((machine.tree(), agent.get("/v1/hold")["hold"].clone()), (found, Value::Null));
    agent.post("/v1/hold", hold(&right));
    machine.push(client(501.0));
    assert_eq!(fallen(&agent)["error"], Value::Null);
    assert_eq!(agent.held("nic.rx_usecs@eth0").unwrap()["requested"], 50.0);
}

#[test]
fn what_is_kept_is_guarded_still() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/hold", asked(&lease, p99()));
    agent.post("/v1/release", json!({"lease": lease, "keep": true}));
    machine.push(client(501.0));
    fallen(&agent);
    assert_eq!((cap_w(&machine), agent.get("/v1/status")["kept"].clone()), (90.0, json!(true)));
    let lease = agent.lease();
    let mut hold = asked(&lease, p99());
    hold["fall_back"] = json!({});
    agent.post("/v1/hold", hold);
    agent.post("/v1/release", json!({"lease": lease, "keep": true}));
    machine.push(client(501.0));
    fallen(&agent);
    let status = agent.get("/v1/status");
    assert_eq!(
        (&status["held"], &status["kept"]),
        (&json!([]), &json!(false)),
        "nothing is kept where nothing is held"
    );
}

#[test]
fn a_hold_without_a_limit_of_latency_watches_none() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    for (conditions, watched) in [(json!({"longest_s": 600}), false), (p99(), true)] {
        agent.post("/v1/hold", asked(&lease, conditions));
        assert_eq!(agent.request("PUT", "/v1/latency", client(100.0)), (200, json!({"watched": watched})));
    }
}

#[test]
fn who_advises_or_observes_holds_nothing() {
    for (mode, status, advised) in [("advise", 200, json!(true)), ("observe", 403, Value::Null)] {
        let machine = Machine::with_config(&format!("mode = {mode:?}\n[allow.\"power.cap_w\"]\nplaces = [\"*\"]\n"));
        let found = machine.tree();
        let agent = machine.serve();
        let lease = agent.lease();
        let (answered, answer) = agent.request("POST", "/v1/hold", asked(&lease, p99()));
        assert_eq!((answered, &answer["advised"]), (status, &advised), "{answer}");
        machine.push(client(501.0));
        heard(&agent, 1.0);
        assert_eq!((machine.tree(), agent.get("/v1/hold")["hold"].clone()), (found, Value::Null));
    }
}
