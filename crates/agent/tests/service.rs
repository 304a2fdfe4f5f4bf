//! The agent as systemd runs it.

mod common;

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use bayop_agent::peer::Peer;
use common::{CAPS, Machine};
use serde_json::json;

#[test]
fn systemd_is_told_when_it_is_ready_alive_and_stopping() {
    let machine = Machine::new();
    let notify = machine.path("notify");
    let socket = UnixDatagram::bind(&notify).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let agent = machine.serve_with(&[("NOTIFY_SOCKET", notify.to_str().unwrap())]).unwrap();
    let told = || {
        let mut text = [0; 256];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    assert_eq!(told(), "READY=1");
    assert_eq!((told(), told()), ("WATCHDOG=1".to_owned(), "WATCHDOG=1".to_owned()));
    assert_eq!(agent.stop(), Some(0));
    assert!(std::iter::repeat_with(told).take(3).any(|text| text == "STOPPING=1"));
}

#[test]
fn every_change_is_one_line_of_the_log() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {(CAPS[0]): 70}}));
    agent.post("/v1/apply", json!({"lease": lease, "setting": {(CAPS[0]): "auto"}}));
    assert_eq!(agent.held(CAPS[0]), None);
    agent.post("/v1/apply", json!({"lease": lease, "setting": {(CAPS[0]): 60}}));
    assert_eq!(agent.stop(), Some(0));
    let log = machine.log();
    let changes: Vec<_> = log.lines().filter(|line| line.contains(CAPS[0])).collect();
    let by = Peer::User(nix::unistd::Uid::effective());
    let change = |fields: &str| format!("event=applied knob={} {fields} holder=test by={by} reason=request", CAPS[0]);
    assert_eq!(
        changes,
        [
            change("before=125 requested=70 effective=70"),
            change("before=70 requested=auto effective=125"),
            change("before=125 requested=60 effective=60"),
            format!("event=restored knob={} reason=SIGTERM", CAPS[0]),
        ]
    );
}

#[test]
fn every_verb_helps_with_an_example_and_shows_a_recorded_machine() {
    let machine = Machine::new();
    for verb in ["serve", "restore", "doctor", "sensors", "knobs", "check-config", "push", "openapi"] {
        let help = Command::new(env!("CARGO_BIN_EXE_bayop-agent")).args([verb, "--help"]).output().unwrap();
        assert!(String::from_utf8(help.stdout).unwrap().contains("Example"), "{verb}");
    }
    for (verb, word) in [("knobs", "50 to 200"), ("sensors", "energy_j"), ("check-config", "intel-rapl:0/0: 50 to 200")]
    {
        let shown = machine.run(verb, &[]);
        assert_eq!(shown.status.code(), Some(0), "{shown:?}");
        assert!(String::from_utf8(shown.stdout).unwrap().contains(word), "{verb}");
    }
    for verb in ["knobs", "sensors", "doctor"] {
        let shown = machine.run(verb, &["--json"]);
        assert!(serde_json::from_slice::<serde_json::Value>(&shown.stdout).is_ok(), "{shown:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut openapi = Command::new(env!("CARGO_BIN_EXE_bayop-agent"));
    let mut process = openapi.arg("openapi").stdout(Stdio::piped()).spawn().unwrap();
    drop(process.stdout.take());
    assert_eq!(process.wait().unwrap().code(), Some(0));
}
