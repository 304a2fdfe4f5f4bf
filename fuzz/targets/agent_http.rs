//! Whatever comes over a connection, `LEASE` in it being the secret of the lease in force: the agent answers in HTTP or
//! hangs up, and after a restore the machine is as it was.

#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use bayop_agent::agent::Agent;
use bayop_agent::api::{self, Shared};
use bayop_agent::config::Config;
use bayop_agent::devices::Devices;
use bayop_agent::messages::LeaseRequest;
use bayop_agent::peer::Peer;
use bayop_agent::server::connection;
use bayop_knobs::{Host, tree};
use libfuzzer_sys::fuzz_target;
use nix::unistd::Uid;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const MACHINE: &str = include_str!("../../crates/agent/tests/common/server.tree");
/// What a request may be answered with. 408 and 500 are not among them: nobody waits that long, nothing fails unseen.
const STATUS: [&str; 12] = ["100", "200", "201", "400", "403", "404", "405", "409", "413", "414", "431", "502"];

static SERVER: LazyLock<Server> = LazyLock::new(Server::new);

struct Server {
    folder: TempDir,
    agent: Shared,
    found: Files,
}

type Files = BTreeMap<PathBuf, String>;

impl Server {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let host = tree::unpack(MACHINE, &path("root")).expect("a machine");
        fs::create_dir(path("state")).expect("a folder");
        let knobs =
            ["power.cap_w", "cpu.freq_mhz", "nic.rx_usecs"].map(|id| format!("[allow.{id:?}]\nplaces = ['*']\n"));
        let config = format!("mode = 'apply'\nstate_dir = {:?}\n{}", path("state"), knobs.concat());
        let config = Config::parse(&config, Path::new("agent.toml")).expect("a configuration");
        let agent = Agent::start(config, Host::clone(&host), Devices::default()).expect("an agent");
        let found = files(&path("root"));
        Self { agent: Arc::new(Mutex::new(agent)), found, folder }
    }

    /// What comes back before the connection ends. Where nothing happens any more, time jumps to the next deadline.
    fn answer(&self, request: &[u8]) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let (client, server) = tokio::io::duplex(64 * 1024);
            let (mut reader, mut writer) = tokio::io::split(client);
            let mut answer = Vec::new();
            let (_, _, _) = tokio::join!(
                connection::serve(server, api::router(self.agent.clone()), Peer::User(Uid::from_raw(0))),
                writer.write_all(request), // it fails where the agent hangs up
                reader.read_to_end(&mut answer),
            );
            answer
        })
    }
}

fuzz_target!(|bytes: &[u8]| {
    let request = LeaseRequest { holder: "fuzz".to_owned(), ttl_s: 3600.0 };
    let lease = api::lock(&SERVER.agent).lease(&request, &Peer::User(Uid::from_raw(0))).expect("nobody has it").lease;
    let answer = SERVER.answer(&replaced(bytes, b"LEASE", lease.as_bytes()));
    if !answer.is_empty() {
        let text = String::from_utf8_lossy(&answer);
        let status = text.strip_prefix("HTTP/1.").and_then(|text| text.get(2..5));
        assert!(status.is_some_and(|status| STATUS.contains(&status)), "{text}");
    }
    let restored = api::lock(&SERVER.agent).restore("fuzz");
    assert!(restored.latched.is_empty() && restored.stood_down.is_empty(), "{restored:?}");
    assert!(!SERVER.folder.path().join("state/journal").exists());
    assert_eq!(files(&SERVER.folder.path().join("root")), SERVER.found);
});

fn replaced(bytes: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    match bytes.windows(word.len()).position(|window| window == word) {
        Some(at) => [&bytes[..at], by, &replaced(&bytes[at + word.len()..], word, by)].concat(),
        None => bytes.to_vec(),
    }
}

/// The text of every file; a recorded network device is written anew as a whole, in an order of its own.
fn files(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if entry.file_type().expect("a type").is_dir() {
            files.append(&mut self::files(&path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            let mut lines: Vec<_> = text.split_whitespace().collect();
            lines.sort_unstable();
            files.insert(path, lines.join(" "));
        }
    }
    files
}
