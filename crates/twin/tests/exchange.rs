//! The closed loop and polling: what must hold whatever the numbers of a profile are.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Knob, Length, Load, Measurement, Override, Profile, Run, Setting, simulate};
use common::{linux, run};
use proptest::prelude::*;

const EXCHANGE: &str = r#"
[exchange]
segment_bytes = 1448
overhead_bytes = 90
wire_mbit_s = 10000
bus_mbit_s = 20000
wire_us = 2.0
copy_kcycles_per_kib = 0.4
burst_bytes = 57920
autocorking = false
acknowledgement = "reads"
merged_from_bytes = 1e6
merged_bytes = 32768
kinstructions_per_kib = 0.3
packet_kinstructions = 1.0
"#;

fn netpipe() -> Profile {
    let text = linux().to_toml().replace("spare_cores = 0", "spare_cores = 15");
    Profile::parse(&format!("{text}{EXCHANGE}"), "netpipe.toml").unwrap()
}

fn polling(profile: &Profile) -> Profile {
    profile.with_values(&[("os.dispatch".into(), Override::Text("polling".into()))]).unwrap()
}

fn ping_pong(message_bytes: f64, rx_usecs: impl Into<Option<f64>>, seed: u64) -> Run {
    let setting = Setting::default().with(Knob::RxUsecs, rx_usecs).with(Knob::FreqMhz, 2900.0);
    Run { setting, load: Load::MessageBytes(message_bytes), length: Length::Requests(500), warmup_s: None, seed }
}

fn roundtrip_us(m: &Measurement) -> f64 {
    1e6 * m.duration_s / m.completed as f64
}

#[test]
fn the_same_seed_gives_the_same_round_trips() {
    let measure = |seed| simulate(&netpipe(), &ping_pong(65_536.0, 10.0, seed)).unwrap();
    assert_eq!(measure(3), measure(3));
    assert_ne!(measure(3), measure(4));
}

#[test]
fn a_closed_loop_needs_one_core_and_a_message() {
    let two = netpipe().with_values(&[("app.spare_cores".into(), Override::Number(14.0))]);
    assert_eq!(two.unwrap_err().rule.as_deref(), Some("a closed loop must have one that serves"));
    assert!(simulate(&netpipe(), &run(1e5, 10.0, 2900.0)).unwrap_err().to_string().contains("not a request rate"));
    assert!(simulate(&linux(), &ping_pong(64.0, 10.0, 1)).unwrap_err().to_string().contains("not a message size"));
}

#[test]
fn a_polling_core_has_no_delay_to_set() {
    let error = simulate(&polling(&linux()), &run(1e5, 10.0, 2900.0)).unwrap_err();
    assert!(error.to_string().contains("no interrupts"), "{error}");
    let m = simulate(&polling(&linux()), &run(1e5, None, 2900.0)).unwrap();
    assert_eq!((m.interrupts_per_s, m.rx_usecs), (0.0, 0.0));
}

#[test]
fn a_core_that_polls_is_as_busy_without_load_as_with_it() {
    let power_w = |qps| simulate(&polling(&linux()), &run(qps, None, 2000.0)).unwrap().power_w;
    assert!((power_w(1e3) / power_w(4e5) - 1.0).abs() < 1e-3);
}

fn with(key: &str, value: Override) -> Profile {
    netpipe().with_values(&[(key.into(), value)]).unwrap()
}

fn per_round_trip(m: &Measurement, per_s: f64) -> f64 {
    per_s * m.duration_s / m.completed as f64
}

#[test]
fn the_client_keeps_its_frequency() {
    let slow = with("app.request_kcycles", Override::Number(1000.0));
    let at = |freq_mhz| {
        let setting = Setting::default().with(Knob::RxUsecs, 2.0).with(Knob::FreqMhz, freq_mhz);
        roundtrip_us(&simulate(&slow, &Run { setting, ..ping_pong(64.0, 2.0, 1) }).unwrap())
    };
    let one_side_us = 1000.0 * (1.0 / 1.2 - 1.0 / 2.9);
    let sides = (at(1200.0) - at(2900.0)) / one_side_us;
    assert!((sides - 1.0).abs() < 0.2, "{sides}");
}

