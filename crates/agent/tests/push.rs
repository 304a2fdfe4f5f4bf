//! Who may push a latency, and that nobody can do more or less than that by pushing.

mod common;
#[path = "../../knobs/tests/needs/mod.rs"]
mod needs;

use std::fs;
use std::io::IoSlice;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::Machine;
use common::holding::{asked, cap_w, client, fallen, heard, p99};
use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};
use serde_json::Value;

/// What a Python program does when another user runs it with a path.
fn python_as(uid: u32, program: &str, path: &std::path::Path) -> Output {
    let mut python = Command::new("python3");
    python.args(["-c", program]).arg(path).uid(uid).gid(uid).current_dir("/").output().unwrap()
}

#[test]
fn only_who_has_the_role_is_heard() {
    const PUSH: &str = "import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'{\"vantage\": \"client\", \"p99_us\": 501}', sys.argv[1])";
    let caps = "mode = \"apply\"\n[allow.\"power.cap_w\"]\nplaces = [\"*\"]\n";
    if !needs::has_root() {
        return;
    }
    let machine = Machine::with_config(caps);
    let agent = machine.serve();
    // It answers once every socket has its mode.
    agent.get("/v1/status");
    let mode = |machine: &Machine| fs::metadata(machine.latency_socket()).unwrap().mode() & 0o7777;
    assert_eq!(mode(&machine), 0o660, "where nobody is named, the socket's group pushes");
    let refused = String::from_utf8(python_as(65_533, PUSH, &machine.latency_socket()).stderr).unwrap();
    assert!(refused.contains("PermissionError"), "{refused}");
    drop(agent);

    for nobody in ["[]", "[\"certificate:balancer.example\"]"] {
        let machine = Machine::with_config(&format!("{caps}[roles]\npush = {nobody}\n"));
        let agent = machine.serve();
        agent.get("/v1/status");
        assert_eq!(mode(&machine), 0o660, "no other local user may push: {nobody}");
    }

    let machine = Machine::with_config(&format!("{caps}[roles]\npush = [\"user:65533\"]\n"));
    let agent = machine.serve();
    agent.get("/v1/status");
    assert_eq!(mode(&machine), 0o666);
    let lease = agent.lease();
    agent.post("/v1/hold", asked(&lease, p99()));
    for _ in 0..3 {
        assert!(python_as(65_532, PUSH, &machine.latency_socket()).status.success());
    }
    let start = Instant::now();
    while agent.metric("bayop_latency_pushes_total{result=\"refused\"}") != Some(3.0) {
        assert!(start.elapsed() < Duration::from_secs(10));
        sleep(Duration::from_millis(10));
    }
    assert_eq!(agent.get("/v1/hold")["hold"]["fell_back"], Value::Null);
    let log = machine.log();
    assert!(log.contains("event=push_refused by=user:65532 reason=\"user:65532 has not the role push\""), "{log}");
    assert!(python_as(65_533, PUSH, &machine.latency_socket()).status.success());
    fallen(&agent);
}

