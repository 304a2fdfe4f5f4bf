//! What counts as an answer, and what is left to the warm-up.

mod accepting;
mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use bayop_load::report::Report;
use bayop_load::run::run;
use serde_json::json;

use accepting::accepting;

/// Answers every request with this status.
fn serve(stream: TcpStream, status: &str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut stream = stream;
    while let Some(Ok(line)) = lines.next() {
        // The client may have gone.
        if line.is_empty() && write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// 500 requests/s for 0.3 s of warm-up and 0.3 s of measurement.
fn load(address: &str) -> Report {
    let schedule = json!({"kind": "open", "pieces": [{"duration_s": 1000.0, "qps": 500.0}], "gaps": "fixed"});
    run(
        &common::plan(json!({
            "servers": [address], "dialect": "http", "blocking": true, "schedule": schedule,
            "warmup_s": 0.3, "duration_s": 0.3,
        })),
        |_| false,
    )
    .unwrap()
}

#[test]
fn an_error_is_no_answer_and_is_told_as_often_as_it_was_counted() {
    let (address, _) = accepting(|_, stream| serve(stream, "503 Busy"));
    let report = load(&address);
    let counts = report.counts;
    assert!(counts.intended > 100, "{counts:?}");
    assert_eq!((counts.refused, counts.answered, counts.answers_in_time), (counts.intended, 0, 0));
    assert_eq!(report.troubles.into_iter().collect::<Vec<_>>(), [("HTTP/1.1 503 Busy".to_owned(), counts.refused)]);
}

#[test]
fn a_miss_is_an_answer() {
    let (address, _) = accepting(|_, stream| serve(stream, "404 Not Found"));
    let counts = load(&address).counts;
    assert!(counts.misses > 100 && counts.answers_in_time > 100, "{counts:?}");
    assert_eq!(counts.answered, counts.intended);
}

#[test]
fn a_connection_that_breaks_in_the_warm_up_troubles_nothing() {
    let (address, taken) = accepting(|number, stream| {
        if number == 0 {
            thread::sleep(Duration::from_millis(50));
            return;
        }
        serve(stream, "200 OK");
    });
    let report = load(&address);
    assert_eq!(taken.load(std::sync::atomic::Ordering::SeqCst), 2);
    assert!(report.troubles.is_empty(), "{:?}", report.troubles);
    assert_eq!((report.counts.reconnects, report.counts.answered), (0, report.counts.intended));
}
