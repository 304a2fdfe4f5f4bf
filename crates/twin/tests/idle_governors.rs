//! Every idle governor that a profile can name.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Knob, Length, Measurement, Override, Profile, Run};
use common::{linux, measure, run};

const GOVERNED: [&str; 12] = [
    "menu",
    "menu-4.4",
    "menu-6.1",
    "teo",
    "ladder",
    "haltpoll",
    "yawn",
    "yawn-mended",
    "bayop",
    "bayop-menu",
    "bayop-teo",
    "bayop-slo",
];
const BOUNDS: [&str; 3] = ["deepest", "shallowest", "oracle"];

fn under(governor: &str) -> Profile {
    linux().with_values(&[("os.idle_governor".into(), Override::Text(governor.into()))]).unwrap()
}

fn all() -> impl Iterator<Item = &'static str> {
    GOVERNED.into_iter().chain(BOUNDS)
}

fn residencies(m: &Measurement) -> Vec<f64> {
    m.idle_states.iter().map(|state| state.residency).collect()
}

fn assert_whole(m: &Measurement, governor: &str) {
    let idle: f64 = residencies(m).iter().sum();
    assert!((idle + m.utilization - 1.0).abs() < 1e-9, "{governor}: {idle} + {}", m.utilization);
    for state in &m.idle_states {
        let mean = state.core_residency.iter().sum::<f64>() / state.core_residency.len() as f64;
        assert!((mean - state.residency).abs() < 1e-9, "{governor}: {state:?}");
    }
    for core in 0..m.idle_states[0].core_residency.len() {
        let idle: f64 = m.idle_states.iter().map(|state| state.core_residency[core]).sum();
        assert!(idle > -1e-9 && idle < 1.0 + 1e-9, "{governor}: core {core} is idle for {idle}");
    }
    let energy_j = m.power_w * m.duration_s;
    assert!((m.energy.total_j() / energy_j - 1.0).abs() < 1e-9, "{governor}: {:?} is not {energy_j}", m.energy);
}

#[test]
fn time_and_energy_add_up_and_everything_is_served_under_each() {
    for governor in all() {
        for qps in [2_000.0, 50_000.0, 400_000.0] {
            let run = Run { length: Length::Requests(20_000), ..run(qps, 10.0, 2900.0) };
            let m = measure(&under(governor), &run);
            assert_whole(&m, governor);
            assert!((m.qps / qps - 1.0).abs() < 0.05, "{governor}: {} of {qps}", m.qps);
            assert!(m.idle_states.iter().map(|state| state.entries_per_s).sum::<f64>() > 0.0, "{governor}");
        }
    }
}

#[test]
fn a_window_is_whole_wherever_it_ends_under_each() {
    for governor in GOVERNED {
        for duration_us in [100.0, 4_100.0, 20_200.0, 133_333.0] {
            let length = Length::Seconds(1e-6 * duration_us);
            assert_whole(&measure(&under(governor), &Run { length, ..run(20_000.0, None, None) }), governor);
        }
    }
}

#[test]
fn none_enters_what_a_limit_forbids() {
    for governor in GOVERNED {
        for (limit_us, states) in [(0.0, 1), (2.0, 2), (10.0, 3), (80.0, 4)] {
            let mut run = Run { length: Length::Requests(5_000), ..run(20_000.0, 10.0, 2900.0) };
            run.setting = run.setting.with(Knob::MaxLatencyUs, limit_us);
            let m = measure(&under(governor), &run);
            assert!(residencies(&m)[states..].iter().all(|&share| share == 0.0), "{governor} at {limit_us}: {m:?}");
            assert_whole(&m, governor);
        }
    }
}

#[test]
fn the_bounds_enclose_the_latency_of_those_that_do_not_poll() {
    let mean_us = |governor: &str| {
        let run = Run { length: Length::Requests(20_000), ..run(5_000.0, 10.0, 2900.0) };
        measure(&under(governor), &run).mean_us.unwrap()
    };
    let (shallowest_us, deepest_us) = (mean_us("shallowest"), mean_us("deepest"));
    for governor in GOVERNED.into_iter().filter(|&name| name != "haltpoll") {
        let us = mean_us(governor);
        // C3 takes longer to leave than C7 on this machine, twice on a request's way.
        assert!((shallowest_us..1.15 * deepest_us).contains(&us), "{governor}: {shallowest_us} {us} {deepest_us}");
    }
}

