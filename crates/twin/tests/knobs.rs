//! What every knob does: in which direction, and between which limits.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Knob, Length, Measurement, Profile, Run, Setting};
use common::{ebbrt, linux, measure, run, with};

/// A window at `qps`, `rx_usecs` 50 and 2.9 GHz, with other knobs set.
fn window(profile: &Profile, qps: f64, knobs: &[(Knob, f64)]) -> Measurement {
    let plain = run(qps, 50.0, 2900.0);
    let setting = knobs.iter().fold(plain.setting, |setting, &(knob, value)| setting.with(knob, value));
    measure(profile, &Run { setting, length: Length::Requests(60_000), warmup_s: Some(0.1), ..plain })
}

fn p99_us(m: &Measurement) -> f64 {
    m.quantile_us(0.99).unwrap()
}

fn residency(m: &Measurement, name: &str) -> f64 {
    m.idle_states.iter().find(|state| state.name == name).unwrap().residency
}

/// The server with a card that counts packets.
fn counting() -> Profile {
    with(&linux(), &[("machine.nic.rx_frames_max", 100.0)])
}

#[test]
fn every_value_of_every_knob_can_be_run_at_its_ends() {
    for profile in [counting(), ebbrt()] {
        for knob in Knob::ALL {
            let Some(domain) = knob.domain(&profile) else { continue };
            let (least, greatest) = domain.ends();
            for value in [least, greatest] {
                let m = window(&profile, 100_000.0, &[(knob, value)]);
                assert!(m.completed > 0, "{} {value}", knob.id());
            }
            for value in [least - 1.0, greatest + 1.0, f64::NAN] {
                let setting = Setting::default().with(knob, value);
                let run = Run { setting, length: Length::Requests(100), ..run(1e5, None, None) };
                assert!(bayop_twin::simulate(&profile, &run).is_err(), "{} {value}", knob.id());
            }
        }
    }
}

#[test]
fn a_server_without_a_knob_says_which_it_has() {
    let setting = Setting::default().with(Knob::RxFrames, 4.0);
    let error = bayop_twin::simulate(&linux(), &Run { setting, ..run(1e5, None, None) }).unwrap_err();
    assert!(error.to_string().contains("memcached on Linux has no nic.rx_frames"), "{error}");
    assert!(error.hint.unwrap().starts_with("it has nic.rx_usecs, nic.combined_queues"));
    assert_eq!(Knob::DeferHardIrqs.domain(&ebbrt()), None);
}

#[test]
fn a_shallower_limit_answers_sooner_and_draws_more() {
    // Periods of milliseconds: every state has time to pay off.
    let by_limit = [0.0, 2.0, 10.0, 80.0].map(|us| window(&linux(), 500.0, &[(Knob::MaxLatencyUs, us)]));
    assert!(by_limit.is_sorted_by(|a, b| a.mean_us < b.mean_us && a.power_w > b.power_w));
    let deepest = window(&linux(), 500.0, &[]);
    assert_eq!(deepest, window(&linux(), 500.0, &[(Knob::MaxLatencyUs, 109.0)]));
    assert!(deepest.power_w < by_limit[3].power_w);
    for (m, state) in by_limit.iter().zip(["POLL", "C1", "C1E", "C3"]) {
        assert!(residency(m, state) > 0.9 && residency(m, "C7") == 0.0, "{state}");
    }
}

#[test]
fn a_core_that_may_only_poll_draws_what_a_busy_one_does() {
    let power = linux().machine.power;
    let busy_w = power.static_w + 16.0 * (power.busy_core_w + power.busy_core_at_max_freq_w);
    for qps in [500.0, 300_000.0] {
        let power_w = window(&linux(), qps, &[(Knob::MaxLatencyUs, 0.0)]).power_w;
        assert!((power_w / busy_w - 1.0).abs() < 1e-3, "{power_w} W instead of {busy_w}");
    }
}

#[test]
fn one_packet_an_interrupt_ends_the_delay_and_more_packets_wait_for_it() {
    let card = counting();
    let slow = |knobs: &[(Knob, f64)]| window(&card, 100_000.0, &[&[(Knob::RxUsecs, 400.0)], knobs].concat());
    let by_frames = [1.0, 2.0, 4.0, 100.0].map(|frames| slow(&[(Knob::RxFrames, frames)]));
    assert!(by_frames.is_sorted_by(|a, b| a.interrupts_per_s > b.interrupts_per_s && a.mean_us < b.mean_us));
    assert!(by_frames[0].interrupts_per_s > 0.95 * by_frames[0].packets_per_s);
    assert_eq!(by_frames[3], slow(&[]), "so many never wait");
}

