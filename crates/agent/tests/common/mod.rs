//! The real binary on a recorded machine.

#![allow(dead_code, reason = "each test binary uses its part")]

pub mod holding;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with two packages, three power caps (125, 150 and 125 W), two frequency policies, and a NIC whose driver
/// takes a setting for one queue, whose second queue was set apart, and which spreads over both by a table of 8.
pub const SERVER: &str = include_str!("server.tree");
/// The caps of [`SERVER`] as instances.
pub const CAPS: [&str; 3] = ["power.cap_w@intel-rapl:0/0", "power.cap_w@intel-rapl:0/1", "power.cap_w@intel-rapl:1/0"];
/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A recorded machine, a configuration and a place for the agent's files.
pub struct Machine {
    folder: TempDir,
}

/// The text of every file, by path: two machines are the same when these are.
pub type Tree = BTreeMap<PathBuf, String>;

impl Machine {
    /// A machine whose agent applies caps of 50 W and more, frequencies, interrupt delays and queues.
    pub fn new() -> Self {
        let any = |id: &str| format!("[allow.{id:?}]\nplaces = [\"*\"]\n");
        let caps = any("power.cap_w") + "low = 50\n";
        let nic = ["nic.rx_usecs", "nic.combined_queues"].map(|id| format!("[allow.{id:?}]\nplaces = [\"eth0\"]\n"));
        Self::with_config(&format!("mode = \"apply\"\n{caps}{}{}", any("cpu.freq_mhz"), nic.concat()))
    }

    /// A machine whose agent's configuration ends with `config`.
    pub fn with_config(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Others may pass: it is the socket that has to keep them out.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let machine = Self { folder };
        bayop_knobs::tree::unpack(SERVER, &machine.root()).unwrap();
        fs::create_dir(machine.path("run")).unwrap();
        let group = nix::unistd::Group::from_gid(nix::unistd::getegid()).unwrap().unwrap().name;
        let config = config.replace("FOLDER", machine.folder.path().to_str().unwrap());
        let paths = format!("socket = {:?}\nstate_dir = {:?}\n", machine.socket(), machine.path("state"));
        let group = if config.contains("group = ") { String::new() } else { format!("group = {group:?}\n") };
        fs::write(machine.path("agent.toml"), format!("{paths}{group}{config}")).unwrap();
        machine
    }

    /// A path in the machine's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The recorded machine.
    pub fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// The agent's socket.
    pub fn socket(&self) -> PathBuf {
        self.path("run/agent.sock")
    }

    /// The socket that takes latencies.
    pub fn latency_socket(&self) -> PathBuf {
        self.path("run/latency.sock")
    }

    /// Says what clients see, by a datagram.
    pub fn push(&self, latency: Value) {
        let latency = latency.to_string();
        UnixDatagram::unbound().unwrap().send_to(latency.as_bytes(), self.latency_socket()).unwrap();
    }

    /// The agent's journal.
    pub fn journal(&self) -> PathBuf {
        self.path("state/journal")
    }

    /// The file behind a cap.
    pub fn cap(&self, cap: &str) -> PathBuf {
        let (zone, index) = cap.strip_prefix("power.cap_w@").unwrap().split_once('/').unwrap();
        self.root().join(format!("sys/class/powercap/{zone}/constraint_{index}_power_limit_uw"))
    }

