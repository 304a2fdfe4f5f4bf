//! The API from request to answer, on a machine of two knobs.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;

use libos_net::tcp::{INPUT_LIMIT, Queue};
use serde_json::{Value as Json, json};

use super::*;
use crate::knob::{About, Domain, Value};

const SECOND_US: u64 = 1_000_000;
const LINK: Address = [10, 0, 0, 15];

struct Fake {
    about: About,
    value: Arc<Mutex<Value>>,
}

impl Knob for Fake {
    fn about(&self) -> About {
        self.about
    }

    fn value(&self) -> Value {
        self.value.lock().clone()
    }

    fn set(&mut self, value: &Value) {
        *self.value.lock() = value.clone();
    }
}

struct Bench {
    agent: Agent,
    now_us: u64,
    delay: Arc<Mutex<Value>>,
    wait: Arc<Mutex<Value>>,
}

impl Bench {
    fn new() -> Bench {
        let (delay, wait) = (Arc::new(Mutex::new(Value::Number(7.0))), Arc::new(Mutex::new(Value::from("interrupt"))));
        let about = |id, domain| About { id, at: "here", summary: "", unit: None, safest: None, domain };
        let knobs: Vec<Box<dyn Knob>> = vec![
            Box::new(Fake { about: about("nic.rx_usecs", Domain::Whole(0, 1000)), value: delay.clone() }),
            Box::new(Fake { about: about("idle.wait", Domain::Words(&["interrupt", "poll"])), value: wait.clone() }),
        ];
        let reading = |now_us| Reading {
            name: "energy_j",
            at: "machine".into(),
            value: now_us as f64,
            unit: "J",
            source: "model".into(),
            is_gauge: false,
            is_estimated: true,
        };
        let readings = Box::new(move |now_us| vec![reading(now_us)]);
        let log = Arc::new(Mutex::new(InterruptLog::new(1)));
        let machine = Machine { address: LINK, knobs, readings, cores: 1, log, random: || 0xAB };
        Bench { agent: Agent::new(machine), now_us: 0, delay, wait }
    }

    fn says(&mut self, input: &[u8]) -> (Served, String) {
        let mut queue = Queue::default();
        let served = self.agent.serve(self.now_us, &mut (), input, &mut Output::new(&mut queue));
        (served, String::from_utf8(queue.bytes().to_vec()).unwrap())
    }

