//! The API as clients meet it: described, bounded, and unmoved by nonsense.

mod common;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::{Extension, Router};
use bayop_agent::agent::Agent;
use bayop_agent::api;
use bayop_agent::config::Config;
use bayop_agent::devices::Devices;
use bayop_agent::peer::Peer;
use bayop_knobs::Host;
use common::{CAPS, Machine, answer};
use http_body_util::BodyExt as _;
use nix::unistd::Uid;
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// The agent's router in this process.
fn router(machine: &Machine) -> Router {
    let config = Config::load(Some(&machine.path("agent.toml"))).unwrap();
    fs::create_dir(&config.state_dir).unwrap();
    let agent = Agent::start(config, Host::recorded(machine.root()), Devices::default()).unwrap();
    api::router(Arc::new(Mutex::new(agent))).layer(Extension(Peer::User(Uid::effective())))
}

fn ask(router: &Router, method: &str, path: &str, body: &[u8]) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_vec())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    })
}

#[test]
fn the_committed_description_is_the_code_s() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/agent-openapi.json");
    assert_eq!(
        fs::read_to_string(committed).unwrap(),
        api::description_text(),
        "run: cargo run --package bayop-agent -- openapi > docs/reference/agent-openapi.json"
    );
}

#[test]
fn every_route_is_described_and_every_described_route_answers_as_described() {
    let machine = Machine::new();
    let router = router(&machine);
    let description: Value = serde_json::from_str(&api::description_text()).unwrap();
    let paths = description["paths"].as_object().unwrap();
    let mut described: Vec<String> = Vec::new();
    for (path, methods) in paths {
        for method in ["get", "put", "post", "delete", "patch"] {
            let (status, answer) = ask(&router, &method.to_uppercase(), path, b"");
            match methods.get(method) {
                Some(operation) => {
                    assert!(
                        operation["responses"].get(status.as_str()).is_some(),
                        "{method} {path}: {status} {answer}"
                    );
                    described.push(format!("{method} {path}"));
                }
                None => assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}"),
            }
        }
    }
    let contract = [
        "get /metrics",
        "post /v1/apply",
        "get /v1/calibration",
        "put /v1/calibration",
        "get /v1/doctor",
        "get /v1/hold",
        "post /v1/hold",
        "get /v1/idle",
        "get /v1/interrupts",
        "get /v1/knobs",
        "put /v1/latency",
        "post /v1/lease",
        "post /v1/lease/renew",
        "get /v1/openapi.json",
        "post /v1/release",
        "post /v1/restore",
        "get /v1/sensors",
        "get /v1/status",
    ];
    assert_eq!(described, contract);
    let sources = [include_str!("../src/api/routes.rs"), include_str!("../src/api/mod.rs")];
    let handlers: usize = sources.iter().map(|source| source.matches("#[utoipa::path(").count()).sum();
    assert_eq!(handlers, contract.len(), "every handler is routed");
    assert_eq!(ask(&router, "GET", "/v1/nothing", b"").1["error"]["kind"], "not_found");
}

