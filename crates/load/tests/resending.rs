//! Connections that a server of HTTP/1.1 ends: what it left unread is sent again, and counts from when it was due.

mod accepting;
mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bayop_load::report::Report;
use bayop_load::run::run;
use serde_json::{Value, json};

use accepting::accepting;

const GOES_ON: &str = "HTTP/1.1 200 OK";
const CLOSES: &str = "HTTP/1.1 200 OK\r\nConnection: close";

/// One of the server's connections.
struct Client(BufReader<TcpStream>);

impl Client {
    /// Waits for a request; false when there will be none.
    fn asks(&mut self) -> bool {
        let mut line = String::new();
        while self.0.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line == "\r\n" {
                return true;
            }
            line.clear();
        }
        false
    }

    /// Answers it, with these first lines.
    fn answer(&mut self, head: &str) {
        // The client may have gone.
        let _ = self.0.get_mut().write_all(format!("{head}\r\nContent-Length: 2\r\n\r\nhi").as_bytes());
    }

    /// Ends the connection without looking at what was asked; the last answer arrives.
    fn leave(mut self) {
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
        let _ = self.0.read_to_end(&mut Vec::new());
    }
}

/// A server that does this with each of its clients, by their numbers; its address, and how many there were.
fn server(serve: impl Fn(usize, Client) + Copy + Send + 'static) -> (String, Arc<AtomicUsize>) {
    accepting(move |number, stream| serve(number, Client(BufReader::new(stream))))
}

fn load(address: &str, fields: Value) -> Report {
    let mut all = json!({"servers": [address], "dialect": "http", "blocking": true});
    let Value::Object(fields) = fields else { panic!("{fields} is no object") };
    all.as_object_mut().unwrap().extend(fields);
    run(&common::plan(all), |_| false).unwrap()
}

fn open(qps: f64) -> Value {
    json!({"kind": "open", "pieces": [{"duration_s": 1000.0, "qps": qps}], "gaps": "exponential"})
}

#[test]
fn a_closed_loop_sends_what_was_left_before_anything_new() {
    let (address, _) = server(|_, mut client| {
        for number in 1..=20 {
            if !client.asks() {
                return;
            }
            client.answer(if number == 20 { CLOSES } else { GOES_ON });
        }
        client.leave();
    });
    let report = load(&address, json!({"depth": 8, "connections": 2, "timeout_s": 0.3}));
    assert!(report.counts.reconnects > 20, "{:?}", report.counts);
    assert_eq!(report.counts.answered, report.counts.intended, "{:?}", report.counts);
}

#[test]
fn what_waits_on_a_stalled_connection_of_a_closed_loop_counts_from_its_first_sending() {
    const STALL: Duration = Duration::from_millis(300);
    let (address, _) = server(|connection, mut client| {
        let mut answered = 0;
        while client.asks() {
            answered += 1;
            if connection == 0 && answered == 10 {
                thread::sleep(STALL);
                client.answer(CLOSES);
                return client.leave();
            }
            client.answer(GOES_ON);
        }
    });
    let report = load(&address, json!({"depth": 8}));
    let latency = report.latency();
    let slow = latency.count() - latency.count_up_to(STALL.as_nanos() as u64);
    // Half of the depth was under way at least, and one of these was answered.
    assert!((4..=8).contains(&slow), "{slow}");
    assert_eq!(report.counts.answered, report.counts.intended);
}

#[test]
fn an_announced_end_is_recognised_in_every_form() {
    for head in [CLOSES, "HTTP/1.1 200 OK\r\nConnection: foo\r\nconnection: bar, Close", "HTTP/1.0 200 OK"] {
        let (address, _) = server(move |_, mut client| {
            if client.asks() {
                client.answer(head);
                client.leave();
            }
        });
        let report = load(&address, json!({"schedule": open(1000.0), "duration_s": 0.3}));
        assert!(report.counts.answered > 50 && report.counts.lost() == 0, "{head}: {:?}", report.counts);
    }
}

#[test]
fn a_server_that_closes_at_once_is_called_ever_more_seldom() {
    let (address, taken) = server(|_, client| drop(client));
    let report = load(&address, json!({"schedule": open(200.0), "duration_s": 0.5}));
    assert_eq!(report.counts.answered, 0);
    let taken = taken.load(Ordering::SeqCst);
    assert!((4..20).contains(&taken), "{taken}");
}
