//! What a client sends to the library OS's agent, `LEASE` in it being the secret of its lease, is answered alike however
//! it comes in parts, in HTTP; no knob is set to what it does not take, and after a restore all are as they were.

#![no_main]

mod support;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use libos_agent::knob::{About, Domain, Knob, Value};
use libos_agent::{Agent, Machine};
use libos_net::service::Service as _;
use libos_runtime::interrupt_log::InterruptLog;
use spin::Mutex;
use support::converse;

/// What a request may be answered with.
const STATUS: [&str; 7] = ["200", "201", "400", "404", "409", "413", "502"];
const DAY_US: u64 = 86_400_000_000;
const RESTORE: &[u8] = b"POST /v1/restore HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let bytes = replaced(bytes, b"LEASE", b"00000000000000ab00000000000000ab");
    let cut = bytes.len() * usize::from(cut) / 256;
    let whole = answer([&bytes[..]]);
    assert_eq!(answer([&bytes[..cut], &bytes[cut..]]), whole, "it depends on where the bytes are cut: after {cut}");
    assert_eq!(answer(bytes.chunks(1)), whole, "it depends on whether bytes come together");
    look_at(&whole.0);
});

type Values = Arc<Mutex<[Value; 2]>>;

fn found() -> [Value; 2] {
    [Value::Number(7.0), Value::from("interrupt")]
}

struct Fake {
    number: usize,
    values: Values,
}

impl Knob for Fake {
    fn about(&self) -> About {
        let (id, domain) = match self.number {
            0 => ("nic.rx_usecs", Domain::Whole(0, 1000)),
            _ => ("idle.wait", Domain::Words(&["interrupt", "poll"])),
        };
        About { id, at: "here", summary: "", unit: None, safest: None, domain }
    }

    fn value(&self) -> Value {
        self.values.lock()[self.number].clone()
    }

    fn set(&mut self, value: &Value) {
        assert!(self.about().check(value).is_ok(), "{value} is no value of {}", self.about().id);
        self.values.lock()[self.number] = value.clone();
    }
}

/// What a connection answers to some parts, and whether it is closed then.
fn answer<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let values: Values = Arc::new(Mutex::new(found()));
    let mut agent = Agent::new(Machine {
        address: [10, 0, 0, 1],
        knobs: vec![
            Box::new(Fake { number: 0, values: values.clone() }),
            Box::new(Fake { number: 1, values: values.clone() }),
        ],
        readings: Box::new(|_| Vec::new()),
        cores: 1,
        log: Arc::new(Mutex::new(InterruptLog::new(1))),
        random: || 0xAB,
    });
    let answered = converse(&mut agent, &mut (), parts);
    agent.expire(DAY_US);
    let (restored, _) = converse(&mut agent, &mut (), [RESTORE]);
    assert!(restored.starts_with(b"HTTP/1.1 200 "));
    assert_eq!(*values.lock(), found());
    answered
}

/// Each answer has a status of the API and as long a body as it says, but those without one, to a HEAD.
fn look_at(mut answers: &[u8]) {
    while !answers.is_empty() {
        let end = answers.windows(4).position(|end| end == b"\r\n\r\n").expect("the end of a head");
        let head = str::from_utf8(&answers[..end]).expect("a head");
        answers = &answers[end + 4..];
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        assert!(status.is_some_and(|status| STATUS.contains(&status)), "{head}");
        let len = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        if !answers.is_empty() && !answers.starts_with(b"HTTP/1.1 ") {
            let (body, rest) = answers.split_at(len.parse().expect("a number"));
            assert!(body.starts_with(b"{"), "{head}");
            answers = rest;
        }
    }
}

fn replaced(bytes: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    match bytes.windows(word.len()).position(|window| window == word) {
        Some(at) => [&bytes[..at], by, &replaced(&bytes[at + word.len()..], word, by)].concat(),
        None => bytes.to_vec(),
    }
}