#[test]
fn bayop_saves_power_where_menu_sleeps_too_deeply_at_no_higher_p99() {
    let at_50k = |governor: &str| {
        measure(&under(governor), &Run { length: Length::Requests(50_000), ..run(50_000.0, 2.0, 2900.0) })
    };
    let (menu, bayop) = (at_50k("menu"), at_50k("bayop"));
    assert!(bayop.power_w < 0.92 * menu.power_w, "{} W, {} W", bayop.power_w, menu.power_w);
    assert!(bayop.quantile_us(0.99) <= menu.quantile_us(0.99));
}

#[test]
fn a_run_is_the_same_every_time() {
    for governor in GOVERNED {
        let run = Run { length: Length::Requests(3_000), ..run(30_000.0, None, None) };
        for server in [under(governor), balanced(governor)] {
            assert_eq!(measure(&server, &run), measure(&server, &run), "{governor}");
        }
    }
}

fn balanced(governor: &str) -> Profile {
    under(governor).with_values(&[("os.wake_balancer".into(), Override::Text("yawn".into()))]).unwrap()
}

/// How much longer the last core is idle than the first.
fn gathered(m: &Measurement) -> f64 {
    m.idle_states.iter().map(|state| state.core_residency.last().unwrap() - state.core_residency[0]).sum()
}

#[test]
fn a_balancer_gathers_work_so_that_the_others_sleep_for_longer() {
    for governor in ["menu", "teo", "yawn", "bayop"] {
        for qps in [5_000.0, 50_000.0, 200_000.0] {
            let run = Run { length: Length::Requests(30_000), ..run(qps, 2.0, 2900.0) };
            let [apart, together] = [under(governor), balanced(governor)].map(|server| measure(&server, &run));
            assert_whole(&together, governor);
            assert!((together.qps / qps - 1.0).abs() < 0.05, "{governor}: {} of {qps}", together.qps);
            let [of_apart, of_together] = [&apart, &together].map(gathered);
            assert!(of_together > 1.5 * of_apart.abs(), "{governor}, {qps}: {of_apart} {of_together}");
            assert!(together.power_w < apart.power_w, "{governor}, {qps}: {} {}", together.power_w, apart.power_w);
            assert!(together.utilization < apart.utilization, "{governor}, {qps}: fewer ways in and out of idle");
        }
    }
}

#[test]
fn a_balancer_leaves_a_busy_server_its_throughput() {
    let run = Run { length: Length::Requests(50_000), ..run(600_000.0, 10.0, 2900.0) };
    let m = measure(&balanced("menu"), &run);
    assert!(m.dropped == 0 && (m.qps / 6e5 - 1.0).abs() < 0.05, "{} requests/s, {} dropped", m.qps, m.dropped);
}

#[test]
fn a_balancer_is_refused_where_no_threads_are_awakened_one_by_one() {
    let text = |key: &str, word: &str| (format!("os.{key}"), Override::Text(word.into()));
    for (key, word) in [("dispatch", "run-to-completion"), ("dispatch", "polling"), ("frequency_governor", "rubik")] {
        let error = linux().with_values(&[text(key, word), text("wake_balancer", "yawn")]).unwrap_err();
        assert!(error.rule.as_deref().unwrap().starts_with("a wake balancer must have "), "{error}");
    }
}

#[test]
fn the_menu_of_profiles_is_close_to_those_of_kernels_before_and_after() {
    for qps in [5_000.0, 50_000.0, 200_000.0] {
        let [own, before, after] = ["menu", "menu-4.4", "menu-6.1"].map(|governor| {
            measure(&under(governor), &Run { length: Length::Requests(20_000), ..run(qps, 2.0, 2900.0) })
        });
        for other in [before, after] {
            assert!((other.power_w / own.power_w - 1.0).abs() < 0.03, "{} W, {} W", other.power_w, own.power_w);
            let [mean_us, own_us] = [&other, &own].map(|m| m.mean_us.unwrap());
            assert!((mean_us / own_us - 1.0).abs() < 0.06, "{mean_us} us, {own_us} us");
        }
    }
}