    /// Every file of the recorded machine. A line's end is not compared: the kernel adds it, a recorded tree keeps it.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root(), &mut tree);
        tree
    }

    /// A verb of the agent with this machine's configuration.
    pub fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bayop-agent"));
        command.arg(verb).arg("--config").arg(self.path("agent.toml")).arg("--root").arg(self.root());
        command
    }

    /// Runs a verb to its end.
    pub fn run(&self, verb: &str, arguments: &[&str]) -> Output {
        self.command(verb).args(arguments).output().unwrap()
    }

    /// The agent, once it listens.
    pub fn serve(&self) -> Agent {
        self.serve_with(&[]).expect("the agent starts")
    }

    /// An agent that holds every cap at 70 W, with its lease.
    pub fn holding(&self) -> (Agent, Value) {
        let agent = self.serve();
        let lease = agent.lease();
        let applied = agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
        assert_eq!(applied["setting"], json!({"power.cap_w": 70.0}));
        assert_eq!(applied["changes"][1]["before"], 150.0);
        assert_eq!(fs::read_to_string(self.cap(CAPS[1])).unwrap().trim_end(), "70000000");
        (agent, lease)
    }

    /// The agent with some environment, once it listens; none when it ended before.
    pub fn serve_with(&self, environment: &[(&str, &str)]) -> Option<Agent> {
        let log = fs::File::create(self.path("log")).unwrap();
        let mut command = self.command("serve");
        command.envs(environment.iter().copied()).stderr(log);
        self.start(command)
    }

    /// The agent that a command serves, once it listens; none when it ended before.
    pub fn start(&self, mut command: Command) -> Option<Agent> {
        let mut process = command.stdout(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            if process.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(start.elapsed() < PATIENCE, "the agent does not listen: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
        Some(Agent { process, socket: self.socket() })
    }

    /// What the last agent logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }
}

fn walk(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            walk(&path, tree);
        } else if kind.is_symlink() {
            tree.insert(path.clone(), fs::read_link(&path).unwrap().display().to_string());
        } else if kind.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            // A recorded network device is written anew as a whole: its values count.
            let is_device = path.extension().is_some_and(|extension| extension == "toml");
            let text = if is_device { text.parse::<toml::Table>().unwrap().to_string() } else { text };
            tree.insert(path, text.trim_end().to_owned());
        }
    }
}

/// A running agent; killed when it is dropped.
pub struct Agent {
    process: Child,
    socket: PathBuf,
}

impl Agent {
    /// A request; none when the agent died over it.
    pub fn try_request(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n");
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).ok()?;
        answer(stream)
    }

    /// A request that is answered.
    pub fn request(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        self.try_request(method, path, &body).expect("the agent answers")
    }

    /// A GET that succeeds.
    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.request("GET", path, Value::Null);
        assert_eq!(status, 200, "{body}");
        body
    }

    /// A POST that succeeds.
    pub fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.request("POST", path, body);
        assert!(status == 200 || status == 201, "{status} {answer}");
        answer
    }

    /// A POST that is refused: its status and error.
    pub fn refused(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, answer) = self.request("POST", path, body);
        assert!(status >= 400, "{status} {answer}");
        (status, answer["error"].clone())
    }

    /// A lease of a minute.
    pub fn lease(&self) -> Value {
        self.post("/v1/lease", json!({"holder": "test", "ttl_s": 60}))["lease"].clone()
    }

    /// What `GET /metrics` shows of a metric.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.get("/metrics");
        let line = metrics.as_str().unwrap().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(|value| value.parse().unwrap())
    }

    /// How the knob stands in the status.
    pub fn held(&self, knob: &str) -> Option<Value> {
        let status = self.get("/v1/status");
        status["held"].as_array().unwrap().iter().find(|held| held["knob"] == knob).cloned()
    }

    /// Waits until `done` holds of the status.
    pub fn until(&self, done: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = self.get("/v1/status");
            if done(&status) {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "{status}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the agent as systemd does. Returns its exit code.
    pub fn stop(self) -> Option<i32> {
        self.end(nix::sys::signal::Signal::SIGTERM as i32)
    }

    /// Sends the agent a signal, by its number, that it ends by. Returns its exit code; none when the signal killed it.
    pub fn end(mut self, signal: i32) -> Option<i32> {
        self.send(signal);
        self.wait()
    }

    /// Sends the agent a signal, by its number; the shell's own kill(1), because a bare machine has no other.
    pub fn send(&self, signal: i32) {
        let [signal, process] = [signal.to_string(), self.process.id().to_string()];
        assert!(Command::new("sh").args(["-c", "kill -$0 $1", &signal, &process]).status().unwrap().success());
    }

    /// Ends the agent as a crash does.
    pub fn kill(self) {
        self.end(nix::sys::signal::Signal::SIGKILL as i32);
    }

    /// Waits for an agent that ends by itself. Returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE, "the agent does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The agent's process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The status and body of an HTTP answer; none when the other side ended early.
pub fn answer(mut stream: impl std::io::Read) -> Option<(u16, Value)> {
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()))))
}