    /// The status and the body of an answer.
    fn asks(&mut self, method: &str, path: &str, body: &Json) -> (u16, Json) {
        let body = if body.is_null() { String::new() } else { format!("{body}") };
        let head =
            format!("{method} {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
        let input = format!("{head}\r\n\r\n{body}");
        let (served, answer) = self.says(input.as_bytes());
        assert_eq!(served, Served { taken: input.len(), close: false });
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
    }

    fn lease(&mut self) -> Json {
        let (status, answer) = self.asks("POST", "/v1/lease", &json!({"holder": "me", "ttl_s": 10}));
        assert_eq!(status, 201);
        answer["lease"].clone()
    }

    fn applies(&mut self, lease: &Json, setting: Json) -> (u16, Json) {
        self.asks("POST", "/v1/apply", &json!({"lease": lease, "setting": setting}))
    }

    fn values(&self) -> (Value, Value) {
        (self.delay.lock().clone(), self.wait.lock().clone())
    }
}

fn found() -> (Value, Value) {
    (Value::Number(7.0), Value::from("interrupt"))
}

#[test]
fn a_head_that_is_too_long_is_refused_however_it_comes() {
    let head = format!("GET /v1/status HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(8 << 10));
    for end in [head.len(), head.len() - 1] {
        let (served, answer) = Bench::new().says(&head.as_bytes()[..end]);
        assert!(served.close && answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
}

#[test]
fn a_setting_is_in_effect_until_its_lease_is_released() {
    let mut bench = Bench::new();
    let lease = bench.lease();
    let (status, applied) = bench.applies(&lease, json!({"nic.rx_usecs": 100, "idle.wait@here": "poll"}));
    assert_eq!((status, &applied["setting"]), (200, &json!({"nic.rx_usecs": 100.0, "idle.wait@here": "poll"})));
    assert_eq!(bench.values(), (Value::Number(100.0), Value::from("poll")));
    let (_, shown) = bench.asks("GET", "/v1/status", &Json::Null);
    assert_eq!(shown["held"][1]["found"], 7.0);
    let (_, released) = bench.asks("POST", "/v1/release", &json!({"lease": lease}));
    assert_eq!(released["restored"], json!(["idle.wait@here", "nic.rx_usecs@here"]));
    assert_eq!(bench.values(), found());
}

#[test]
fn a_silent_holder_loses_what_it_has_applied() {
    let mut bench = Bench::new();
    let lease = bench.lease();
    bench.applies(&lease, json!({"nic.rx_usecs": 100}));
    bench.now_us = 4 * SECOND_US;
    assert_eq!(bench.asks("POST", "/v1/lease/renew", &json!({"lease": lease})).1["expires_in_s"], 10.0);
    assert_eq!(bench.agent.next_us(), 14 * SECOND_US);
    bench.agent.expire(14 * SECOND_US - 1);
    assert_ne!(bench.values(), found());
    bench.agent.expire(14 * SECOND_US);
    assert_eq!((bench.values(), bench.agent.next_us()), (found(), NEVER));
    assert_eq!(bench.applies(&lease, json!({"nic.rx_usecs": 5})).0, 409);
}

#[test]
fn what_is_kept_stays_until_it_is_restored_or_a_later_lease_has_applied() {
    let mut bench = Bench::new();
    let lease = bench.lease();
    bench.applies(&lease, json!({"nic.rx_usecs": 100}));
    bench.asks("POST", "/v1/release", &json!({"lease": lease, "keep": true}));
    let other = bench.lease();
    bench.asks("POST", "/v1/release", &json!({"lease": other}));
    assert_eq!(bench.values().0, Value::Number(100.0));
    assert_eq!(bench.asks("GET", "/v1/status", &Json::Null).1["kept"], true);
    let other = bench.lease();
    bench.applies(&other, json!({"idle.wait": "poll"}));
    bench.asks("POST", "/v1/release", &json!({"lease": other}));
    assert_eq!(bench.values(), found());
    let lease = bench.lease();
    bench.applies(&lease, json!({"nic.rx_usecs": 100}));
    assert_eq!(bench.asks("POST", "/v1/restore", &json!({})).0, 200);
    assert_eq!(bench.values(), found());
    assert_eq!(bench.asks("GET", "/v1/status", &Json::Null).1["lease"], Json::Null);
}

#[test]
fn a_knob_is_handed_back_by_auto() {
    let mut bench = Bench::new();
    let lease = bench.lease();
    bench.applies(&lease, json!({"nic.rx_usecs": 100}));
    bench.applies(&lease, json!({"nic.rx_usecs": 200, "idle.wait": "auto"}));
    let (_, applied) = bench.applies(&lease, json!({"nic.rx_usecs": "auto"}));
    assert_eq!(applied["setting"]["nic.rx_usecs"], 7.0);
    assert_eq!(bench.asks("GET", "/v1/status", &Json::Null).1["held"], json!([]));
}

#[test]
fn a_number_is_between_the_least_and_the_greatest() {
    let domain = Domain::Whole(1, 4);
    let about = About { id: "cores.serving", at: "here", summary: "", unit: None, safest: None, domain };
    let takes = |number| about.check(&Value::Number(number)).is_ok();
    assert_eq!([0.0, 1.0, 2.5, 4.0, 5.0, f64::NAN].map(takes), [false, true, false, true, false, false]);
    assert_eq!(json!(domain)["steps"]["low"], json!(1.0));
}

#[test]
fn a_setting_is_applied_whole_or_not_at_all() {
    let mut bench = Bench::new();
    let lease = bench.lease();
    for (setting, says) in [
        (json!({"idle.wait": "poll", "nic.rx_usecs": 1001}), "nic.rx_usecs must be a whole number, 0 to 1000"),
        (json!({"idle.wait": "poll", "nic.rx_usecs": -1}), "nic.rx_usecs must be a whole number, 0 to 1000"),
        (json!({"idle.wait": "poll", "nic.rx_usecs": 0.5}), "nic.rx_usecs must be a whole number, 0 to 1000"),
        (json!({"idle.wait": "sleep"}), "idle.wait must be one of interrupt, poll"),
        (json!({"idle.wait": "poll", "nic.rx": 1}), "a setting must name knobs of this machine"),
        (json!({"idle.wait": "poll", "idle.wait@here": "poll"}), "a setting must have each knob once"),
    ] {
        let (status, answer) = bench.applies(&lease, setting);
        assert!(status == 400 || status == 404, "{status}");
        assert_eq!(answer["error"]["rule"], says);
        assert_eq!(bench.values(), found());
    }
}

#[test]
fn a_dry_run_needs_no_lease_and_changes_nothing() {
    let mut bench = Bench::new();
    let (status, advice) = bench.asks("POST", "/v1/apply", &json!({"setting": {"nic.rx_usecs": 9}, "dry_run": true}));
    assert_eq!((status, &advice["changes"][0]["before"]), (200, &json!(7.0)));
    assert_eq!((bench.values(), &advice["changes"][0]["effective"]), (found(), &Json::Null));
}

#[test]
fn what_is_not_understood_is_refused_and_says_why() {
    let mut bench = Bench::new();
    let lease = bench.lease();
    for (method, path, body, status, kind) in [
        ("POST", "/v1/lease", json!({"holder": "other", "ttl_s": 10}), 409, "conflict"),
        ("POST", "/v1/lease", json!({"holder": "other"}), 400, "input"),
        ("POST", "/v1/restore", json!({"all": true}), 400, "input"),
        ("POST", "/v1/apply", json!({"setting": {}}), 400, "input"),
        ("POST", "/v1/release", json!({"lease": "guess"}), 409, "conflict"),
        ("POST", "/v1/hold", json!({}), 502, "unsupported"),
        ("GET", "/v2/status", Json::Null, 404, "not_found"),
        ("GET", "/v1/interrupts?since=-1", Json::Null, 400, "input"),
    ] {
        let (answered, error) = bench.asks(method, path, &body);
        assert_eq!((answered, &error["error"]["kind"]), (status, &json!(kind)), "{path}");
    }
    let twice =
        format!("{{\"lease\": {lease}, \"setting\": {{\"idle.wait\": \"poll\", \"idle.wait\": \"interrupt\"}}}}");
    let head = format!("content-type: application/json\r\ncontent-length: {}", twice.len());
    let (_, answer) = bench.says(format!("POST /v1/apply HTTP/1.1\r\n{head}\r\n\r\n{twice}").as_bytes());
    assert!(answer.contains("comes twice"), "{answer}");
}

#[test]
fn a_page_of_a_browser_can_ask_for_nothing() {
    let mut bench = Bench::new();
    let (_, answer) =
        bench.says(b"POST /v1/restore HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n{}");
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("must be application/json"), "{answer}");
}

#[test]
fn only_who_is_on_our_link_is_heard() {
    let agent = Bench::new().agent;
    assert!(agent.accept([10, 0, 0, 2], PORT).is_some());
    assert!(agent.accept([10, 0, 1, 2], PORT).is_none());
    assert!(agent.accept([10, 0, 0, 2], 80).is_none());
}

#[test]
fn requests_come_in_pieces_and_one_after_another() {
    let mut bench = Bench::new();
    let one = b"GET /v1/hold HTTP/1.1\r\n\r\n";
    for len in 0..one.len() {
        assert_eq!(bench.says(&one[..len]), (Served { taken: 0, close: false }, String::new()));
    }
    let last = b"GET /v1/sensors HTTP/1.1\r\nConnection: close\r\n\r\n";
    let (served, answers) = bench.says(&[&one[..], last, one].concat());
    assert_eq!(served, Served { taken: one.len() + last.len(), close: true });
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2);
    assert!(answers.contains("\"kind\":\"counter\""));
}

#[test]
fn whoever_sends_as_much_as_is_kept_is_answered_and_closed() {
    let mut bench = Bench::new();
    for begin in [
        &b"GET /"[..],
        b"POST /v1/lease HTTP/1.1\r\ncontent-length: 99999\r\n\r\n",
        b"POST /v1/lease HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/lease HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"\x16\x03\x01",
    ] {
        let mut input = begin.to_vec();
        input.resize(INPUT_LIMIT, b'a');
        let (served, answer) = bench.says(&input);
        assert!(served.close && answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
}

#[test]
fn a_body_has_one_length() {
    let mut bench = Bench::new();
    let asks = |lengths: &[&str]| {
        let lines: String = lengths.iter().map(|length| format!("Content-Length: {length}\r\n")).collect();
        format!("GET /v1/hold HTTP/1.1\r\n{lines}\r\nhello")
    };
    for lengths in [&["5", "0"][..], &["0", "5"], &["5", "05"], &["+5"], &["5, 5"], &["\u{a0}5"], &[""]] {
        let (served, answer) = bench.says(asks(lengths).as_bytes());
        assert!(served.close && answer.starts_with("HTTP/1.1 400 "), "{lengths:?} {answer}");
        assert!(answer.contains("content-length must be a number of bytes, and the same on each line"), "{answer}");
    }
    for lengths in [&["5 "][..], &["5", "5"]] {
        let input = asks(lengths);
        let (served, answer) = bench.says(input.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 "), "{lengths:?} {answer}");
        assert_eq!(served, Served { taken: input.len(), close: false });
    }
}

#[test]
fn close_may_be_one_of_many_words() {
    let mut bench = Bench::new();
    for (lines, closes) in [
        ("Connection: close, te", true),
        ("Connection: te ,\tClose", true),
        ("Connection: te\r\nconnection: close", true),
        ("Connection: te", false),
        ("Connection: closed", false),
    ] {
        let (served, answer) = bench.says(format!("GET /v1/hold HTTP/1.1\r\n{lines}\r\n\r\n").as_bytes());
        assert_eq!((served.close, answer.contains("\r\nconnection: close\r\n")), (closes, closes), "{lines}");
    }
}

#[test]
fn a_head_is_a_get_whose_answer_has_no_body() {
    let mut bench = Bench::new();
    for (path, status) in [("/v1/hold", 200), ("/v2/status", 404)] {
        let (_, told) = bench.says(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
        let (served, answer) = bench.says(format!("HEAD {path} HTTP/1.1\r\n\r\n").as_bytes());
        assert!(!served.close && answer.starts_with(&format!("HTTP/1.1 {status} ")));
        assert_eq!(told.split_once("\r\n\r\n").unwrap().0, answer.strip_suffix("\r\n\r\n").unwrap());
    }
}

#[test]
fn a_knob_of_steps_takes_no_other_number() {
    let about = About {
        id: "cpu.freq_mhz",
        at: "cpu0",
        summary: "",
        unit: None,
        safest: None,
        domain: Domain::Steps(800, 2400, 100),
    };
    for (number, is_taken) in
        [(800.0, true), (2400.0, true), (850.0, false), (700.0, false), (2500.0, false), (900.5, false)]
    {
        assert_eq!(about.check(&Value::Number(number)).is_ok(), is_taken, "{number}");
    }
    let refused = about.check(&Value::from("fast")).unwrap_err();
    assert!(format!("{refused}").contains("cpu.freq_mhz must be 800 to 2400 in steps of 100"), "{refused}");
    let shown = serde_json::to_value(about.domain).unwrap();
    assert_eq!(shown, json!({"steps": {"low": 800.0, "high": 2400.0, "step": 100.0, "reserved": []}}));
}
