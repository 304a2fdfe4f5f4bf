//! The program, as its clients and who starts it see it.

#[path = "../../tpcc/tests/common/mod.rs"]
mod common;

use std::io::{BufRead as _, BufReader, ErrorKind, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use common::opcode::{GET, NOOP, SET, STAT};
use common::{Answer, answers, length, request};

/// The program, until it is dropped.
struct Program {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Its first line.
    hello: String,
}

impl Program {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bayop-tpcc"));
        command.args(["--listen", "127.0.0.1:0"]).args(flags).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let hello = lines.next().expect("it says where it listens").unwrap();
        Self { process, lines, hello }
    }

    fn connect(&self) -> TcpStream {
        let address = self.hello.strip_prefix("listening on ").unwrap().split_once(": ").unwrap().0;
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Ends it as `systemctl stop` does; its exit code and what it printed then.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let kill = Command::new("kill").arg(self.process.id().to_string()).status().unwrap();
        assert!(kill.success());
        let lines = (&mut self.lines).map(Result::unwrap).collect();
        (self.process.wait().unwrap().code(), lines)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The next answer on a connection.
fn next(stream: &mut TcpStream) -> Answer {
    let mut header = [0; 24];
    stream.read_exact(&mut header).unwrap();
    let mut bytes = header.to_vec();
    bytes.resize(length(&header), 0);
    stream.read_exact(&mut bytes[24..]).unwrap();
    answers(&bytes).remove(0)
}

fn count(lines: &[String], name: &str) -> u64 {
    let line = lines.iter().find_map(|line| line.strip_prefix(name)).expect("every count has a line");
    line.trim().parse().unwrap()
}

fn refused(flags: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_bayop-tpcc")).args(flags).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn clients_of_all_workers_are_served_at_once_and_the_database_stays_consistent() {
    let program = Program::start(&["--workers", "2", "--warehouses", "2", "--check"]);
    assert!(program.hello.ends_with(": 2 warehouses, 2 workers"), "{}", program.hello);
    let mut clients: Vec<TcpStream> = (0..4).map(|_| program.connect()).collect();
    for client in &mut clients {
        let gets: Vec<u8> = (0..500).flat_map(|opaque| request(GET, "key", opaque)).collect();
        client.write_all(&gets).unwrap();
    }
    for client in &mut clients {
        for opaque in 0..500 {
            let answer = next(client);
            assert_eq!((answer.opaque, answer.status), (opaque, 0));
        }
    }
    let (code, lines) = program.end();
    assert_eq!((code, lines.last().map(|line| &line[..])), (Some(0), Some("conditions 1 to 4 hold")), "{lines:?}");
    let kinds = ["new_order ", "payment ", "order_status ", "delivery ", "stock_level "];
    assert_eq!(kinds.iter().map(|kind| count(&lines, kind)).sum::<u64>(), 2_000);
}

#[test]
fn hostile_clients_do_not_keep_others_waiting() {
    let program = Program::start(&["--workers", "1"]);
    assert!(program.hello.ends_with(": 1 warehouse, 1 worker"), "{}", program.hello);
    let mut silent = program.connect();
    silent.write_all(&request(GET, "key", 0)[..10]).unwrap();
    let mut deaf = program.connect();
    deaf.set_nonblocking(true).unwrap();
    // It sends and never reads, until nothing more is taken from it.
    let stats: Vec<u8> = (0..100).flat_map(|opaque| request(STAT, "", opaque)).collect();
    let mut sent = 0;
    let full = loop {
        match deaf.write(&stats) {
            Ok(len) => sent += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(200));
                if let Err(error) = deaf.write(&stats[..1]) {
                    break error.kind();
                }
            }
            Err(error) => break error.kind(),
        }
    };
    assert_eq!(full, ErrorKind::WouldBlock, "after {sent} bytes");
    let mut stranger = program.connect();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(stranger.read(&mut [0; 64]).unwrap(), 0, "it is closed");
    drop(program.connect());

    let mut good = program.connect();
    for opaque in 0..100 {
        good.write_all(&request(GET, "key", opaque)).unwrap();
        assert_eq!(next(&mut good).opaque, opaque);
    }
    good.write_all(&[request(SET, "key", 1), request(NOOP, "", 2)].concat()).unwrap();
    assert_eq!((next(&mut good).status, next(&mut good).status), (0x81, 0));
    let (code, lines) = program.end();
    assert_eq!((code, lines.len()), (Some(0), 7), "without --check nothing is looked at: {lines:?}");
}

#[test]
fn a_seed_gives_the_same_transactions() {
    let values = |seed: &str| {
        let program = Program::start(&["--workers", "1", "--seed", seed]);
        let mut client = program.connect();
        client.write_all(&request(GET, "key", 0).repeat(50)).unwrap();
        (0..50).map(|_| next(&mut client).value).collect::<Vec<_>>()
    };
    let first = values("1");
    assert_eq!(values("1"), first);
    assert_ne!(values("2"), first);
}

#[test]
fn bad_usage_says_the_rule() {
    let (code, message) = refused(&["--workers", "3", "--warehouses", "2"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("there must be a warehouse for each of 3 workers (--warehouses)"), "{message}");
    for flags in [["--workers", "0"], ["--warehouses", "0"], ["--listen", "nowhere"], ["--seed", "-1"]] {
        assert_eq!(refused(&flags).0, Some(2), "{flags:?}");
    }
    let program = Program::start(&["--workers", "1"]);
    let address = program.connect().peer_addr().unwrap().to_string();
    let (code, message) = refused(&["--listen", &address]);
    assert_eq!((code, &message[..]), (Some(1), "error: cannot listen: address already in use\n"));
}
