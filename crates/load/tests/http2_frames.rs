//! HTTP/2 and gRPC against servers that are written frame by frame, and do what h2's own does not.

mod accepting;
mod common;

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bayop_load::report::Report;
use bayop_load::run::run;
use serde_json::{Value, json};

use accepting::accepting;

/// Kinds of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`.
const OK: &[u8] = b"\x88";
const INTERNAL_ERROR: u8 = 2;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Allows so many streams at once.
fn settings(streams: u8) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, streams])
}

fn answer(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, OK)
}

/// Takes no stream after `last`.
fn go_away(last: u32, code: u8) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &[0, 0, 0, code]].concat())
}

/// Does this with the stream of every request of a connection and its number from 1, until nothing is to be sent.
fn serve(mut socket: TcpStream, react: impl Fn(usize, u32) -> Option<Vec<u8>>) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.read_exact(&mut [0; 24])?;
    socket.write_all(&settings(100))?;
    let mut asked = 0;
    loop {
        let mut header = [0; 9];
        socket.read_exact(&mut header)?;
        let [l0, l1, l2, kind, flags, stream @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
        socket.read_exact(&mut payload)?;
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM > 0 {
            asked += 1;
            let Some(said) = react(asked, u32::from_be_bytes(stream)) else { return Ok(()) };
            socket.write_all(&said)?;
        }
    }
}

/// What requests see of a server that reacts so, 200 a second for a second.
fn load(dialect: &str, react: impl Fn(usize, u32) -> Option<Vec<u8>> + Copy + Send + 'static) -> Report {
    // The client may have gone.
    let (address, _) = accepting(move |_, socket| drop(serve(socket, react)));
    load_at(&address, dialect)
}

fn load_at(address: &str, dialect: &str) -> Report {
    let schedule = json!({"kind": "open", "pieces": [{"duration_s": 100.0, "qps": 200.0}], "gaps": "fixed"});
    load_by(address, dialect, schedule, None)
}

fn load_by(address: &str, dialect: &str, schedule: Value, depth: Option<usize>) -> Report {
    let request = json!({"name": "", "weight": 1.0, "method": "POST", "path": "/a.B/C", "headers": [], "bodies": []});
    let plan = common::plan(json!({
        "servers": [address], "dialect": dialect, "blocking": true, "schedule": schedule, "depth": depth,
        "workload": common::workload(10, json!([request])),
    }));
    run(&plan, |_| false).unwrap()
}

#[test]
fn a_connection_that_is_left_holds_up_what_was_sent_on_it_alone() {
    const SLOW: Duration = Duration::from_millis(400);
    let (address, _) = accepting(|number, socket| {
        let late = socket.try_clone().unwrap();
        drop(serve(socket, |asked, stream| {
            if number > 0 || asked < 10 {
                return Some(answer(stream));
            }
            (&late).write_all(&go_away(stream, 0)).unwrap();
            thread::sleep(SLOW);
            Some(answer(stream))
        }));
    });
    let report = load_at(&address, "http2");
    let counts = report.counts;
    assert_eq!((counts.answered, counts.reconnects), (counts.intended, 1), "{:?}", report.troubles);
    let latency = report.latency();
    let slow = latency.count() - latency.count_up_to(SLOW.as_nanos() as u64 / 2);
    assert_eq!(slow, 1, "of {}", latency.count());
}

#[test]
fn who_leaves_every_connection_at_its_first_request_is_asked_everything() {
    let (address, _) = accepting(|_, socket| {
        let late = socket.try_clone().unwrap();
        drop(serve(socket, |asked, stream| {
            if asked > 1 {
                return Some(Vec::new());
            }
            (&late).write_all(&go_away(stream, 0)).unwrap();
            thread::sleep(Duration::from_millis(20));
            Some(answer(stream))
        }));
    });
    let report = load_at(&address, "http2");
    let counts = report.counts;
    assert_eq!((counts.answered, counts.lost()), (counts.intended, 0), "{:?}", report.troubles);
}

