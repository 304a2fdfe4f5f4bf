//! Every system call of a start, an apply, a release and a restore goes wrong once: it fails with one of the errors that
//! fit it, or the process is killed at it, in turn. strace lists the calls from a trace and lets them fail, so that a new
//! one is tested by itself. With BAYOPTEST_ALL_FAULTS each call goes wrong in each of its ways, which takes four times as
//! long.

mod common;
#[path = "../../knobs/tests/needs/mod.rs"]
mod needs;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{Agent, CAPS, Machine, Tree};
use serde_json::{Value, json};

/// The calls that touch files, devices, sockets, memory and threads, with the errors that the kernel may give them.
const CALLS: [(&str, &[&str]); 31] = [
    ("openat", &["EIO", "EINTR", "ENOMEM", "EMFILE"]),
    ("read", &["EIO", "EINTR"]),
    ("write", &["EIO", "EINTR", "ENOSPC"]),
    ("fsync", &["EIO", "ENOSPC"]),
    ("ftruncate", &["EIO", "EINTR"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("unlink", &["EIO"]),
    ("mkdir", &["ENOSPC"]),
    ("flock", &["EINTR", "ENOMEM"]),
    ("statx", &["EIO", "ENOMEM"]),
    ("fstat", &["EIO"]),
    ("lseek", &["EIO"]),
    ("readlink", &["EIO"]),
    ("getdents64", &["EIO"]),
    ("getcwd", &["ENOMEM"]),
    ("chmod", &["EIO"]),
    ("fchmod", &["EIO"]),
    ("chown", &["EIO"]),
    ("socket", &["ENOMEM", "EMFILE"]),
    ("bind", &["ENOMEM"]),
    ("listen", &["ENOMEM"]),
    ("accept4", &["EINTR", "ENOMEM", "EMFILE"]),
    ("recvfrom", &["EINTR", "ENOMEM"]),
    ("sendto", &["EINTR", "ENOMEM"]),
    ("getsockopt", &["ENOMEM"]),
    ("getrandom", &["EINTR"]),
    ("fcntl", &["EINTR"]),
    ("poll", &["EINTR", "ENOMEM"]),
    ("epoll_ctl", &["ENOMEM"]),
    ("mmap", &["ENOMEM"]),
    ("clone3", &["ENOMEM", "EAGAIN"]),
];

/// What each call is done instead of.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Error(&'static str),
    Kill,
}

/// A verb under strace, which stands aside: its process is the verb's.
fn traced(machine: &Machine, verb: &str, options: &[String]) -> Command {
    let plain = machine.command(verb);
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "--seccomp-bpf"]).args(options).arg(plain.get_program()).args(plain.get_args());
    // A device that hangs, as one does whose thread was killed, is not worth a wait here.
    command.env("BAYOP_PATIENCE_MS", "1000").stderr(fs::File::create(machine.path("log")).unwrap());
    command
}

/// How often one thread makes each call, at most.
fn counts(trace: &str) -> BTreeMap<&'static str, usize> {
    let mut counts: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
    for line in trace.lines() {
        let (thread, rest) = line.split_once(' ').unwrap();
        if let Some((call, _)) = CALLS.iter().find(|(call, _)| rest.trim_start().starts_with(&format!("{call}("))) {
            *counts.entry((thread, call)).or_default() += 1;
        }
    }
    let mut greatest = BTreeMap::new();
    for ((_, call), count) in counts {
        let known = greatest.entry(call).or_default();
        *known = count.max(*known);
    }
    greatest
}

/// Leaves caps changed, as a killed agent does.
fn hold_and_die(machine: &Machine) {
    machine.holding().0.kill();
}

