//! The receive queues in use: what is put back is the whole indirection table, entry by entry.

mod common;

use std::fs;

use common::{Agent, Machine};
use serde_json::{Value, json};

const KNOB: &str = "nic.combined_queues@eth0";

/// The line of the recorded device that has its table.
fn table(machine: &Machine) -> String {
    let device = fs::read_to_string(machine.root().join("ethtool/eth0.toml")).unwrap();
    device.lines().find(|line| line.starts_with("indirection")).unwrap().to_owned()
}

/// Somebody else sets the table.
fn set(machine: &Machine, text: &str) {
    let path = machine.root().join("ethtool/eth0.toml");
    let device = fs::read_to_string(&path).unwrap();
    fs::write(path, device.replace(&table(machine), &format!("indirection = {text:?}"))).unwrap();
}

fn apply(agent: &Agent, lease: &Value, count: u32) -> Value {
    agent.post("/v1/apply", json!({"lease": lease, "setting": {KNOB: count}}))["changes"][0].clone()
}

#[test]
fn the_table_that_was_found_comes_back_after_a_release_and_after_a_kill() {
    // None of them is what a number of queues gives; the number that is in use is that of different queues.
    for (found, in_use) in [("8: 0 0 0 0 0 0 0 1", 2.0), ("8: 1 0", 2.0), ("8: 1", 1.0)] {
        let machine = Machine::new();
        set(&machine, found);
        let original = machine.tree();
        for killed in [false, true] {
            let agent = machine.serve();
            let lease = agent.lease();
            let change = apply(&agent, &lease, 1);
            assert_eq!((&change["before"], &change["effective"]), (&json!(in_use), &json!(1.0)), "{change}");
            assert_eq!(table(&machine), "indirection = \"8: 0\"");
            assert_eq!(apply(&agent, &lease, 2)["effective"], 2.0);
            assert_eq!(table(&machine), "indirection = \"8: 0 1\"");
            let journal = fs::read_to_string(machine.journal()).unwrap();
            assert!(journal.contains(r#""kind":"indirection","device":"eth0"}"#), "{journal}");
            assert!(journal.contains(&format!(r#""original":"{found}""#)), "{journal}");
            if killed {
                agent.kill();
                assert!(machine.run("restore", &[]).status.success());
            } else {
                assert_eq!(agent.post("/v1/release", json!({"lease": lease}))["restored"], json!([KNOB]));
                agent.stop();
            }
            assert_eq!(machine.tree(), original, "{found}, killed: {killed}");
        }
    }
}

#[test]
fn a_table_that_somebody_else_sets_meanwhile_is_theirs() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    apply(&agent, &lease, 1);
    set(&machine, "8: 1");
    assert_eq!(agent.post("/v1/release", json!({"lease": lease}))["stood_down"], json!([KNOB]));
    assert_eq!(table(&machine), "indirection = \"8: 1\"");
}

#[test]
fn a_device_that_is_not_allowed_and_queues_that_there_are_not_are_refused() {
    let machine = Machine::with_config("mode = \"apply\"\n[allow.\"nic.combined_queues\"]\nplaces = [\"eth1\"]\n");
    let original = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    let refused = |agent: &Agent, lease: &Value, count: f64| {
        agent.refused("/v1/apply", json!({"lease": lease, "setting": {KNOB: count}})).1.to_string()
    };
    assert!(refused(&agent, &lease, 1.0).contains("not on the agent's allow-list"));
    assert_eq!(machine.tree(), original);
    agent.stop();
    let machine = Machine::new();
    let original = machine.tree();
    let agent = machine.serve();
    let lease = agent.lease();
    for count in [0.0, 1.5, 3.0] {
        let said = refused(&agent, &lease, count);
        assert!(said.contains("1 to 2 in steps of 1"), "{said}");
    }
    assert_eq!(machine.tree(), original);
}
