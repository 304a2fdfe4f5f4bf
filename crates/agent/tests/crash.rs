//! SIGKILL at every step of every write, and what the next start makes of it.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{Agent, CAPS, Machine, Tree};
use serde_json::{Value, json};

/// A life of an agent that comes to every kind of write: three settings, one of which hands a knob back and one of
/// which fails half-way, a hold that falls back, a release, and an end with something held. Stops when the agent dies.
fn live(machine: &Machine, agent: Agent) -> Option<()> {
    let post = |path: &str, body: Value| agent.try_request("POST", path, &body).map(|(_, answer)| answer);
    let lease = post("/v1/lease", json!({"holder": "test", "ttl_s": 60}))?["lease"].clone();
    let apply = |setting: Value| post("/v1/apply", json!({"lease": lease, "setting": setting}));
    apply(json!({(CAPS[0]): 90, (CAPS[1]): 110, "cpu.freq_mhz": 1700, "nic.rx_usecs": 100}))?;
    apply(json!({(CAPS[0]): "auto", (CAPS[1]): 100, "cpu.freq_mhz@policy1": "auto", "nic.rx_usecs": 200,
        "nic.combined_queues": 1}))?;
    // The last cap can't be written: what was written before it is put back.
    let writable = |mode| fs::set_permissions(machine.cap(CAPS[2]), std::os::unix::fs::PermissionsExt::from_mode(mode));
    writable(0o444).unwrap();
    let failed = apply(json!({(CAPS[0]): 80, (CAPS[1]): 80, (CAPS[2]): 80}));
    writable(0o644).unwrap();
    assert!(failed?["error"].is_object());
    let conditions = json!({"latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 60}});
    let held = json!({"lease": lease, "setting": {"power.cap_w": 70, "nic.rx_usecs": 200},
        "fall_back": {"power.cap_w": 90}, "conditions": conditions});
    post("/v1/hold", held)?;
    let (status, heard) = agent.try_request("PUT", "/v1/latency", &json!({"vantage": "client", "p99_us": 501}))?;
    assert_eq!((status, heard), (200, json!({"watched": true})));
    post("/v1/release", json!({"lease": lease}))?;
    let lease = post("/v1/lease", json!({"holder": "test", "ttl_s": 60}))?["lease"].clone();
    post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}))?;
    agent.stop().map(|code| assert_eq!(code, 0))
}

/// The steps that `life` comes to, as `NAME:N`, in their order.
fn steps(machine: &Machine, life: impl FnOnce(&Machine, Agent)) -> Vec<String> {
    let log = machine.path("steps");
    let agent = machine.serve_with(&[("BAYOP_FAULT_LOG", log.to_str().unwrap())]).unwrap();
    life(machine, agent);
    let steps: Vec<_> = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    fs::remove_file(log).unwrap();
    steps
}

fn names(steps: &[String]) -> BTreeSet<&str> {
    steps.iter().map(|step| step.rsplit_once(':').unwrap().0).collect()
}

/// Runs the life until the agent dies at `step`.
fn die(machine: &Machine, step: &str) {
    match machine.serve_with(&[("BAYOP_FAULT", step)]) {
        Some(agent) => assert_eq!(live(machine, agent), None, "the agent outlived {step}"),
        None => assert!(!machine.log().contains("event=stopped"), "the agent ended by itself before {step}"),
    }
}

/// What a start makes of a machine: everything is as it was found, and nothing is left to restore.
fn assert_restored(machine: &Machine, found: &Tree, how: &str) {
    assert_eq!(machine.tree(), *found, "{how}");
    assert!(!machine.journal().exists(), "{how}");
}

#[test]
fn whatever_step_an_agent_is_killed_at_the_next_start_restores() {
    let machine = Machine::new();
    let found = machine.tree();
    let steps = steps(&machine, |machine, agent| assert_eq!(live(machine, agent), Some(())));
    assert_restored(&machine, &found, "no kill");
    for step in &steps {
        die(&machine, step);
        let agent = machine.serve();
        assert_restored(&machine, &found, &format!("killed at {step}, started again"));
        assert_eq!(agent.get("/v1/status")["held"], json!([]), "{step}");
        assert_eq!(agent.stop(), Some(0), "{step}");

        die(&machine, step);
        let restore = machine.run("restore", &[]);
        assert_eq!(restore.status.code(), Some(0), "{step}: {restore:?}");
        assert_restored(&machine, &found, &format!("killed at {step}, then bayop-agent restore"));
    }
    println!("{} steps ({} names), {} cases", steps.len(), names(&steps).len(), 2 * steps.len());
    for name in ["file.before_rename", "apply.before_write", "apply.after_write", "restore.before_write"] {
        assert!(names(&steps).contains(name), "the life never comes to {name}");
    }
}

/// Leaves the machine as a killed agent does that held caps, frequencies, a delay and queues.
fn hold_and_die(machine: &Machine) {
    let agent = machine.serve();
    let lease = agent.lease();
    let setting = json!({"power.cap_w": 70, "cpu.freq_mhz": 1700, "nic.rx_usecs": 100, "nic.combined_queues": 1});
    agent.post("/v1/apply", json!({"lease": lease, "setting": setting}));
    agent.kill();
}

#[test]
fn whatever_step_a_recovery_is_killed_at_the_next_start_restores() {
    let machine = Machine::new();
    let found = machine.tree();
    hold_and_die(&machine);
    let steps = steps(&machine, |_, agent| agent.kill());
    assert_restored(&machine, &found, "no kill");
    for step in &steps {
        hold_and_die(&machine);
        assert!(machine.serve_with(&[("BAYOP_FAULT", step)]).is_none(), "the agent outlived {step}");
        let agent = machine.serve();
        assert_restored(&machine, &found, &format!("recovery killed at {step}"));
        agent.kill();
    }
    println!("{} steps ({} names), {} cases", steps.len(), names(&steps).len(), steps.len());
}
