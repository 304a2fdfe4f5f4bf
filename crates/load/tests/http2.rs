//! HTTP/2 and gRPC against h2's own server.

mod common;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use bayop_load::histogram::quantile_ns;
use bayop_load::plan::Plan;
use bayop_load::report::{Batch, Report};
use bayop_load::run::run;
use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use tokio::runtime;
use tokio::task::{self, LocalSet};

/// What a server was asked: method, URI, some headers and the body, as a line; and how often.
type Heard = Arc<Mutex<BTreeMap<String, usize>>>;

/// A server, which may turn away all after so many requests of a connection.
struct Server {
    address: String,
    heard: Heard,
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn new(streams: u32, most: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (heard, connections) = (Heard::default(), Arc::new(AtomicUsize::new(0)));
        let (hear, count) = (heard.clone(), connections.clone());
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    count.fetch_add(1, Ordering::SeqCst);
                    task::spawn_local(serve(stream, streams, most, hear.clone()));
                }
            });
        });
        Self { address, heard, connections }
    }

    fn plan(&self, dialect: &str, http: Value, more: Value) -> Plan {
        let mut fields = json!({
            "servers": [self.address], "dialect": dialect, "blocking": true, "duration_s": 0.2,
            "workload": common::workload(10, http),
            "schedule": {"kind": "open", "pieces": [{"duration_s": 100.0, "qps": 2000.0}], "gaps": "exponential"},
        });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        common::plan(fields)
    }

    fn run(&self, dialect: &str, http: Value, more: Value) -> Report {
        run(&self.plan(dialect, http, more), |_| false).unwrap()
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().keys().cloned().collect()
    }
}

async fn serve(stream: tokio::net::TcpStream, streams: u32, most: usize, heard: Heard) {
    let mut builder = server::Builder::new();
    // A small window, so that a large body has to wait for room.
    let builder = builder.max_concurrent_streams(streams).initial_window_size(1 << 14).clone();
    let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
    let mut asked = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        asked += 1;
        task::spawn_local(answer(request, respond, heard.clone()));
        if asked == most {
            connection.graceful_shutdown();
        }
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, heard: Heard) {
    let (head, mut body) = request.into_parts();
    let mut received = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        body.flow_control().release_capacity(data.len()).unwrap();
        received.extend_from_slice(&data);
    }
    let header = |name| head.headers.get(name).map_or("-", |value| value.to_str().unwrap());
    let text = if received.len() < 40 { received.escape_ascii().to_string() } else { received.len().to_string() };
    let fields = [header("content-length"), header("content-type"), header("te"), header("x-record")].join(" ");
    let line = format!("{} {} {fields} {text}", head.method, head.uri);
    *heard.lock().unwrap().entry(line).or_default() += 1;
    let status = match head.uri.path() {
        "/missing" => 404,
        "/busy" => 503,
        _ => 200,
    };
    let response = Response::builder().status(status).body(()).unwrap();
    match head.uri.path() {
        "/reset" => respond.send_reset(Reason::INTERNAL_ERROR),
        "/missing" | "/busy" => drop(respond.send_response(response, true)),
        "/large" => drop(respond.send_response(response, false).unwrap().send_data(vec![7; 1 << 20].into(), true)),
        path if path.starts_with("/call.") => {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", path.rsplit('/').next().unwrap().parse().unwrap());
            trailers.insert("grpc-message", "why".parse().unwrap());
            let mut stream = respond.send_response(response, false).unwrap();
            stream.send_data(Bytes::from_static(&[0; 5]), false).unwrap();
            stream.send_trailers(trailers).unwrap();
        }
        "/slow/0" => {
            // The others overtake it.
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            drop(respond.send_response(response, true));
        }
        _ => drop(respond.send_response(response, false).unwrap().send_data("hello".into(), true)),
    }
}

fn get(path: &str) -> Value {
    json!([{"name": "", "weight": 1.0, "method": "GET", "path": path, "headers": ["X-Record: {n}"], "bodies": []}])
}

fn post(path: &str, bodies: Value) -> Value {
    json!([{"name": "", "weight": 1.0, "method": "POST", "path": path, "headers": [], "bodies": bodies}])
}

#[test]
fn every_request_is_answered_and_has_the_number_of_its_record() {
    let server = Server::new(100, usize::MAX);
    let report = server.run("http2", get("/item/{n}"), json!({"connections": 2}));
    let counts = report.counts;
    assert!(counts.answered > 200 && counts.answered == counts.intended, "{counts:?}");
    assert_eq!((counts.status_2xx, server.connections.load(Ordering::SeqCst)), (counts.answered, 2));
    let expected: Vec<_> = (0..10).map(|n| format!("GET http://{}/item/{n} - - - {n} ", server.address)).collect();
    assert_eq!(server.heard(), expected);
}