/// What an agent is asked for in one life, whatever it answers.
fn live(agent: &Agent) -> Option<()> {
    let post = |path: &str, body: Value| agent.try_request("POST", path, &body).map(|(_, answer)| answer);
    let lease = post("/v1/lease", json!({"holder": "test", "ttl_s": 60}))?["lease"].clone();
    let apply = |setting: Value| post("/v1/apply", json!({"lease": lease, "setting": setting}));
    apply(json!({(CAPS[0]): 90, "cpu.freq_mhz": 1700, "nic.rx_usecs": 100}))?;
    apply(json!({(CAPS[0]): "auto", (CAPS[1]): 100}))?;
    post("/v1/release", json!({"lease": lease}))?;
    let lease = post("/v1/lease", json!({"holder": "test", "ttl_s": 60}))?["lease"].clone();
    let conditions = json!({"latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 60}});
    let (setting, fall_back) = (json!({"power.cap_w": 70}), json!({"power.cap_w": 90}));
    post("/v1/hold", json!({"lease": lease, "setting": setting, "fall_back": fall_back, "conditions": conditions}))?;
    agent.try_request("PUT", "/v1/latency", &json!({"vantage": "client", "p99_us": 501})).map(drop)
}

/// Runs `verb` over what a killed agent left, with strace's options. Returns its exit code, if it came to one.
fn run(machine: &Machine, verb: &str, options: &[String]) -> Option<i32> {
    hold_and_die(machine);
    let mut command = traced(machine, verb, options);
    if verb == "restore" {
        return command.stdout(std::process::Stdio::null()).status().unwrap().code();
    }
    let agent = machine.start(command)?;
    live(&agent);
    agent.stop()
}

/// Lets every call of the verb fail in turn, and says how many cases there were.
fn sabotage(verb: &str) {
    if !needs::has_programs(&["strace"]) {
        return;
    }
    let machine = Machine::new();
    let found = machine.tree();
    let trace = machine.path("trace");
    let traced: Vec<_> = CALLS.iter().map(|(call, _)| *call).collect();
    let options = [format!("--trace={}", traced.join(",")), format!("--output={}", trace.display())];
    assert_eq!(run(&machine, verb, &options), Some(0), "{}", machine.log());
    assert_eq!(machine.tree(), found);
    let counts = counts(&fs::read_to_string(&trace).unwrap());
    let all = std::env::var_os("BAYOPTEST_ALL_FAULTS").is_some();
    let mut cases = 0;
    for (call, errors) in CALLS {
        for when in 1..=counts.get(call).copied().unwrap_or_default() {
            let faults: Vec<_> = errors.iter().map(|error| Fault::Error(error)).chain([Fault::Kill]).collect();
            let faults = if all { &faults[..] } else { &faults[when % faults.len()..][..1] };
            for fault in faults {
                let what = match fault {
                    Fault::Error(error) => format!("error={error}"),
                    Fault::Kill => "signal=KILL".to_owned(),
                };
                let option = format!("--inject={call}:{what}:when={when}");
                let code = run(&machine, verb, &[option.clone(), "--output=/dev/null".to_owned()]);
                assert_restored(&machine, &found, code, &format!("{verb} {option}"));
                cases += 1;
            }
        }
    }
    println!("{verb}: {cases} cases of {} calls: {counts:?}", counts.values().sum::<usize>());
}

/// Who says that all is well is right, and otherwise the next `restore` makes it so, as systemd starts it.
fn assert_restored(machine: &Machine, found: &Tree, code: Option<i32>, how: &str) {
    if code == Some(0) {
        assert_eq!(changed(machine, found), [], "{how}: exit code 0\n{}", machine.log());
    }
    let restored = machine.run("restore", &[]);
    assert_eq!(restored.status.code(), Some(0), "{how}: {restored:?}\n{}", machine.log());
    assert_eq!(changed(machine, found), [], "{how}\n{}", machine.log());
    assert!(!machine.journal().exists(), "{how}");
}

/// The files that differ, with what is in them and was.
fn changed(machine: &Machine, found: &Tree) -> Vec<(PathBuf, Option<String>, String)> {
    let now = machine.tree();
    let differing = found.iter().filter(|(path, text)| now.get(*path) != Some(text));
    differing.map(|(path, text)| (path.clone(), now.get(path).cloned(), text.clone())).collect()
}

#[test]
#[ignore = "takes minutes: make test-slow runs it"]
fn whichever_system_call_of_a_restore_fails_the_machine_is_restored() {
    sabotage("restore");
}

#[test]
#[ignore = "takes minutes: make test-slow runs it"]
fn whichever_system_call_of_an_agent_fails_the_machine_is_restored() {
    sabotage("serve");
}
