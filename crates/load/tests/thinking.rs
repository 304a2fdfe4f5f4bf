//! Clients that think: when their requests are due.

mod common;

use bayop_load::arrivals::Arrivals;
use common::plan;
use serde_json::json;

const THINK_NS: u64 = 10_000_000;

/// Arrivals of `clients` clients that think for 10 ms.
fn arrivals(clients: usize, gaps: &str) -> Arrivals {
    let schedule = json!({"kind": "thinking", "think_time_s": 0.01, "gaps": gaps});
    Arrivals::new(&plan(json!({"depth": clients, "schedule": schedule})), 0)
}

#[test]
fn nothing_is_due_while_every_client_waits_for_its_answer() {
    let mut clients = arrivals(3, "fixed");
    assert_eq!(clients.by_ref().take(9).count(), 3);
    assert_eq!(clients.peek(), None);
    clients.resolved(1, 500);
    assert_eq!(clients.peek(), Some(500 + THINK_NS));
    assert_eq!((clients.next(), clients.next()), (Some(500 + THINK_NS), None));
}

#[test]
fn an_answer_may_bring_a_request_before_those_that_were_next() {
    let mut clients = arrivals(2, "fixed");
    let first = clients.next().unwrap();
    let second = clients.peek().unwrap();
    assert!(first <= second && second < THINK_NS);
    clients.resolved(1, 0);
    assert_eq!((clients.next(), clients.next()), (Some(second), Some(THINK_NS)));
}

#[test]
fn thoughts_have_the_mean_that_was_asked_for() {
    const THOUGHTS: u64 = 20_000;
    for gaps in ["fixed", "exponential", "uniform:1"] {
        let mut client = arrivals(1, gaps);
        let mut now_ns = client.next().unwrap();
        let start_ns = now_ns;
        for _ in 0..THOUGHTS {
            client.resolved(1, now_ns);
            now_ns = client.next().unwrap();
        }
        let mean_ns = (now_ns - start_ns) as f64 / THOUGHTS as f64;
        assert!((mean_ns / THINK_NS as f64 - 1.0).abs() < 0.03, "{gaps}: {mean_ns} ns");
    }
}
