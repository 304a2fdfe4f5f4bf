//! Hyperthreads, turbo, and packages that sleep.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Length, Measurement, Profile, Run};
use common::{FILES, linux, run};

/// memcached on a machine of two packages that has `keys`, too, where idle cores go to C7.
fn machine_with(keys: &str) -> Profile {
    let text = FILES[0].1.replace("[machine]\n", &format!("[machine]\n{keys}\n")).replace("\"menu\"", "\"deepest\"");
    Profile::parse(&text, "changed.toml").unwrap()
}

/// A window of a second: packages look at their cores every millisecond of it.
fn measure(profile: &Profile, run: &Run) -> Measurement {
    common::measure(profile, &Run { length: Length::Seconds(1.0), ..*run })
}

#[test]
fn more_active_cores_run_slower() {
    let profile = machine_with("turbo_mhz = [2900, 2700, 2500, 2300, 2100, 2000, 1900, 1800]");
    let at = |qps: f64, freq_mhz: Option<f64>| measure(&profile, &run(qps, None, freq_mhz)).freq_mhz;
    assert!((at(600_000.0, Some(2900.0)) - 1800.0).abs() < 1.0, "all cores are active");
    assert!(at(50.0, Some(2900.0)) > 2400.0, "one or two at a time are");
    let frequencies = [50.0, 2_000.0, 10_000.0, 600_000.0].map(|qps| at(qps, Some(2900.0)));
    assert!(frequencies.is_sorted_by(|a, b| a >= b), "{frequencies:?}");
    assert!((at(600_000.0, Some(1500.0)) - 1500.0).abs() < 1e-6, "turbo slows nobody who asks for less");
}

#[test]
fn without_limits_every_core_has_the_greatest_frequency() {
    let limited = machine_with("turbo_mhz = [2900]");
    let run = run(300_000.0, 20.0, 2900.0);
    let [with, without] = [limited, machine_with("")].map(|profile| measure(&profile, &run));
    assert!((with.power_w / without.power_w - 1.0).abs() < 1e-4);
    let [p99, without_p99] = [with, without].map(|m| m.quantile_us(0.99).unwrap());
    assert!((p99 / without_p99 - 1.0).abs() < 0.01, "{p99} us, {without_p99} us");
}

#[test]
fn threads_share_the_power_of_a_core() {
    let (one, two) = (machine_with(""), machine_with("threads_per_core = 2"));
    assert_eq!((one.serving_cores(), two.serving_cores()), (16, 32));
    let saturated = run(4_000_000.0, 50.0, 2900.0);
    let [one, two] = [one, two].map(|profile| measure(&profile, &saturated));
    assert!(two.qps > 1.7 * one.qps && one.utilization > 0.95);
    assert!((two.power_w / one.power_w - 1.0).abs() < 0.05, "{} W, {} W", two.power_w, one.power_w);
}

#[test]
fn busy_siblings_slow_each_other() {
    let times = |factor: f64, qps: f64| {
        let profile = machine_with(&format!("threads_per_core = 2\nbusy_sibling_factor = {factor}"));
        let m = measure(&profile, &run(qps, 50.0, 2900.0));
        (m.utilization, m.quantile_us(0.99).unwrap())
    };
    let (alone, slowed) = (times(1.0, 900_000.0), times(1.5, 900_000.0));
    // Busy a share u, threads take 1 + u / 2 times as long: u = u_alone (1 + u / 2), but for what batches save.
    let expected = alone.0 / (1.0 - 0.5 * alone.0);
    assert!((slowed.0 / expected - 1.0).abs() < 0.08, "{} instead of {expected}", slowed.0);
    assert!(slowed.1 > alone.1);
    let (alone, slowed) = (times(1.0, 5_000.0), times(1.5, 5_000.0));
    assert!((slowed.0 / alone.0 - 1.0).abs() < 0.02, "hardly ever busy together: {slowed:?}, {alone:?}");
}

#[test]
fn an_operating_system_may_leave_hyperthreads_alone() {
    let text = FILES[0].1.replace("[os]\n", "[os]\nhyperthreads = false\n");
    let text = text.replace("[machine]\n", "[machine]\nthreads_per_core = 2\nbusy_sibling_factor = 1.5\n");
    let profile = Profile::parse(&text, "changed.toml").unwrap();
    let run = run(300_000.0, 20.0, 2000.0);
    assert_eq!(measure(&profile, &run).power_w, measure(&linux(), &run).power_w);
}

#[test]
fn packages_sleep_while_all_of_their_cores_do() {
    let awake = machine_with("");
    let text = awake.to_toml().replace("[machine.power]\n", "[machine.power]\nasleep_w = 5\n");
    let asleep = Profile::parse(&text, "changed.toml").unwrap();
    let static_w = awake.values().into_iter().find(|(key, _)| key == "machine.power.static_w").unwrap().1;
    let saved_w = |qps: f64| {
        let [awake_w, asleep_w] = [&awake, &asleep].map(|p| measure(p, &run(qps, 20.0, 1200.0)).power_w);
        awake_w - asleep_w
    };
    assert!((saved_w(1.0) / (static_w - 5.0) - 1.0).abs() < 0.05, "{} W", saved_w(1.0));
    assert!(saved_w(600_000.0).abs() < 0.01, "{} W", saved_w(600_000.0));
}