#[test]
fn an_answer_that_is_late_does_not_hold_up_the_others() {
    let server = Server::new(1000, usize::MAX);
    let report = server.run("http2", get("/slow/{n}"), json!({"duration_s": 0.5}));
    assert_eq!(report.counts.answered, report.counts.intended);
    let mut all = Batch::default();
    report.batches.iter().for_each(|batch| all.merge(batch));
    let [median_ns, late_ns] = [0.5, 0.97].map(|quantile| quantile_ns(&all.latency, quantile).unwrap());
    assert!(median_ns < 30_000_000 && 30_000_000 <= late_ns, "{median_ns} {late_ns}");
}

#[test]
fn no_more_are_under_way_than_the_server_allows() {
    let server = Server::new(1, usize::MAX);
    let report = server.run("http2", get("/slow/0"), json!({"timeout_s": 10.0, "duration_s": 0.05}));
    assert_eq!(report.counts.answered, report.counts.intended);
    assert!(report.counts.queued > report.counts.intended / 2, "{:?}", report.counts);
}

#[test]
fn bodies_of_any_size_go_out_and_come_in() {
    let server = Server::new(100, usize::MAX);
    let large = "x".repeat(300_000);
    let schedule = json!({"kind": "closed"});
    let more = json!({"schedule": schedule, "depth": 4, "timeout_s": 10.0});
    let report = server.run("http2", post("/large", json!(["", "{n}", large])), more);
    assert!(report.counts.answered > 10 && report.counts.answered == report.counts.intended, "{:?}", report.counts);
    // The last four may come after the measurement.
    assert!(report.counts.bytes_received > (report.counts.answered - 4) << 20);
    let at = &server.address;
    let expected = [("0", ""), ("2", "{n}"), ("300000", "300000")];
    let expected: Vec<_> =
        expected.map(|(length, text)| format!("POST http://{at}/large {length} - - - {text}")).into();
    assert_eq!(server.heard().len(), expected.len());
    assert!(expected.iter().zip(server.heard()).all(|(one, other)| *one == other || other.contains("{n}")));
}

#[test]
fn what_the_server_says_is_told_apart() {
    let server = Server::new(100, usize::MAX);
    for (path, misses, refused, status_5xx) in
        [("/missing", true, false, false), ("/busy", false, true, true), ("/reset", false, true, false)]
    {
        let counts = server.run("http2", get(path), json!({})).counts;
        let all = |is: bool| if is { counts.intended } else { 0 };
        assert!(counts.intended > 200);
        assert_eq!((counts.misses, counts.refused, counts.status_5xx), (all(misses), all(refused), all(status_5xx)));
    }
}

#[test]
fn what_a_leaving_server_has_not_looked_at_is_asked_again() {
    let server = Server::new(100, 20);
    let counts = server.run("http2", get("/{n}"), json!({"connections": 2, "duration_s": 0.5})).counts;
    assert_eq!((counts.answered, counts.refused), (counts.intended, 0), "{counts:?}");
    assert!(counts.reconnects > 10, "{counts:?}");
}

#[test]
fn a_call_is_what_grpc_says_it_is() {
    let server = Server::new(100, usize::MAX);
    for (code, misses, refused) in [("0", false, false), ("5", true, false), ("13", false, true)] {
        let report = server.run("grpc", post(&format!("/call.Service/{code}"), json!(["abc"])), json!({}));
        let all = |is: bool| if is { report.counts.intended } else { 0 };
        assert_eq!((report.counts.misses, report.counts.refused), (all(misses), all(refused)));
        assert!(report.counts.intended > 200 && report.counts.status_2xx == report.counts.intended);
        let why = report.troubles.keys().next().cloned().unwrap_or_default();
        assert_eq!(why, if refused { "grpc-status 13: why" } else { "" });
    }
    let line = |code| {
        format!(
            r"POST http://{}/call.Service/{code} - application/grpc trailers - \x00\x00\x00\x00\x03abc",
            server.address
        )
    };
    assert_eq!(server.heard(), [line("0"), line("13"), line("5")]);
}

#[test]
fn a_server_of_another_protocol_is_an_error_at_the_start() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = Server { address, heard: Heard::default(), connections: Arc::default() };
    thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 24);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let error = run(&server.plan("http2", get("/"), json!({})), |_| false).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("it does not speak HTTP/2"), "{text}");
    assert_eq!(error.hint.as_deref(), Some("--protocol http is HTTP/1.1"));
}

#[test]
fn what_http_2_has_no_place_for_is_refused() {
    let server = Server::new(100, usize::MAX);
    for (header, why) in [
        ("Upgrade: h2c", "cannot use 'upgrade': a header must not be one of HTTP/1.1's connection (headers)"),
        ("TE: gzip", "cannot use 'gzip': the header TE must be trailers in HTTP/2 (headers)"),
        ("Host: a b", "cannot use 'a b': a host must be a name (headers)"),
    ] {
        let http =
            json!([{"name": "", "weight": 1.0, "method": "GET", "path": "/", "headers": [header], "bodies": []}]);
        assert_eq!(run(&server.plan("http2", http, json!({})), |_| false).unwrap_err().to_string(), why);
    }
}