#[test]
fn a_closed_loop_stays_closed_when_connections_are_left() {
    const DEPTH: usize = 4;
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let (address, connections) = accepting(|_, socket| {
        let late = socket.try_clone().unwrap();
        drop(serve(socket, |asked, stream| {
            MOST.fetch_max(1 + UNDER_WAY.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
            if asked < DEPTH {
                return Some(Vec::new());
            }
            (&late).write_all(&go_away(stream, 0)).unwrap();
            thread::sleep(Duration::from_millis(50));
            UNDER_WAY.fetch_sub(DEPTH, Ordering::SeqCst);
            let first = stream + 2 - 2 * DEPTH as u32;
            Some((first..=stream).step_by(2).flat_map(answer).collect())
        }));
    });
    let report = load_by(&address, "http2", json!({"kind": "closed"}), Some(DEPTH));
    let counts = report.counts;
    assert!(counts.answered > 20 && connections.load(Ordering::SeqCst) > 5, "{counts:?}");
    assert_eq!((counts.lost(), MOST.load(Ordering::SeqCst)), (0, DEPTH), "{:?}", report.troubles);
}

#[test]
fn a_closed_loop_goes_on_under_a_server_that_allows_less_than_the_depth() {
    let (address, _) = accepting(|_, socket| {
        drop(serve(socket, |_, stream| Some([settings(1), answer(stream)].concat())));
    });
    let report = load_by(&address, "http2", json!({"kind": "closed"}), Some(4));
    let counts = report.counts;
    assert!(counts.answered > 100 && counts.lost() == 0, "{counts:?}");
}

#[test]
fn what_a_server_takes_back_that_leaves_in_two_steps_is_asked_again() {
    let (address, _) = accepting(|number, socket| {
        let late = socket.try_clone().unwrap();
        drop(serve(socket, |_, stream| {
            if number > 0 {
                return Some(answer(stream));
            }
            (&late).write_all(&go_away(u32::MAX >> 1, 0)).unwrap();
            thread::sleep(Duration::from_millis(20));
            (&late).write_all(&go_away(0, 0)).unwrap();
            thread::sleep(Duration::from_millis(200));
            None
        }));
    });
    let report = load_at(&address, "http2");
    let counts = report.counts;
    assert_eq!((counts.answered, counts.lost()), (counts.intended, 0), "{:?}", report.troubles);
}

#[test]
fn what_a_failing_server_has_not_looked_at_is_asked_again() {
    let report = load("http2", |asked, stream| {
        (asked < 10).then(|| if asked == 9 { go_away(stream - 2, INTERNAL_ERROR) } else { answer(stream) })
    });
    let counts = report.counts;
    assert!(counts.reconnects > 10, "{counts:?}");
    assert_eq!((counts.answered, counts.refused, counts.lost()), (counts.intended, 0, 0), "{:?}", report.troubles);
}

#[test]
fn a_call_has_a_whole_message_when_its_status_is_good() {
    const STATUS: &[u8] = b"\x00\x0bgrpc-status\x010";
    const NOT_FOUND: &[u8] = b"\x00\x0bgrpc-status\x015";
    fn call(stream: u32, message: &[u8], status: &[u8]) -> Option<Vec<u8>> {
        let head = frame(HEADERS, END_HEADERS, stream, OK);
        // In two frames, as any may be.
        let (first, rest) = message.split_at(message.len().min(3));
        let parts = [first, rest].into_iter().filter(|part| !part.is_empty());
        let body: Vec<_> = parts.flat_map(|part| frame(DATA, 0, stream, part)).collect();
        Some([head, body, frame(HEADERS, END_HEADERS | END_STREAM, stream, status)].concat())
    }
    let whole = load("grpc", |_, stream| call(stream, b"\0\0\0\0\x02ab", STATUS)).counts;
    assert!(whole.intended > 100 && whole.answered == whole.intended, "{whole:?}");
    let missing = load("grpc", |_, stream| call(stream, b"", NOT_FOUND)).counts;
    assert_eq!((missing.misses, missing.refused), (missing.intended, 0));
    let empty = load("grpc", |_, stream| call(stream, b"", STATUS));
    let short = load("grpc", |_, stream| call(stream, b"\0\0\0\0\x09ab", STATUS));
    for report in [empty, short] {
        assert_eq!((report.counts.answered, report.counts.refused), (0, report.counts.intended));
        assert_eq!(report.troubles.into_keys().collect::<Vec<_>>(), ["grpc-status 0 without its message"]);
    }
}

#[test]
fn a_server_that_takes_nothing_any_more_is_told_of() {
    let report = load("http2", |_, stream| Some([settings(0), answer(stream)].concat()));
    let counts = report.counts;
    assert!(counts.lost_timed_out > 100, "{counts:?}");
    let told: Vec<_> = report.troubles.into_iter().collect();
    let why = "no connection had room in time: one was being opened, or the server or --depth limits what is under way";
    assert_eq!(told, [(why.to_owned(), counts.lost_timed_out)]);
}
