//! Servers that send for ever while connections come up: the clock is looked at all the same.

mod accepting;
mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use bayop_core::Result;
use bayop_load::plan::Plan;
use bayop_load::preload::preload;
use bayop_load::report::Report;
use bayop_load::run::run;
use serde_json::{Value, json};

use accepting::accepting;

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A message of PostgreSQL's.
fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind][..], &(content.len() as u32 + 4).to_be_bytes(), content].concat()
}

/// A frame of HTTP/2 that belongs to no stream.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_be_bytes()[1..], &[kind, 0, 0, 0, 0, 0], payload].concat()
}

/// Sends the same for ever, and takes whatever comes.
fn flood(mut stream: TcpStream, bytes: &[u8]) {
    let mut taken = stream.try_clone().unwrap();
    thread::spawn(move || while taken.read(&mut [0; 1 << 16]).is_ok_and(|bytes| bytes > 0) {});
    let flood = bytes.repeat(100_000 / bytes.len());
    while stream.write_all(&flood).is_ok() {}
}

fn notices(stream: TcpStream) {
    flood(stream, &message(b'N', b"SNOTICE\0Mhello\0\0"));
}

fn plan(server: &str, dialect: &str) -> Plan {
    let schedule = json!({"kind": "open", "pieces": [{"duration_s": 100.0, "qps": 200.0}], "gaps": "exponential"});
    common::plan(json!({
        "servers": [server], "dialect": dialect, "schedule": schedule, "blocking": true, "duration_s": 1.0,
        "timeout_s": 0.2,
    }))
}

/// How a run ends, which it must; `interrupted` says whether it is to end early.
fn ended(plan: Plan, interrupted: bool) -> (Result<Report>, Duration) {
    let (sender, end) = channel();
    let start = Instant::now();
    thread::spawn(move || drop(sender.send(run(&plan, |_| interrupted))));
    (end.recv_timeout(PATIENCE).expect("the run ends"), start.elapsed())
}

#[test]
fn a_server_that_never_falls_silent_does_not_connect() {
    fn settings(mut stream: TcpStream) {
        // No stream may be opened, so that its word is awaited for ever.
        stream.write_all(&frame(4, &[0, 3, 0, 0, 0, 0])).unwrap();
        flood(stream, &frame(6, b"whatever"));
    }
    for (dialect, serve) in [("postgresql", notices as fn(TcpStream)), ("http2", settings)] {
        let (address, _) = accepting(move |_, stream| serve(stream));
        let (end, _) = ended(plan(&address, dialect), false);
        assert_eq!(end.unwrap_err().to_string(), format!("cannot connect to {address}: timed out"), "{dialect}");
    }
}

#[test]
fn one_that_begins_in_mid_run_is_a_loss() {
    let (address, taken) = accepting(|number, mut stream| {
        if number > 0 {
            return notices(stream);
        }
        let mut heard = [0; 4096];
        let _ = stream.read(&mut heard).unwrap();
        stream.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat()).unwrap();
        for _ in 0..3 {
            let _ = stream.read(&mut heard).unwrap();
            stream.write_all(&[message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat()).unwrap();
        }
    });
    let (end, took) = ended(plan(&address, "postgresql"), false);
    let counts = end.unwrap().counts;
    assert!((1..=3).contains(&counts.answered) && counts.lost() > 100, "{counts:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(taken.load(std::sync::atomic::Ordering::SeqCst) > 1);
}

#[test]
fn whoever_does_not_want_to_wait_for_a_connection_interrupts() {
    for serve in [notices as fn(TcpStream), |_stream| thread::sleep(PATIENCE)] {
        let (address, _) = accepting(move |_, stream| serve(stream));
        let (end, took) = ended(plan(&address, "postgresql"), true);
        let report = end.unwrap();
        assert_eq!((report.interrupted, report.counts.intended, report.duration_s), (true, 0, 0.0));
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn records_are_not_stored_for_ever_either() {
    let store = |serve: fn(TcpStream), dialect: &str, tls: Value, interrupted: bool| {
        let (address, _) = accepting(move |_, stream| serve(stream));
        let plan = common::plan(json!({"servers": [&address], "dialect": dialect, "tls": tls}));
        let (sender, end) = channel();
        let start = Instant::now();
        thread::spawn(move || {
            let mut asked = 0;
            let interrupt = || {
                asked += 1;
                // The first time is before anything is sent.
                interrupted && asked > 1
            };
            drop(sender.send(preload(&plan, interrupt)));
        });
        (end.recv_timeout(PATIENCE).expect("it ends"), start.elapsed(), address)
    };
    // A string of RESP2, and a line of memcached's, that never end; a warning of TLS's (RFC 8446, section 6).
    let endless: fn(TcpStream) = |mut stream| {
        stream.write_all(b"$999999999999\r\n").unwrap();
        flood(stream, b"x");
    };
    let warnings: fn(TcpStream) = |stream| flood(stream, &[21, 3, 3, 0, 2, 1, 90]);
    let silent: fn(TcpStream) = |_stream| thread::sleep(PATIENCE);
    let insecure = json!({"authorities": null});
    for (serve, dialect, tls) in
        [(endless, "redis", Value::Null), (warnings, "redis", insecure), (silent, "memcached", Value::Null)]
    {
        let (end, took, address) = store(serve, dialect, tls, false);
        let error = end.unwrap_err().to_string();
        assert!(error.contains(&address) && took < Duration::from_secs(15), "{error}: {took:?}");
    }
    let (end, took, _) = store(endless, "redis", Value::Null, true);
    assert!(end.unwrap().interrupted && took < Duration::from_secs(5), "{took:?}");
}