#[test]
fn what_is_refused_says_why_and_where() {
    let machine = Machine::new();
    let found = machine.tree();
    let router = router(&machine);
    let lease = ask(&router, "POST", "/v1/lease", br#"{"holder":"test","ttl_s":60}"#).1["lease"].clone();
    let setting = |setting: Value| json!({"lease": lease, "setting": setting}).to_string();
    for (body, status, kind, part) in [
        (setting(json!({"power.cap_w": 49.9})), 403, "forbidden", "50 to 200"),
        (setting(json!({"power.cap_w": -1})), 400, "input", "0 to 200"),
        (setting(json!({"power.cap_w": "lots"})), 400, "input", "lots"),
        (setting(json!({"power.cap_w": "NaN"})), 400, "input", "NaN"),
        (setting(json!({"power.cap_mw": 60})), 404, "not_found", "power.cap_mw"),
        (setting(json!({"power.cap_w@intel-rapl:9/0": 60})), 404, "not_found", "intel-rapl:0/0"),
        (setting(json!({"power.cap_w@../../etc/passwd": 60})), 404, "not_found", "passwd"),
        (setting(json!({"power.cap_w": 60, (CAPS[0]): 70})), 400, "input", "once"),
        (
            format!(r#"{{"lease":{lease},"setting":{{"power.cap_w":60,"power.cap_w":70}}}}"#),
            400,
            "input",
            "comes twice",
        ),
        (format!(r#"{{"lease":{lease},"lease":{lease},"setting":{{}}}}"#), 400, "input", "duplicate field"),
        (setting(json!({"power.cap_w": null})), 400, "input", "JSON"),
        (setting(json!([60])), 400, "input", "JSON"),
        (format!(r#"{{"lease":{lease},"setting":{{"power.cap_w":1e999}}}}"#), 400, "input", "out of range"),
        (format!(r#"{{"lease":{lease},"setting":{{"power.cap_w":NaN}}}}"#), 400, "input", "JSON"),
        (r#"{"setting":{"power.cap_w":60}}"#.to_owned(), 400, "input", "lease"),
        (r#"{"setting":{},"lease":"x","dryrun":true}"#.to_owned(), 400, "input", "dryrun"),
        (r#"{"setting":{"power.cap_w":60}"#.to_owned(), 400, "input", "EOF"),
        (format!("{{\"lease\":\"{}\"}}", "x".repeat(api::GREATEST_BODY)), 413, "too_large", "65536"),
        (format!("{{\"setting\":{{\"power.cap_w\":{}", "[".repeat(60_000)), 400, "input", "recursion"),
    ] {
        let (answered, answer) = ask(&router, "POST", "/v1/apply", body.as_bytes());
        let error = &answer["error"];
        assert_eq!((answered.as_u16(), error["kind"].as_str()), (status, Some(kind)), "{answer}");
        assert!(error.to_string().contains(part), "{part} is not in {error}");
    }
    assert_eq!(machine.tree(), found);
}

#[test]
fn a_calibration_says_what_is_stored() {
    let machine = Machine::new();
    let router = router(&machine);
    let lease = ask(&router, "POST", "/v1/lease", br#"{"holder":"test","ttl_s":60}"#).1["lease"].clone();
    let put = |router: &Router, change: Value| {
        let points = json!([{"requested_us": 64.0, "effective_us": 50.0}]);
        let mut body = json!({"lease": lease, "device": "eth0", "driver": "ena", "points": points});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ask(router, "PUT", "/v1/calibration", body.to_string().as_bytes()).0.as_u16()
    };
    assert_eq!(put(&router, json!({})), 200);
    let stored = json!([{"device": "eth0", "driver": "ena", "points": [{"requested_us": 64.0, "effective_us": 50.0}]}]);
    for (change, status) in [
        (json!({"points": []}), 400),
        (json!({"device": "eth7"}), 404),
        (json!({"device": "../eth0"}), 404),
        (json!({"lease": "none"}), 409),
    ] {
        assert_eq!(put(&router, change.clone()), status, "{change}");
    }
    assert_eq!(ask(&router, "GET", "/v1/calibration", b"").1, json!({"calibrations": stored}));
    let observing = Machine::with_config("mode = \"observe\"\n");
    assert_eq!(put(&self::router(&observing), json!({})), 403);
}

/// JSON that is none of the agent's business, and JSON that nearly is.
fn nonsense(lease: &str) -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("holder"),
        Just("ttl_s"),
        Just("lease"),
        Just("setting"),
        Just("keep"),
        Just("dry_run"),
        Just("points"),
        Just("device"),
        Just("power.cap_w"),
        Just(CAPS[0]),
        Just("nic.rx_usecs"),
        Just("auto"),
        Just("@"),
        Just("")
    ];
    let lease = lease.to_owned();
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // No cap that the allow-list has: those would rightly be applied.
        any::<f64>().prop_filter("an allowed cap", |w| !(50.0..=250.0).contains(w)).prop_map(Value::from),
        word.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from(lease.clone())),
    ];
    let any_json = leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let knob = prop_oneof![
        4 => proptest::sample::select(CAPS.as_slice()).prop_map(str::to_owned),
        2 => Just("power.cap_w".to_owned()),
        1 => "[a-z.]{1,12}(@[a-z0-9:/]{0,12})?",
    ];
    // Between the kernel's bounds and the allow-list's, too.
    let value = prop_oneof![2 => (-100..50).prop_map(Value::from), 1 => any_json.clone()];
    let setting = proptest::collection::btree_map(knob, value, 1..4)
        .prop_map(move |setting| json!({"lease": lease, "setting": setting}));
    prop_oneof![1 => any_json, 2 => setting]
}

/// How many random requests the property is tried with.
const REQUESTS: u32 = 10_000;

#[test]
fn random_requests_change_nothing_and_are_never_the_agent_s_fault() {
    let machine = Machine::new();
    let found = machine.tree();
    let router = router(&machine);
    let lease = ask(&router, "POST", "/v1/lease", br#"{"holder":"test","ttl_s":3600}"#).1["lease"].clone();
    // Not release and restore: those would rightly end the lease.
    let known = prop_oneof![
        8 => Just(("POST", "/v1/apply")),
        2 => Just(("POST", "/v1/lease")),
        2 => Just(("POST", "/v1/lease/renew")),
        2 => Just(("PUT", "/v1/calibration")),
        1 => prop_oneof![Just("/v1/status"), Just("/v1/knobs"), Just("/v1/sensors"), Just("/v1/openapi.json"),
            Just("/v1/doctor"), Just("/metrics"), Just("/v1/calibration")].prop_map(|path| ("GET", path)),
    ];
    let method = prop_oneof![Just("GET"), Just("POST"), Just("PUT"), Just("DELETE"), Just("HEAD"), Just("OPTIONS")];
    let path = "/[a-z0-9/._%-]{0,40}".prop_filter("a path", |path| path.parse::<axum::http::Uri>().is_ok());
    let route = prop_oneof![
        8 => known.prop_map(|(method, path)| (method, path.to_owned())),
        1 => (method, path),
    ];
    let body = prop_oneof![
        4 => nonsense(lease.as_str().unwrap()).prop_map(|json| json.to_string().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..2000),
    ];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: REQUESTS,
        failure_persistence: None,
        ..Default::default()
    });
    let statuses = std::cell::RefCell::new(BTreeMap::<u16, u32>::new());
    runner
        .run(&(route, body), |((method, path), body)| {
            let (status, answer) = ask(&router, method, &path, &body);
            *statuses.borrow_mut().entry(status.as_u16()).or_default() += 1;
            prop_assert!(!status.is_server_error(), "{} {}: {} {}", method, path, status, answer);
            prop_assert!(
                status.is_success()
                    || method == "HEAD"
                    || answer["error"]["wrong"].is_string()
                    || answer["error"]["value"].is_string(),
                "{} {}: {} {}",
                method,
                path,
                status,
                answer
            );
            Ok(())
        })
        .unwrap();
    println!("{REQUESTS} requests, by status: {:?}", statuses.borrow());
    assert_eq!(machine.tree(), found);
    assert!(!machine.journal().exists());
    assert_eq!(ask(&router, "GET", "/v1/status", b"").1["held"], json!([]));
}

#[test]
fn bodies_and_heads_that_never_end_are_cut_off_while_others_are_served() {
    let machine = Machine::new();
    let agent = machine.serve_with(&[("BAYOP_PATIENCE_MS", "1000")]).unwrap();
    let begin = |text: &str| {
        let mut stream = UnixStream::connect(machine.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let start = Instant::now();
    let slow_heads: Vec<_> = (0..8).map(|_| begin("GET /v1/status HTTP/1.1\r\nhost: ")).collect();
    let slow_body = begin("POST /v1/lease HTTP/1.1\r\nhost: agent\r\ncontent-length: 100\r\n\r\n{");
    let cut_body = begin("POST /v1/lease HTTP/1.1\r\nhost: agent\r\ncontent-length: 100\r\n\r\n{");
    cut_body.shutdown(std::net::Shutdown::Write).unwrap();
    let huge =
        begin("POST /v1/lease HTTP/1.1\r\nhost: agent\r\ncontent-length: 1000000000\r\nconnection: close\r\n\r\n{");
    let huge_head = begin(&format!("GET /v1/status HTTP/1.1\r\nhost: agent\r\nx: {}\r\n\r\n", "x".repeat(100_000)));

    assert_eq!(agent.get("/v1/status")["lease"], Value::Null);
    assert!(start.elapsed() < Duration::from_millis(900), "others are served at once");
    assert_eq!(answer(huge).unwrap().0, 413);
    assert!(answer(huge_head).is_none_or(|(status, _)| status == 431));
    assert!(answer(cut_body).is_none_or(|(status, _)| status == 400));
    let (status, refused) = answer(slow_body).unwrap();
    assert_eq!((status, refused["error"]["wrong"].as_str()), (400, Some("the body did not arrive in 10 s")));
    for stream in slow_heads {
        assert!(answer(stream).is_none_or(|(status, _)| status == 408));
    }
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
}

#[test]
fn clients_that_say_nothing_make_room_for_one_that_does() {
    let machine = Machine::new();
    let agent = machine.serve();
    let idle: Vec<_> = (0..40).map(|_| UnixStream::connect(machine.socket()).unwrap()).collect();
    let start = Instant::now();
    assert_eq!(agent.get("/v1/status")["held"], json!([]));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(idle);
}

#[test]
fn a_flood_of_connections_takes_few_descriptors_and_no_lease() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", agent.id())).unwrap().count();
    let before = descriptors();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut kept = VecDeque::new();
            while !is_over.load(Ordering::Relaxed) {
                kept.push_back(UnixStream::connect(machine.socket()).unwrap());
                if kept.len() > 300 {
                    kept.pop_front();
                }
            }
        });
        let start = Instant::now();
        let mut most = 0;
        while start.elapsed() < Duration::from_secs(1) {
            most = most.max(descriptors());
        }
        let renewed = agent.try_request("POST", "/v1/lease/renew", &json!({"lease": lease}));
        is_over.store(true, Ordering::Relaxed);
        assert!(most <= before + 40, "{most}");
        assert_eq!(renewed.map(|(status, _)| status), Some(200));
    });
}

#[test]
fn metrics_are_openmetrics() {
    let machine = Machine::new();
    let agent = machine.serve();
    let lease = agent.lease();
    agent.post("/v1/apply", json!({"lease": lease, "setting": {"power.cap_w": 70}}));
    let cpu = machine.root().join("sys/devices/system/cpu/cpu0");
    for (file, text) in
        [("cpuidle/state0/name", "C6"), ("cpuidle/state0/latency", "133"), ("power/pm_qos_resume_latency_us", "50")]
    {
        fs::create_dir_all(cpu.join(file).parent().unwrap()).unwrap();
        fs::write(cpu.join(file), text).unwrap();
    }
    agent.get("/v1/knobs");
    let text = agent.get("/metrics").as_str().unwrap().to_owned();
    let samples = samples(&text);
    assert_eq!(samples["bayop_power_limit_watts{zone=\"intel-rapl:1\",constraint=\"0\"}"], 70.0);
    assert_eq!(samples["bayop_knob_writes_total{knob=\"power.cap_w\",result=\"ok\"}"], 3.0);
    assert_eq!(samples["bayop_cpu_latency_limit_seconds{cpu=\"cpu0\"}"], 50e-6);
    assert_eq!(samples["bayop_mode{mode=\"apply\"}"], 1.0);
    assert_eq!(samples["bayop_power_meter_info{meter=\"powercap\"}"], 1.0);
    assert!(samples["process_cpu_seconds_total"] > 0.0);
    assert!(samples.keys().any(|name| name.starts_with("bayop_energy_joules_total{zone=\"machine\"")), "{text}");
}

/// Samples by name and labels, after checking what the OpenMetrics 1.0 text format asks: every sample belongs to the
/// family declared above it and has its type's suffix, no family and no sample comes twice, the end is marked.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let (mut types, mut samples) = (BTreeMap::new(), BTreeMap::new());
    let mut family = String::new();
    let body = text.strip_suffix("# EOF\n").expect("the end is marked");
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} comes twice");
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            family = name.to_owned();
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let suffix = if types[&family] == "counter" { "_total" } else { "" };
            let labels =
                name.strip_prefix(&format!("{family}{suffix}")).unwrap_or_else(|| panic!("{line} in {family}"));
            assert!(labels.is_empty() || (labels.starts_with('{') && labels.ends_with("\"}")), "{line}");
            let value: f64 = value.parse().unwrap();
            assert!(value.is_finite() && (suffix.is_empty() || value >= 0.0), "{line}");
            assert!(samples.insert(name.to_owned(), value).is_none(), "{name} comes twice");
        }
    }
    samples
}