#[test]
fn who_may_push_may_do_nothing_else() {
    // Who is refused may be answered before all is sent.
    const REQUEST: &str = "import contextlib, http.client, socket, sys
for method, path, body in [
    ('PUT', '/v1/latency', '{\"vantage\": \"client\", \"p99_us\": 100}'),
    ('GET', '/v1/status', None), ('GET', '/metrics', None), ('GET', '/v1/hold', None),
    ('POST', '/v1/hold', '{}'), ('POST', '/v1/lease', '{}'), ('POST', '/v1/apply', '{}'),
    ('POST', '/v1/release', '{}'), ('POST', '/v1/restore', '{}'), ('PUT', '/v1/calibration', '{}'),
]:
    connection = http.client.HTTPConnection('agent')
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(sys.argv[1])
    with contextlib.suppress(BrokenPipeError):
        connection.request(method, path, body)
    print(path, connection.getresponse().status)";
    if !needs::has_root() {
        return;
    }
    let answers = |uid: u32, roles: &str| {
        let machine = Machine::with_config(&format!("[roles]\n{roles}\n"));
        let agent = machine.serve();
        // It answers once the socket has its mode.
        agent.get("/v1/status");
        fs::set_permissions(machine.socket(), fs::Permissions::from_mode(0o666)).unwrap();
        let answered = String::from_utf8(python_as(uid, REQUEST, &machine.socket()).stdout).unwrap();
        let lines = answered.lines().map(|line| line.split_once(' ').unwrap());
        let answers: Vec<_> = lines.map(|(path, status)| (path.to_owned(), status == "403")).collect();
        assert_eq!(answers.len(), 10, "{answered}");
        answers
    };
    for others in ["", "observe = [\"*\"]\napply = [\"*\"]\nrestore = [\"*\"]\n"] {
        for (path, is_forbidden) in answers(65_533, &format!("{others}push = [\"user:65533\"]")) {
            assert_eq!(is_forbidden, path != "/v1/latency", "{path} {others}");
        }
    }
    for (path, is_forbidden) in answers(65_532, "push = [\"user:65533\"]") {
        assert_eq!(is_forbidden, path == "/v1/latency", "{path}");
    }
}

#[test]
fn nonsense_and_floods_keep_no_breach_from_being_heard() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/hold", asked(&lease, p99()));
    let sender = UnixDatagram::unbound().unwrap();
    let send = |bytes: &[u8]| sender.send_to(bytes, machine.latency_socket()).unwrap();
    let long = format!("{{\"vantage\": \"client\", \"p99_us\": 501, \"x\": \"{}\"}}", "x".repeat(5000));
    let refused: [&[u8]; 6] =
        [b"", b"{", b"\xff\xfe", br#"{"vantage":"server","p99_us":501}"#, br#"{"p99_us":501}"#, &[b'['; 4000]];
    for bytes in refused.iter().chain([&long.as_bytes()]) {
        send(bytes);
    }
    let start = Instant::now();
    while agent.metric("bayop_latency_pushes_total{result=\"refused\"}") != Some(7.0) {
        assert!(start.elapsed() < Duration::from_secs(10), "{}", agent.get("/metrics"));
        sleep(Duration::from_millis(10));
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        send(b"{}");
    }
    let pushed = Instant::now();
    machine.push(client(501.0));
    while cap_w(&machine) != 90.0 {
        assert!(pushed.elapsed() < Duration::from_secs(1), "{}", machine.log());
    }
    fallen(&agent);
    assert_eq!(agent.metric("bayop_latency_pushes_total{result=\"ok\"}"), Some(1.0));
    assert!(machine.log().matches("event=push_refused").count() <= 4, "{}", machine.log());
}

#[test]
fn file_descriptors_that_come_along_are_not_kept_and_delay_no_push() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/hold", asked(&lease, p99()));
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", agent.id())).unwrap().count();
    let before = descriptors();
    let sender = UnixDatagram::unbound().unwrap();
    let file = fs::File::open("/dev/null").unwrap();
    let (sent_along, address) = ([file.as_raw_fd(); 8], UnixAddr::new(&machine.latency_socket()).unwrap());
    let latency = client(100.0).to_string();
    let start = Instant::now();
    for _ in 0..64 {
        let rights = [ControlMessage::ScmRights(&sent_along)];
        let parts = [IoSlice::new(latency.as_bytes())];
        sendmsg(sender.as_raw_fd(), &parts, &rights, MsgFlags::empty(), Some(&address)).unwrap();
    }
    machine.push(client(501.0));
    fallen(&agent);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(agent.metric("bayop_latency_pushes_total{result=\"refused\"}"), Some(64.0));
    let log = machine.log();
    // The first after each of the agent's ticks is logged: one tick, of a second, may fall amid these.
    let logged = log.matches("event=push_refused by=nobody").count();
    assert!((1..=2).contains(&logged) && !log.contains("event=accept_failed"), "{log}");
    // A connection's own may be open still.
    assert!(descriptors() < before + 8, "{} after {before}", descriptors());
}

