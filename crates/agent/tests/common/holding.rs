//! What the tests of holds ask, push and wait for.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Agent, CAPS, Machine};

/// What a hold asks for: caps of 70 W, and 90 W when the conditions break.
pub fn asked(lease: &Value, conditions: Value) -> Value {
    json!({"lease": lease, "setting": {"power.cap_w": 70}, "fall_back": {"power.cap_w": 90}, "conditions": conditions})
}

pub fn p99() -> Value {
    json!({"latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 60}})
}

pub fn client(p99_us: f64) -> Value {
    json!({"vantage": "client", "p99_us": p99_us})
}

pub fn cap_w(machine: &Machine) -> f64 {
    fs::read_to_string(machine.cap(CAPS[0])).unwrap().trim_end().parse::<f64>().unwrap_or(f64::NAN) / 1e6
}

/// Waits until the hold has fallen back, and returns how.
pub fn fallen(agent: &Agent) -> Value {
    agent.until(|status| !status["hold"]["fell_back"].is_null())["hold"]["fell_back"].clone()
}

/// Waits until so many pushes were heard, each of which is looked at before it is counted.
pub fn heard(agent: &Agent, count: f64) {
    let start = Instant::now();
    while agent.metric("bayop_latency_pushes_total{result=\"ok\"}") != Some(count) {
        assert!(start.elapsed() < Duration::from_secs(10), "{}", agent.get("/metrics"));
        sleep(Duration::from_millis(10));
    }
}