#[test]
fn more_than_a_segment_is_acknowledged_by_itself() {
    let packets = |bytes| {
        let m = simulate(&netpipe(), &ping_pong(bytes, 2.0, 1)).unwrap();
        per_round_trip(&m, m.packets_per_s)
    };
    assert!((packets(1000.0) - 1.0).abs() < 0.01, "{}", packets(1000.0));
    assert!((packets(2800.0) - 3.0).abs() < 0.01, "{}", packets(2800.0)); // two frames and an acknowledgement
}

#[test]
fn a_handler_acknowledges_what_it_does_not_answer() {
    let eager = with("exchange.acknowledgement", Override::Text("packets".into()));
    let m = simulate(&eager, &ping_pong(64.0, 2.0, 1)).unwrap();
    // The client's thread answers, so its handler acknowledges, too.
    assert!((per_round_trip(&m, m.packets_per_s) - 2.0).abs() < 0.01);
}

#[test]
fn merged_frames_are_fewer_packets() {
    let merging = with("exchange.merged_from_bytes", Override::Number(10_000.0));
    let packets = |profile: &Profile, bytes| {
        let m = simulate(profile, &ping_pong(bytes, 40.0, 1)).unwrap();
        per_round_trip(&m, m.packets_per_s)
    };
    assert!(packets(&netpipe(), 65_536.0) > 46.0);
    assert!(packets(&merging, 65_536.0) < 12.0);
    assert_eq!(packets(&merging, 8192.0), packets(&netpipe(), 8192.0));
}

#[test]
fn autocorking_holds_the_rest_until_the_burst_before_it_has_completed() {
    let free = with("exchange.bus_mbit_s", Override::Number(1000.0)); // slower than the wire
    let text = free.to_toml().replace("autocorking = false", "autocorking = true");
    let corking = Profile::parse(&text, "netpipe.toml").unwrap();
    let roundtrip = |profile: &Profile, bytes| roundtrip_us(&simulate(profile, &ping_pong(bytes, 2.0, 1)).unwrap());
    assert_eq!(roundtrip(&corking, 57_920.0), roundtrip(&free, 57_920.0));
    assert!(roundtrip(&corking, 60_000.0) > roundtrip(&free, 60_000.0) + 500.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_wire_bounds_every_round_trip(bytes in 1.0f64..1e6, rx_usecs in 2.0f64..200.0, polls: bool, seed: u64) {
        let profile = if polls { polling(&netpipe()) } else { netpipe() };
        let m = simulate(&profile, &ping_pong(bytes, (!polls).then_some(rx_usecs), seed)).unwrap();
        prop_assert!(m.completed > 0);
        prop_assert!(roundtrip_us(&m) * 1.02 > 2.0 * 8.0 * bytes / 1e4);
        prop_assert!((0.0..=1.001).contains(&m.utilization), "{}", m.utilization);
        let parts = m.energy.static_j + m.energy.busy_j + m.energy.halted_j + m.energy.settled_j;
        prop_assert!((parts / (m.power_w * m.duration_s) - 1.0).abs() < 1e-9);
        let residency: f64 = m.idle_states.iter().map(|state| state.residency).sum();
        prop_assert!((m.utilization + residency - 1.0).abs() < 0.02, "{} + {residency}", m.utilization);
    }

    #[test]
    fn interrupts_keep_their_distance(bytes in 1.0f64..1e6, rx_usecs in 2.0f64..200.0) {
        let m = simulate(&netpipe(), &ping_pong(bytes, rx_usecs, 1)).unwrap();
        prop_assert!(m.interrupts_per_s <= 1.02e6 / (1.024 * m.rx_usecs));
    }
}