#[test]
fn a_socket_that_a_killed_agent_left_is_replaced_and_no_other_file_is() {
    let machine = Machine::new();
    let agent = machine.serve();
    agent.get("/v1/status");
    agent.kill();
    assert!(machine.latency_socket().exists());
    let agent = machine.serve();
    agent.get("/v1/status");
    assert_eq!(machine.run("serve", &[]).status.code(), Some(4), "somebody receives there");
    assert_eq!(agent.stop(), Some(0));
    assert!(!machine.latency_socket().exists());
    fs::write(machine.latency_socket(), "a file").unwrap();
    assert_eq!(machine.run("serve", &[]).status.code(), Some(4));
    assert_eq!(fs::read_to_string(machine.latency_socket()).unwrap(), "a file");
}

#[test]
fn what_a_source_prints_is_pushed_line_by_line() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/hold", asked(&lease, p99()));
    let push = |lines: &str| {
        let mut push = Command::new(env!("CARGO_BIN_EXE_bayop-agent"));
        push.args(["push", "--socket"]).arg(machine.latency_socket());
        let mut push = push.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        push.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = push.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let probe =
        r#"{"vantage":"server+wait","wait":"departure","duration_s":1.0,"qps":99.0,"p99_us":200,"relative_sd":{}}"#;
    assert_eq!(push(&format!("{probe}\n{probe}\n")), (Some(0), String::new()));
    heard(&agent, 2.0);
    let few = r#"{"vantage":"probe","duration_s":1.0,"qps":3.0,"mean_us":90.0,"relative_sd":{}}"#;
    assert_eq!(push(&format!("{few}\n{probe}\n{few}\n")), (Some(0), String::new()), "no news is no error");
    heard(&agent, 3.0);
    assert_eq!(agent.metric("bayop_latency_pushes_total{result=\"refused\"}"), None);
    let (code, said) = push(&format!("{}{}\n", " ".repeat(4097 - probe.len()), probe));
    assert!(code == Some(2) && said.contains("4097 bytes") && said.contains("must have 4096"), "{said}");
    let (code, said) = push("{\"vantage\": \"server\", \"p99_us\": 200}\n");
    assert!(code == Some(2) && said.contains("server+wait") && said.contains("hint: "), "{said}");
    assert_eq!(push(&format!("{}\n", client(501.0))).0, Some(0));
    fallen(&agent);
    assert_eq!(agent.stop(), Some(0));
    let (code, said) = push(&format!("{probe}\n{probe}\n"));
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
}

#[test]
fn a_line_without_end_is_refused() {
    let machine = Machine::new();
    let push = |input: Stdio| {
        let mut bounded = Command::new("timeout");
        bounded.args(["20", env!("CARGO_BIN_EXE_bayop-agent"), "push", "--socket"]).arg(machine.latency_socket());
        let output = bounded.stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let refusal = "error: a line has 4097 bytes or more; a latency must have 4096 bytes at most (standard input)\n";
    assert_eq!(push(fs::File::open("/dev/zero").unwrap().into()), (Some(2), refusal.to_owned()));
    let line = |length: usize, end: &str| {
        let text = r#"{"vantage": "client", "p99_us": 310"#.to_owned();
        let line = text.clone() + &" ".repeat(length - text.len() - 1) + "}" + end;
        fs::write(machine.path("lines"), line.repeat(2)).unwrap();
        push(fs::File::open(machine.path("lines")).unwrap().into())
    };
    assert_eq!(line(4097, "\n"), (Some(2), refusal.to_owned()));
    assert_eq!(line(4096, "\n").0, Some(1), "no agent takes it");
    assert_eq!(line(4096, "\r\n").0, Some(1), "no agent takes it");
    let _agent = machine.serve();
    assert_eq!(line(4096, "\r\n"), (Some(0), String::new()));
}
