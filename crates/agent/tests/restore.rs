//! What a journal restores when its agent is gone: by the next one, by `bayop-agent restore`, by hand; after a reboot, and
//! when it is torn.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use bayop_agent::devices::Devices;
use bayop_agent::hold::Hold;
use bayop_agent::journal::Journal;
use bayop_knobs::Host;
use common::{CAPS, Machine};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;

#[test]
fn a_broken_configuration_keeps_nobody_from_restoring() {
    for broken in [
        "mode = \"nonsense\"",
        "moed = 1",
        "[allow.\"power.cap\"]\nplaces = [\"*\"]",
        "[tls]\nlisten = \"127.0.0.1:0\"\ncertificate = \"/absent\"\nkey = \"/absent\"",
        "mode =",
        "[allow",
    ] {
        let machine = Machine::new();
        let found = machine.tree();
        machine.holding().0.kill();
        assert_ne!(machine.tree(), found);
        let state = format!("state_dir = {:?}\n", machine.path("state"));
        fs::write(machine.path("agent.toml"), format!("{state}{broken}\n")).unwrap();
        assert_eq!(machine.run("serve", &[]).status.code(), Some(2), "{broken}");
        let printed = machine.run("restore", &["--print"]);
        assert_eq!(
            String::from_utf8(printed.stdout).unwrap().matches("echo 125000000 > /sys/class").count(),
            2,
            "{broken}"
        );
        let restored = machine.run("restore", &[]);
        let warned = String::from_utf8(restored.stderr).unwrap();
        assert_eq!(restored.status.code(), Some(0), "{broken}: {warned}");
        assert!(warned.contains("warning: ") && warned.contains("agent.toml:"), "{broken}: {warned}");
        assert_eq!(machine.tree(), found, "{broken}");
    }
    // Nor an absent one, whose folder somebody still knows.
    let machine = Machine::new();
    let found = machine.tree();
    machine.holding().0.kill();
    fs::remove_file(machine.path("agent.toml")).unwrap();
    let state = machine.path("state");
    let restored = machine.run("restore", &["--state-dir", state.to_str().unwrap()]);
    assert_eq!((restored.status.code(), String::from_utf8(restored.stderr).unwrap()), (Some(0), String::new()));
    assert_eq!(machine.tree(), found);
}

#[test]
fn what_somebody_else_changed_while_no_agent_ran_is_theirs_too() {
    let machine = Machine::new();
    let mut found = machine.tree();
    let (agent, _lease) = machine.holding();
    agent.kill();
    fs::write(machine.cap(CAPS[0]), "99000000\n").unwrap();
    found.insert(machine.cap(CAPS[0]), "99000000".to_owned());
    let restore = machine.run("restore", &[]);
    assert_eq!(restore.status.code(), Some(0));
    assert!(String::from_utf8(restore.stdout).unwrap().contains(&format!("left      {}", CAPS[0])));
    assert_eq!(machine.tree(), found);
}

#[test]
fn after_a_reboot_only_what_still_reads_as_applied_is_restored() {
    let machine = Machine::new();
    let found = machine.tree();
    let (agent, _lease) = machine.holding();
    agent.kill();
    fs::write(machine.root().join("proc/sys/kernel/random/boot_id"), "another boot\n").unwrap();
    // The firmware's own default, which is not what was found: the reboot's doing, so it stays.
    fs::write(machine.cap(CAPS[0]), "180000000\n").unwrap();
    fs::write(machine.cap(CAPS[1]), "150000000\n").unwrap();
    let agent = machine.serve();
    let caps = CAPS.map(|cap| fs::read_to_string(machine.cap(cap)).unwrap().trim_end().to_owned());
    assert_eq!(caps, ["180000000", "150000000", "125000000"]);
    assert_eq!(agent.get("/v1/status")["held"], json!([]));
    assert!(!machine.journal().exists());
    assert_eq!(machine.tree().len(), found.len());
}

#[test]
fn restore_print_gives_commands_that_restore() {
    let machine = Machine::new();
    let found = machine.tree();
    let (agent, _lease) = machine.holding();
    let held = machine.tree();
    let printed = machine.run("restore", &["--print"]);
    agent.kill();
    assert_eq!(machine.tree(), held, "printing changes nothing");
    let commands = String::from_utf8(printed.stdout).unwrap();
    let commands = commands.replace("> /sys", &format!("> {}/sys", machine.root().display()));
    assert!(Command::new("sh").arg("-c").arg(&commands).status().unwrap().success());
    assert_eq!(machine.tree(), found, "{commands}");
}

#[test]
fn a_journal_cut_at_any_byte_is_reported_and_what_is_left_of_it_restored() {
    let machine = Machine::new();
    let found = machine.tree();
    let (agent, _lease) = machine.holding();
    agent.kill();
    let (journal, held) = (fs::read(machine.journal()).unwrap(), machine.tree());
    let hold = || {
        let host = Host::recorded(machine.root());
        let boot_id = host.read("proc/sys/kernel/random/boot_id").unwrap();
        Hold::new(host, Devices::default(), boot_id, Journal::new(machine.path("state")))
    };
    for length in 0..journal.len() {
        CAPS.iter().for_each(|cap| fs::write(machine.cap(cap), &held[&machine.cap(cap)]).unwrap());
        fs::write(machine.journal(), &journal[..length]).unwrap();
        let mut hold = hold();
        let outcome = hold.recover().unwrap();
        let lines = journal[..length].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(outcome.restored.len(), lines.saturating_sub(1), "cut at {length}");
        assert!(hold.damage().is_some(), "cut at {length}");
        assert_eq!(hold.apply(&Default::default(), &[]).unwrap_err().kind, bayop_core::Kind::Conflict);
        let now = machine.tree();
        for cap in CAPS {
            let expected = if outcome.restored.iter().any(|knob| knob == cap) { &found } else { &held };
            assert_eq!(now[&machine.cap(cap)], expected[&machine.cap(cap)], "cut at {length}");
        }
        Journal::new(machine.path("state")).discard_damaged().unwrap();
    }
    println!("{} cuts", journal.len());
}

