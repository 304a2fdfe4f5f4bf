//! What counts as an answer, and what is left to the warm-up.

mod accepting;
mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
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

/// 500 requests/s for 0.5 s to a key-value store.
fn ask_store(address: &str, dialect: &str) -> Report {
    let schedule = json!({"kind": "open", "pieces": [{"duration_s": 1000.0, "qps": 500.0}], "gaps": "fixed"});
    let unused = json!([{"name": "", "weight": 1.0, "method": "GET", "path": "/", "headers": [], "bodies": []}]);
    let fields = json!({
        "servers": [address], "dialect": dialect, "blocking": true, "schedule": schedule, "duration_s": 0.5,
        "workload": common::workload(1000, unused),
    });
    run(&common::plan(fields), |_| false).unwrap()
}

#[test]
fn an_error_without_a_text_is_told_in_words() {
    // A request for a key of 30 digits.
    const REQUEST_BYTES: usize = "*2\r\n$3\r\nGET\r\n$30\r\n\r\n".len() + 30;
    let (address, _) =
        accepting(
            |_, mut stream| {
                while stream.read_exact(&mut [0; REQUEST_BYTES]).is_ok() && stream.write_all(b"-\r\n").is_ok() {}
            },
        );
    let report = ask_store(&address, "redis");
    assert!(report.counts.refused > 100, "{:?}", report.counts);
    let told: Vec<_> = report.troubles.into_iter().collect();
    assert_eq!(told, [("an error without a text".to_owned(), report.counts.refused)]);
}

/// Answers every pair of requests of `REQUEST_BYTES` with what `answer` makes of them, the second one first.
fn swap<const REQUEST_BYTES: usize>(mut stream: TcpStream, answer: fn(&[u8; REQUEST_BYTES]) -> Vec<u8>) {
    let (mut first, mut second) = ([0; REQUEST_BYTES], [0; REQUEST_BYTES]);
    while stream.read_exact(&mut first).is_ok() && stream.read_exact(&mut second).is_ok() {
        if stream.write_all(&[answer(&second), answer(&first)].concat()).is_err() {
            return;
        }
    }
}

#[test]
fn an_answer_to_another_request_is_none() {
    let (text, _) = accepting(|_, stream| {
        swap::<36>(stream, |request| [b"VALUE ", &request[4..34], b" 0 2\r\nhi\r\nEND\r\n"].concat());
    });
    let (binary, _) = accepting(|_, stream| {
        // A request's opaque comes back; what is found has four bytes of flags.
        swap::<54>(stream, |request| {
            [&[0x81, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 6][..], &request[12..16], &[0; 12], b"hi"].concat()
        });
    });
    for (address, dialect) in [(text, "memcached"), (binary, "memcached-binary")] {
        let report = ask_store(&address, dialect);
        let counts = report.counts;
        assert!(counts.lost_garbage > 10 && counts.answered < 3, "{counts:?}");
        let troubles: Vec<_> = report.troubles.into_keys().collect();
        assert!(troubles[0].contains("the answer to the oldest request was expected"), "{troubles:?}");
    }
}
