//! Connections that outlive a run.

mod accepting;
mod common;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bayop_load::connections::Connections;
use bayop_load::plan::Plan;
use bayop_load::run::run_over;
use serde_json::json;

use accepting::accepting;

/// A server that says what it hears, and how many connections it has taken; it closes each after `most` bytes.
fn server(most: usize) -> (String, Arc<AtomicUsize>) {
    accepting(move |_, stream| echo(stream, most))
}

fn echo(mut stream: TcpStream, most: usize) {
    let (mut heard, mut bytes) = (0, [0; 4096]);
    while heard < most {
        match stream.read(&mut bytes) {
            Ok(length) if length > 0 => {
                heard += length;
                stream.write_all(&bytes[..length]).unwrap();
            }
            _ => return,
        }
    }
}

fn plan(server: &str, connections: usize) -> Plan {
    let schedule = json!({"kind": "open", "pieces": [{"duration_s": 1000.0, "qps": 2000.0}], "gaps": "exponential"});
    common::plan(json!({
        "servers": [server], "threads": 2, "connections": connections, "schedule": schedule, "duration_s": 0.05,
        "blocking": true,
    }))
}

#[test]
fn a_further_run_has_the_connections_of_the_one_before() {
    let (address, taken) = server(usize::MAX);
    let mut connections = Connections::default();
    for _ in 0..3 {
        let report = run_over(&mut connections, &plan(&address, 3), |_| false).unwrap();
        assert!(report.counts.answered > 50 && report.counts.answered == report.counts.intended);
        assert_eq!((taken.load(Ordering::SeqCst), report.counts.reconnects), (6, 0));
    }
}

#[test]
fn a_plan_with_other_connections_has_its_own() {
    let ((first, taken), (second, other)) = (server(usize::MAX), server(usize::MAX));
    let mut connections = Connections::default();
    for (plan, count) in [(plan(&first, 1), 2), (plan(&first, 2), 6), (plan(&second, 2), 6)] {
        run_over(&mut connections, &plan, |_| false).unwrap();
        assert_eq!(taken.load(Ordering::SeqCst), count);
    }
    assert_eq!(other.load(Ordering::SeqCst), 4);
}

#[test]
fn what_a_server_has_closed_meanwhile_is_opened_again() {
    let (address, taken) = server(80);
    let mut connections = Connections::default();
    for _ in 0..3 {
        let report = run_over(&mut connections, &plan(&address, 1), |_| false).unwrap();
        assert!(report.counts.answered > 20);
    }
    assert!(taken.load(Ordering::SeqCst) > 6);
}

#[test]
fn a_server_that_is_gone_is_an_error_of_the_next_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server =
        thread::spawn(move || (0..2).map(|_| listener.accept().unwrap()).for_each(|(stream, _)| echo(stream, 80)));
    let mut connections = Connections::default();
    run_over(&mut connections, &plan(&address, 1), |_| false).unwrap();
    server.join().unwrap();
    let error = (0..3).find_map(|_| run_over(&mut connections, &plan(&address, 1), |_| false).err()).unwrap();
    assert!(error.to_string().contains(&format!("cannot connect to {address}")), "{error}");
}