#[test]
fn nothing_is_applied_after_a_torn_journal_until_a_person_has_looked() {
    let machine = Machine::new();
    let (agent, _lease) = machine.holding();
    agent.kill();
    let journal = fs::read(machine.journal()).unwrap();
    fs::write(machine.journal(), &journal[..journal.len() - 1]).unwrap();
    for start in ["first", "second"] {
        let agent = machine.serve();
        assert!(agent.get("/v1/status")["damage"].is_string(), "{start}");
        assert_eq!(agent.metric("bayop_journal_damaged"), Some(1.0));
        let lease = agent.lease();
        let (status, error) = agent.refused("/v1/apply", json!({"lease": lease, "setting": {(CAPS[0]): 60}}));
        assert_eq!(status, 409, "{error}");
        assert!(error["hint"].as_str().unwrap().contains("--discard-damaged"));
        agent.stop();
    }
    assert_eq!(machine.run("restore", &[]).status.code(), Some(3));
    assert_eq!(machine.run("restore", &["--discard-damaged"]).status.code(), Some(0));
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {(CAPS[0]): 60}}));
}

/// Puts a folder, a link to a link to itself, one to nothing, a pipe, and a device without end where a file belongs.
const IRREGULAR: [fn(&Path); 5] = [
    |path| fs::create_dir(path).unwrap(),
    |path| {
        let turn = path.with_file_name("loop");
        let _ = symlink(&turn, &turn);
        symlink(&turn, path).unwrap();
    },
    |path| symlink("/absent", path).unwrap(),
    |path| mkfifo(path, Mode::S_IRWXU).unwrap(),
    |path| symlink("/dev/zero", path).unwrap(),
];

/// How a verb ends that must not wait for anything.
fn ended(machine: &Machine, verb: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let command = machine.command(verb);
    let mut bounded = Command::new("timeout");
    bounded.arg("20").arg(command.get_program()).args(command.get_args()).args(arguments);
    let Output { status, stdout, stderr } = bounded.output().unwrap();
    (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

#[test]
fn what_lies_in_place_of_the_damaged_journal_keeps_nobody_from_restoring() {
    for put in IRREGULAR {
        let machine = Machine::new();
        let found = machine.tree();
        machine.holding().0.kill();
        let aside = machine.path("state/journal.damaged");
        put(&aside);
        let (code, said) = ended(&machine, "restore", &[]);
        assert_eq!((code, machine.tree() == found), (Some(3), true), "{said}");
        assert!(said.contains("restored  ") && said.contains("damaged (it is "), "{said}");
        assert!(!machine.journal().exists() && !said.contains("warning"), "{said}");
        let agent = machine.serve();
        let (status, error) = agent.refused("/v1/apply", json!({"lease": agent.lease(), "setting": {(CAPS[0]): 60}}));
        assert_eq!(status, 409, "{error}");
        agent.stop();
        // The journal's own folder is a person's to remove.
        let (is_folder, remedy) = (aside.is_dir(), "when the machine is right: remove it by hand");
        let (code, said) = ended(&machine, "restore", &["--discard-damaged"]);
        assert_eq!((code, said.contains(remedy)), (Some(if is_folder { 3 } else { 0 }), is_folder), "{said}");
    }
}

#[test]
fn a_journal_that_is_no_file_is_damaged() {
    for put in IRREGULAR {
        let machine = Machine::new();
        machine.holding().0.kill();
        let (journal, held) = (fs::read(machine.journal()).unwrap(), machine.tree());
        fs::remove_file(machine.journal()).unwrap();
        put(&machine.journal());
        let (code, said) = ended(&machine, "restore", &["--print"]);
        assert_eq!((code, said.contains("not all: it is ")), (Some(0), true), "{said}");
        let (code, said) = ended(&machine, "restore", &[]);
        assert_eq!((code, machine.tree() == held), (Some(3), true), "{said}");
        assert!(said.contains("DAMAGED   the journal was damaged (it is "), "{said}");
        // What is set aside goes nowhere, and what comes after it is a journal.
        assert!(machine.path("state/journal.damaged").symlink_metadata().is_ok() && !machine.journal().exists());
        fs::write(machine.journal(), &journal).unwrap();
        assert_eq!(ended(&machine, "restore", &[]).0, Some(3));
        assert_ne!(machine.tree(), held, "what is whole is restored");
        put(&machine.journal());
        let agent = machine.serve();
        let (status, error) = agent.refused("/v1/apply", json!({"lease": agent.lease(), "setting": {(CAPS[0]): 60}}));
        assert_eq!(status, 409, "{error}");
    }
}

#[test]
fn no_file_of_the_agent_is_waited_for() {
    let machine = Machine::new();
    let pipe = machine.path("state/calibration.json");
    fs::create_dir(machine.path("state")).unwrap();
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let (code, said) = ended(&machine, "serve", &[]);
    assert_eq!((code, said.contains("calibration.json: it is no regular file")), (Some(4), true), "{said}");
    fs::remove_file(machine.path("agent.toml")).unwrap();
    mkfifo(&machine.path("agent.toml"), Mode::S_IRWXU).unwrap();
    for verb in ["serve", "check-config", "restore"] {
        let (code, said) = ended(&machine, verb, &[]);
        assert_eq!((code, said.contains("agent.toml: it is no regular file")), (Some(2), true), "{verb}: {said}");
    }
}
