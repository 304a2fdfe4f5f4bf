//! However an agent ends that is not killed, it restores: whatever becomes of its log, whichever signal comes, and when it
//! panics.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::fd::OwnedFd;

use common::{Agent, CAPS, Machine};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use serde_json::{Value, json};

/// Standard errors that take no line: of a full disk, without a reader, and with one that does not read.
fn broken_logs() -> Vec<(&'static str, OwnedFd, Option<OwnedFd>)> {
    let full_disk = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (reader, closed) = nix::unistd::pipe().unwrap();
    drop(reader);
    let (reader, full) = nix::unistd::pipe().unwrap();
    let mut filler = File::from(full.try_clone().unwrap());
    fcntl(&full, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    while filler.write(&[b'x'; 4096]).is_ok() {}
    fcntl(&full, FcntlArg::F_SETFL(OFlag::empty())).unwrap();
    vec![("a full disk", full_disk.into(), None), ("no reader", closed, None), ("a full pipe", full, Some(reader))]
}

fn hold(agent: &Agent, ttl_s: u32) -> Value {
    let lease = agent.post("/v1/lease", json!({"holder": "test", "ttl_s": ttl_s}))["lease"].clone();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
    lease
}

#[test]
fn a_log_that_takes_no_line_keeps_nothing_from_being_restored() {
    let live = |log: &str, stderr: OwnedFd| {
        let machine = Machine::new();
        let found = machine.tree();
        let mut command = machine.command("serve");
        command.stderr(stderr);
        let agent = machine.start(command).unwrap();
        let lease = hold(&agent, 60);
        assert_ne!(machine.tree(), found);
        agent.post("/v1/release", json!({"lease": lease}));
        assert_eq!(machine.tree(), found, "released, {log}");
        hold(&agent, 2);
        agent.until(|status| status["lease"].is_null());
        assert_eq!(machine.tree(), found, "expired, {log}");
        hold(&agent, 60);
        assert_eq!(agent.stop(), Some(0), "{log}");
        assert_eq!(machine.tree(), found, "stopped, {log}");
    };
    // Side by side: each waits for a lease to end.
    std::thread::scope(|scope| {
        for (log, stderr, reader) in broken_logs() {
            scope.spawn(move || {
                live(log, stderr);
                drop(reader);
            });
        }
    });
}

#[test]
fn a_warning_that_can_not_be_written_keeps_nobody_from_restoring() {
    for (log, stderr, _reader) in broken_logs() {
        let machine = Machine::new();
        let found = machine.tree();
        machine.holding().0.kill();
        let state = format!("state_dir = {:?}\n", machine.path("state"));
        fs::write(machine.path("agent.toml"), format!("{state}mode = \"nonsense\"\n")).unwrap();
        let restored = machine.command("restore").stderr(stderr).status().unwrap();
        assert_eq!(restored.code(), Some(0), "{log}");
        assert_eq!(machine.tree(), found, "{log}");
    }
}

#[test]
fn lines_that_were_dropped_are_counted_in_the_next_that_is_not() {
    let (log, stderr, reader) = broken_logs().pop().unwrap();
    let machine = Machine::new();
    let mut command = machine.command("serve");
    command.stderr(stderr);
    let agent = machine.start(command).unwrap();
    hold(&agent, 60);
    let reader = std::thread::spawn(move || std::io::read_to_string(File::from(reader.unwrap())).unwrap());
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(agent.stop(), Some(0), "{log}");
    let text = reader.join().unwrap();
    // Ready, the lease, and three caps.
    assert!(text.contains("event=lines_dropped count=5\nevent=stopping reason=SIGTERM\n"), "{text}");
}

#[test]
fn every_signal_that_ends_a_process_restores_first() {
    let crashes = [libc::SIGKILL, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGBUS, libc::SIGFPE];
    let crashes = [&crashes[..], &[libc::SIGSEGV, libc::SIGSYS]].concat();
    let harmless = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH, libc::SIGPIPE, libc::SIGXFSZ];
    let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let machine = Machine::new();
    let found = machine.tree();
    // The C library keeps the first two of the real-time signals.
    for signal in (1..=libc::SIGSYS).chain([libc::SIGRTMIN(), libc::SIGRTMAX()]) {
        if crashes.contains(&signal) || stops.contains(&signal) {
            continue;
        }
        let (agent, _lease) = machine.holding();
        if harmless.contains(&signal) {
            agent.send(signal);
            assert!(agent.held(CAPS[0]).is_some(), "signal {signal}");
            assert_eq!(agent.stop(), Some(0));
        } else {
            assert_eq!(agent.end(signal), Some(0), "signal {signal}: {}", machine.log());
        }
        assert_eq!(machine.tree(), found, "signal {signal}");
    }
}

#[test]
fn a_panic_at_any_step_restores_the_machine() {
    let machine = Machine::new();
    let found = machine.tree();
    let log = machine.path("steps");
    let life = |agent: &Agent| {
        let post = |path: &str, body: Value| agent.try_request("POST", path, &body);
        let lease = post("/v1/lease", json!({"holder": "test", "ttl_s": 60}))?.1["lease"].clone();
        post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70, "cpu.freq_mhz": 1700}}))?;
        post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 60, "cpu.freq_mhz": "auto"}}))?;
        post("/v1/release", json!({"lease": lease}))
    };
    let agent = machine.serve_with(&[("BAYOP_FAULT_LOG", log.to_str().unwrap())]).unwrap();
    life(&agent).unwrap();
    assert_eq!(agent.stop(), Some(0));
    let steps = fs::read_to_string(log).unwrap();
    for step in steps.lines() {
        // A start that panics holds nothing yet.
        if let Some(mut agent) = machine.serve_with(&[("BAYOP_PANIC", step)]) {
            let code = if life(&agent).is_none() { agent.wait() } else { agent.stop() };
            assert_eq!(code, Some(1), "{step}: {}", machine.log());
        }
        assert_eq!(machine.tree(), found, "{step}: {}", machine.log());
        assert!(!machine.journal().exists(), "{step}");
        assert!(machine.log().contains("event=panic"), "{step}");
    }
    println!("{} steps", steps.lines().count());
}