#[test]
fn only_cores_with_a_queue_work_and_the_others_sleep_deeply() {
    for profile in [linux(), ebbrt()] {
        let by_queues = [2.0, 4.0, 8.0, 16.0].map(|n| window(&profile, 50_000.0, &[(Knob::CombinedQueues, n)]));
        assert!(by_queues.is_sorted_by(|a, b| a.interrupts_per_s < b.interrupts_per_s), "{}", profile.name);
        assert_eq!(by_queues[3], window(&profile, 50_000.0, &[]));
        for (m, queues) in by_queues.iter().zip([2.0, 4.0, 8.0, 16.0]) {
            assert!(residency(m, "C7") > (1.0 - queues / 16.0) - 1e-9);
            let idle: f64 = m.idle_states.iter().map(|state| state.residency).sum();
            assert!((m.utilization + idle - 1.0).abs() < 1e-9);
        }
        let saturated = window(&profile, 2_000_000.0, &[(Knob::CombinedQueues, 2.0)]);
        assert!((saturated.utilization - 2.0 / 16.0).abs() < 0.001 && saturated.qps < 1_000_000.0);
    }
}

#[test]
fn a_parked_core_may_sleep_no_deeper_than_the_limit() {
    let knobs = [(Knob::CombinedQueues, 4.0), (Knob::MaxLatencyUs, 2.0)];
    assert!(residency(&window(&linux(), 50_000.0, &knobs), "C1") > 0.75);
}

#[test]
fn a_cap_is_kept_and_costs_latency() {
    let by_cap = [35.0, 45.0, 55.0, 65.0].map(|cap_w| (cap_w, window(&linux(), 600_000.0, &[(Knob::CapW, cap_w)])));
    for (cap_w, m) in &by_cap {
        assert!(m.power_w < 2.0 * cap_w, "{} W under a cap of {cap_w} W a package", m.power_w);
        assert!(m.power_w > 1.8 * cap_w, "{} W of {cap_w} W a package", m.power_w);
    }
    assert!(by_cap.is_sorted_by(|(_, a), (_, b)| p99_us(a) > p99_us(b) && a.freq_mhz < b.freq_mhz));
    let uncapped = window(&linux(), 600_000.0, &[]);
    assert_eq!(uncapped.freq_mhz, 2900.0);
    let loose = window(&linux(), 600_000.0, &[(Knob::CapW, 80.0)]);
    // Stretches end at looks, of which a cap adds some, and hand-overs wait for the end of a stretch.
    assert!((p99_us(&loose) / p99_us(&uncapped) - 1.0).abs() < 0.02);
    assert!((loose.power_w / uncapped.power_w - 1.0).abs() < 0.002);
}

#[test]
fn a_cap_holds_ondemand_too() {
    let auto = Run { length: Length::Seconds(0.3), warmup_s: Some(0.2), ..run(600_000.0, None, None) };
    let capped = measure(&linux(), &Run { setting: auto.setting.with(Knob::CapW, 50.0), ..auto });
    assert!(capped.power_w < 100.0 && measure(&linux(), &auto).power_w > 110.0, "{} W", capped.power_w);
}

#[test]
fn measured_caps_are_reproduced() {
    // data/study_memcached.csv, Linux, 600K requests/s, 55 W a package: power, effective frequency.
    let rows = [(50.0, 2900.0, 104.7, 2300.0), (100.0, 2700.0, 107.5, 2440.0), (20.0, 2500.0, 108.1, 2290.0)];
    for (rx_usecs, freq_mhz, power_w, effective_mhz) in rows {
        let knobs = [(Knob::RxUsecs, rx_usecs), (Knob::FreqMhz, freq_mhz), (Knob::CapW, 55.0)];
        let m = window(&linux(), 600_000.0, &knobs);
        assert!((m.power_w / power_w - 1.0).abs() < 0.05, "{} W instead of {power_w}", m.power_w);
        assert!((m.freq_mhz / effective_mhz - 1.0).abs() < 0.06, "{} MHz instead of {effective_mhz}", m.freq_mhz);
    }
}

#[test]
fn deferral_polls_by_a_timer_instead_of_interrupts() {
    let deferred = |qps: f64, polls: f64, timeout_us: f64| {
        window(&linux(), qps, &[(Knob::DeferHardIrqs, polls), (Knob::GroFlushTimeoutUs, timeout_us)])
    };
    let plain = window(&linux(), 600_000.0, &[]);
    for off in [deferred(600_000.0, 0.0, 100.0), deferred(600_000.0, 10.0, 0.0)] {
        assert_eq!(off, plain, "either alone has no effect");
    }
    // Busy: the timer always finds packets, so no interrupt ever comes; the longer it is, the later they are found.
    let by_timeout = [50.0, 100.0, 200.0].map(|us| deferred(600_000.0, 10.0, us));
    assert!(by_timeout.iter().all(|m| m.interrupts_per_s < 0.001 * plain.interrupts_per_s));
    assert!(by_timeout.is_sorted_by(|a, b| p99_us(a) < p99_us(b) && a.power_w > b.power_w));
    // Nearly idle: the polls give up, and only the first packet of a few comes by an interrupt.
    let by_polls = [0.0, 1.0, 10.0, 100.0].map(|polls| deferred(2_000.0, polls, 50.0));
    assert!(by_polls.is_sorted_by(|a, b| a.interrupts_per_s > b.interrupts_per_s));
    assert!(by_polls[1].interrupts_per_s > 0.3 * by_polls[0].interrupts_per_s);
    assert!(by_polls[3].power_w > by_polls[0].power_w, "empty polls wake cores");
}
