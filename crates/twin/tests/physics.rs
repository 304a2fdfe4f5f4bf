//! Laws that every simulated server obeys.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Knob, Length, Measurement, Override, Profile, Run, Setting, simulate, simulate_batch};
use common::{ebbrt, linux, measure, run, with};

fn assert_close(value: f64, expected: f64, relative: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= relative, "{what}: {value} instead of {expected}");
}

fn p99(m: &Measurement) -> f64 {
    m.quantile_us(0.99).unwrap()
}

#[test]
fn energy_parts_sum_to_the_whole() {
    for profile in [linux(), ebbrt()] {
        for run in [run(200_000.0, 50.0, 1500.0), run(600_000.0, None, None)] {
            let m = measure(&profile, &run);
            let parts = m.energy.static_j + m.energy.busy_j + m.energy.halted_j + m.energy.settled_j;
            assert_close(m.energy.total_j(), parts, 1e-12, "energy");
            assert_close(m.power_w, parts / m.duration_s, 1e-12, "power");
            assert!(m.energy.busy_j > 0.0 && m.energy.halted_j > 0.0);
        }
    }
}

#[test]
fn cores_are_busy_or_in_an_idle_state() {
    for profile in [linux(), ebbrt()] {
        for rx_usecs in [2.0, 50.0, 400.0] {
            let m = measure(&profile, &run(200_000.0, rx_usecs, 2000.0));
            let idle: f64 = m.idle_states.iter().map(|s| s.residency).sum();
            assert_close(m.utilization + idle, 1.0, 0.005, "time");
        }
    }
}

#[test]
fn everything_offered_is_answered_below_saturation() {
    for profile in [linux(), ebbrt()] {
        let m = measure(&profile, &run(400_000.0, 50.0, 2900.0));
        assert_close(m.qps, 400_000.0, 0.02, "qps");
        assert_eq!(m.dropped, 0);
    }
}

#[test]
fn overload_drops_and_saturates() {
    let m = measure(&linux(), &run(3_000_000.0, 50.0, 1200.0));
    assert!(m.dropped > 0 && m.qps < 2_000_000.0);
    assert!(m.utilization > 0.97);
}

#[test]
fn utilization_law() {
    // Utilization grows in proportion to load when every request costs the same.
    let low = measure(&ebbrt(), &run(150_000.0, 400.0, 2900.0));
    let high = measure(&ebbrt(), &run(300_000.0, 400.0, 2900.0));
    let plain = with(&ebbrt(), &[("os.idle_loop_kcycles", 0.0), ("os.idle_loop_us", 0.0)]);
    let (plain_low, plain_high) =
        (measure(&plain, &run(150_000.0, 2.0, 2900.0)), measure(&plain, &run(300_000.0, 2.0, 2900.0)));
    assert!(high.utilization > low.utilization);
    let ratio = plain_high.utilization / plain_low.utilization;
    assert!((1.6..2.05).contains(&ratio), "{ratio}");
}

#[test]
fn saturated_vectors_fire_once_per_interval() {
    for profile in [linux(), ebbrt()] {
        let m = measure(&profile, &run(600_000.0, 200.0, 2900.0));
        assert_close(m.interrupts_per_s, 16e6 / (1.024 * 200.0), 0.005, "interrupts/s");
    }
}

#[test]
fn latency_grows_with_rx_usecs_and_power_falls_with_frequency() {
    for profile in [linux(), ebbrt()] {
        let by_delay = [50.0, 100.0, 200.0, 400.0].map(|us| p99(&measure(&profile, &run(200_000.0, us, 2900.0))));
        assert!(by_delay.is_sorted_by(|a, b| a < b), "{by_delay:?}");
        let by_frequency = [1200.0, 1700.0, 2300.0, 2900.0].map(|f| measure(&profile, &run(200_000.0, 50.0, f)));
        assert!(by_frequency.is_sorted_by(|a, b| a.power_w < b.power_w));
        assert!(by_frequency.is_sorted_by(|a, b| a.utilization > b.utilization));
        assert!(by_frequency.is_sorted_by(|a, b| a.mean_us > b.mean_us));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (linux, ebbrt) = (linux(), ebbrt());
    let jobs: Vec<(&Profile, Run)> = (0..6u32)
        .flat_map(|i| {
            let rx_usecs = (i % 3 != 0).then_some(10.0 * f64::from(i));
            let run = Run { seed: i.into(), length: Length::Requests(20_000), ..run(300_000.0, rx_usecs, None) };
            [(&linux, run), (&ebbrt, run)]
        })
        .collect();
    let one = simulate_batch(&jobs, 1, || false).unwrap();
    let five = simulate_batch(&jobs, 5, || false).unwrap();
    assert_eq!(one, five);
    assert_ne!(one[0], one[2]);
}

#[test]
fn a_batch_can_be_stopped() {
    let linux = linux();
    let jobs = vec![(&linux, Run { length: Length::Seconds(1e5), ..run(600_000.0, 50.0, 2900.0) }); 3];
    let mut calls = 0;
    let stopped = simulate_batch(&jobs, 2, || {
        calls += 1;
        calls > 1
    });
    assert!(stopped.is_err());
}

/// A steered server without any overhead: Poisson arrivals, one queue per thread.
fn bare_queue(service_us: f64, exponential_share: f64) -> Profile {
    let zero = |profile: &Profile| {
        let keep = [
            "sampling",
            "tau",
            "period",
            "threshold",
            "step",
            "tick",
            "freq_mhz",
            "max",
            "limit",
            "connections",
            "cost_factor",
        ];
        let keep =
            |key: &str| keep.iter().any(|k| key.contains(k)) || !(key.starts_with("os.") || key.starts_with("app."));
        let mut values: Vec<(String, Override)> = profile
            .values()
            .into_iter()
            .filter(|(key, _)| {
                !keep(key) && !key.ends_with("budget") && !key.ends_with("_bytes") && !key.ends_with("ack_rx_usecs")
            })
            .map(|(key, _)| (key, Override::Number(0.0)))
            .collect();
        for key in ["coalesce_us", "tx_completion_us", "eager_writeback_share", "rx_usecs_min"] {
            values.push((format!("machine.nic.{key}"), Override::Number(0.0)));
        }
        for state in 0..5 {
            values.push((format!("machine.idle_states.{state}.wake_us"), Override::Number(0.0)));
        }
        values.push(("app.ack_timeout_us".into(), Override::Number(1e7)));
        values.push(("app.request_us".into(), Override::Number(service_us)));
        values.push(("app.service_exponential_share".into(), Override::Number(exponential_share)));
        values.push(("app.queue_limit".into(), Override::Number(60_000.0)));
        profile.with_values(&values).unwrap()
    };
    zero(&linux())
}

#[test]
fn without_overheads_threads_are_md1_and_mm1_queues() {
    for (exponential_share, spread) in [(0.0, 0.5), (1.0, 1.0)] {
        for load in [0.3, 0.7] {
            let service_us = 50.0;
            let qps = 16.0 * load * 1e6 / service_us;
            let long = Run { length: Length::Requests(1_000_000), ..run(qps, 0.0, 2900.0) };
            let m = measure(&bare_queue(service_us, exponential_share), &long);
            // Pollaczek and Khinchine: wait = S load (1 + c^2) / (2 (1 - load)).
            let expected_us = service_us * (1.0 + load * spread / (1.0 - load));
            assert_close(m.mean_us.unwrap(), expected_us, 0.03, "mean latency");
            assert_close(m.utilization, load, 0.02, "utilization");
        }
    }
}

#[test]
fn a_shared_queue_is_one_queue_for_all_threads() {
    let (service_us, load) = (50.0, 0.8);
    let separate = bare_queue(service_us, 1.0);
    let mut shared = separate.clone();
    shared.app.shared_queue = true;
    let long = Run { length: Length::Requests(500_000), ..run(16.0 * load * 1e6 / service_us, 0.0, 2900.0) };
    let wait_us = |profile: &Profile| measure(profile, &long).mean_us.unwrap() - service_us;
    // Erlang's C formula: with 16 servers at 0.8 a request waits 0.097 service times on average.
    let ideal_us = 0.097 * service_us;
    assert_close(wait_us(&separate), service_us * load / (1.0 - load), 0.05, "wait in queues of their own");
    // A thread that ends a service goes on at once, but hears of new requests in steps of a quarter microsecond.
    assert_close(wait_us(&shared), ideal_us, 0.1, "wait in one queue");
}

#[test]
fn servers_of_all_sizes_work() {
    for cores in [4.0, 7.0, 64.0, 128.0] {
        for profile in [linux(), ebbrt()] {
            let profile = with(&profile, &[("machine.cores", cores), ("app.connections", 80.0 * cores)]);
            let m = measure(&profile, &run(20_000.0 * cores, 50.0, 2000.0));
            assert_close(m.qps, 20_000.0 * cores, 0.03, "qps");
        }
    }
}

#[test]
fn services_of_milliseconds_and_few_frequencies_work() {
    for profile in [linux(), ebbrt()] {
        let mut profile = with(&profile, &[("app.request_kcycles", 9000.0), ("app.queue_imbalance_share", 0.0)]);
        profile.machine.freq_mhz = vec![1000.0, 2000.0, 3000.0];
        let slow = Run { length: Length::Requests(5_000), ..run(1_000.0, 100.0, 2500.0) };
        let m = measure(&profile, &slow);
        assert_eq!(m.freq_mhz, 3000.0);
        assert!(m.quantile_us(0.5).unwrap() > 3000.0);
        measure(&profile, &Run { setting: Default::default(), ..slow });
    }
}

#[test]
fn deeper_sleep_saves_power_and_costs_latency() {
    let governor = |name: &str| {
        let profile = linux().with_values(&[("os.idle_governor".into(), Override::Text(name.into()))]).unwrap();
        measure(&profile, &run(50_000.0, 50.0, 2900.0))
    };
    let (shallow, deep) = (governor("shallowest"), governor("deepest"));
    assert!(deep.power_w <= shallow.power_w);
    assert!(deep.mean_us > shallow.mean_us);
}

#[test]
fn what_never_settles_does_not_in_a_long_window_either() {
    let mut server = linux();
    server.machine.idle_states.iter_mut().for_each(|state| state.settled_w = 5.0);
    let settled_j = |server: &Profile| {
        let lonely = Run { length: Length::Seconds(60.0), ..run(4.0, 50.0, 2900.0) };
        measure(server, &lonely).energy.settled_j
    };
    server.machine.idle_states.iter_mut().for_each(|state| state.settle_us = 1e6);
    assert!(settled_j(&server) > 100.0);
    server.machine.idle_states.iter_mut().for_each(|state| state.settle_us = f64::INFINITY);
    assert_eq!(settled_j(&server), 0.0);
}

#[test]
fn a_pinned_frequency_is_one_of_the_machines() {
    let asked = |freq_mhz: f64| simulate(&linux(), &run(1e5, 50.0, freq_mhz));
    for (freq_mhz, in_effect_mhz) in [(1200.0, 1200.0), (1201.0, 1300.0), (2050.0, 2100.0), (2900.0, 2900.0)] {
        assert_eq!(asked(freq_mhz).unwrap().freq_mhz, in_effect_mhz);
    }
    for freq_mhz in [1.0, 1199.0, 2901.0, f64::NAN] {
        let error = asked(freq_mhz).unwrap_err();
        assert_eq!(error.rule.as_deref(), Some("freq_mhz must be between 1200 and 2900"));
        assert_eq!(error.place.as_deref(), Some("run, freq_mhz"));
    }
}

#[test]
fn a_delay_is_rounded_down_to_a_step_of_the_card() {
    let server = with(&linux(), &[("machine.nic.rx_usecs_min", 3.0), ("machine.nic.rx_usecs_step", 10.0)]);
    for (rx_usecs, in_effect) in [(3.0, 3.0), (12.9, 3.0), (13.0, 13.0), (1022.0, 1013.0)] {
        assert_eq!(measure(&server, &run(1e5, rx_usecs, 2900.0)).rx_usecs, in_effect);
    }
    assert!(simulate(&server, &run(1e5, 2.0, 2900.0)).is_err());
}

#[test]
fn default_policies_react_to_load() {
    let auto = |qps| measure(&linux(), &Run { length: Length::Seconds(0.3), ..run(qps, None, None) });
    let (low, high) = (auto(50_000.0), auto(600_000.0));
    assert!(low.freq_mhz < high.freq_mhz);
    assert!((10.0..126.0).contains(&high.rx_usecs), "{}", high.rx_usecs);
}

#[test]
fn heavier_tailed_arrivals_have_the_same_load_and_longer_tails() {
    let etc = linux().with_values(&[("app.arrivals".into(), Override::Text("generalized-pareto".into()))]).unwrap();
    let (poisson, pareto) =
        (measure(&linux(), &run(500_000.0, 20.0, 2900.0)), measure(&etc, &run(500_000.0, 20.0, 2900.0)));
    assert_close(pareto.qps, poisson.qps, 0.03, "qps");
}

#[test]
fn a_busy_spare_core_draws_power_and_keeps_its_clock_domain_fast() {
    let server = |load| with(&linux(), &[("app.spare_cores", 1.0), ("app.spare_core_load_share", load)]);
    let fixed = |load| measure(&server(load), &run(50_000.0, 200.0, 2900.0));
    let auto = |load| measure(&server(load), &Run { length: Length::Seconds(0.3), ..run(50_000.0, None, None) });
    let (idle, busy) = (fixed(0.0), fixed(1.0));
    assert_eq!(idle.quantile_us(0.99), busy.quantile_us(0.99));
    let core_w = linux().machine.power.busy_core_w + linux().machine.power.busy_core_at_max_freq_w;
    assert_close(busy.energy.busy_j - idle.energy.busy_j, core_w * busy.duration_s, 1e-6, "energy of the spare core");
    assert!(busy.energy.halted_j > idle.energy.halted_j, "nothing settles while a package is kept awake");
    assert!(auto(1.0).freq_mhz > 1.1 * auto(0.0).freq_mhz);
}

#[test]
fn a_setting_is_a_map_of_the_knobs_that_the_twin_models() {
    let setting = Setting::of_knobs([("cpu.freq_mhz", 2000.0)]).unwrap();
    assert_eq!((setting.get(Knob::RxUsecs), setting.get(Knob::FreqMhz)), (None, Some(2000.0)));
    let error = Setting::of_knobs([("cpu.boost", 1.0)]).unwrap_err().to_string();
    assert!(error.contains("the twin does not model cpu.boost"), "{error}");
}

/// Whole seconds and parts of them, services of microseconds and of seconds, few requests and many.
fn odd_windows() -> impl Iterator<Item = (Profile, Run)> {
    let slow = |profile: &Profile, kcycles| with(profile, &[("app.request_kcycles", kcycles)]);
    [linux(), ebbrt()].into_iter().flat_map(move |base| {
        [(6.0, 100.0), (6.0, 300_000.0), (80_000.0, 300.0), (2_000_000.0, 20.0)].into_iter().flat_map(
            move |(kcycles, qps)| {
                let profile = slow(&base, kcycles);
                [0.001, 0.03, 0.7].into_iter().flat_map(move |seconds| {
                    let profile = profile.clone();
                    [(Some(200.0), Some(2000.0)), (None, None)].into_iter().map(move |(rx_usecs, freq_mhz)| {
                        let run = run(qps, rx_usecs, freq_mhz);
                        (profile.clone(), Run { length: Length::Seconds(seconds), warmup_s: Some(0.1), ..run })
                    })
                })
            },
        )
    })
}

#[test]
fn busy_and_idle_time_are_the_whole_of_every_window() {
    for (profile, run) in odd_windows() {
        let m = measure(&profile, &run);
        let residency: f64 = m.idle_states.iter().map(|state| state.residency).sum();
        assert_close(m.utilization + residency, 1.0, 1e-9, &format!("{} {run:?}", profile.name));
        assert!(m.utilization > -1e-12 && m.idle_states.iter().all(|state| state.residency > -1e-12), "{m:?}");
        assert_close(m.energy.total_j(), m.power_w * m.duration_s, 1e-9, "energy");
    }
}

#[test]
fn a_window_draws_the_same_whatever_its_length() {
    let power_w = |seconds| {
        // Sixteen idle governors have to see some periods first.
        let rare = Run { length: Length::Seconds(seconds), warmup_s: Some(5.0), ..run(100.0, 50.0, 2900.0) };
        let windows = (0..40).map(|seed| measure(&linux(), &Run { seed, ..rare }).power_w);
        windows.sum::<f64>() / 40.0
    };
    assert_close(power_w(0.02), power_w(1.0), 0.01, "power");
}

/// One core without overheads that serves `kcycles` a request, its frequency left to ondemand.
fn one_ondemand_core(kcycles: f64) -> Profile {
    let mut profile = bare_queue(0.0, 0.0);
    profile = with(&profile, &[("machine.cores", 1.0), ("app.request_kcycles", kcycles)]);
    profile.machine.freq_mhz = (10..=20).map(|step| 100.0 * f64::from(step)).collect();
    profile
}

#[test]
fn ondemand_sees_an_idle_core_as_idle() {
    for qps in [1.0, 10.0, 100.0, 1000.0] {
        let long = Run { length: Length::Seconds(20.0), ..run(qps, 0.0, None) };
        let freq_mhz = measure(&one_ondemand_core(50.0), &long).freq_mhz;
        assert!((1000.0..1060.0).contains(&freq_mhz), "{freq_mhz} MHz at {qps} requests/s");
    }
}

#[test]
fn a_request_goes_on_at_the_frequency_that_the_governor_raises() {
    // 42 ms at 1 GHz; the core is seen busy at the latest two periods of 10 ms after the request came.
    let rare = Run { length: Length::Seconds(100.0), ..run(1.0, 0.0, None) };
    let profile = one_ondemand_core(42_000.0);
    let m = measure(&profile, &rare);
    for quantile in [0.05, 0.5] {
        let us = m.quantile_us(quantile).unwrap();
        assert!((21_000.0..33_000.0).contains(&us), "{us} us");
    }
    let pinned = Run { setting: rare.setting.with(Knob::FreqMhz, 1000.0), ..rare };
    assert!(measure(&profile, &pinned).quantile_us(0.05).unwrap() > 41_000.0);
}

#[test]
fn a_used_up_budget_is_polled_again() {
    let p99_us = |budget: f64| {
        let profile = with(&linux(), &[("os.poll_budget", budget)]);
        p99(&measure(&profile, &run(900_000.0, 1000.0, 2900.0)))
    };
    assert_close(p99_us(32.0), p99_us(64.0), 0.1, "p99");
    let saturated = measure(&linux(), &run(900_000.0, 1000.0, 2900.0));
    assert_close(saturated.interrupts_per_s, 16e6 / 1024.0, 0.01, "interrupts/s");
}

#[test]
fn no_request_is_served_before_it_is_there() {
    let steered = with(&bare_queue(20.0, 0.0), &[("os.steer_us", 200.0)]);
    for qps in [1_000.0, 300_000.0] {
        let p5_us = measure(&steered, &run(qps, 0.0, 2900.0)).quantile_us(0.05).unwrap();
        assert!(p5_us > 218.0, "{p5_us} us");
    }
}

#[test]
fn requests_are_steered_evenly_to_any_number_of_cores() {
    let (service_us, load) = (100.0, 0.85);
    for cores in [7.0, 200.0] {
        let server = with(&bare_queue(service_us, 1.0), &[("machine.cores", cores)]);
        let qps = cores * load * 1e6 / service_us;
        let long = Run { length: Length::Requests(2_000_000), ..run(qps, 0.0, 2900.0) };
        let m = measure(&server, &long);
        assert_close(m.mean_us.unwrap(), service_us / (1.0 - load), 0.04, "mean latency");
        assert_eq!(m.dropped, 0);
    }
}

#[test]
fn the_tail_of_service_times_is_felt_in_the_queues() {
    let (service_us, load, log_sd) = (100.0, 0.5, 1.0_f64);
    let server = with(&bare_queue(service_us, 0.0), &[("app.service_log_sd", log_sd)]);
    let long = Run { length: Length::Requests(2_000_000), ..run(16.0 * load * 1e6 / service_us, 0.0, 2900.0) };
    // Pollaczek and Khinchine, with the second moment of a log-normal time.
    let expected_us = service_us * (1.0 + load * (log_sd * log_sd).exp() / (2.0 * (1.0 - load)));
    assert_close(measure(&server, &long).mean_us.unwrap(), expected_us, 0.02, "mean latency");
}

#[test]
fn a_constant_latency_is_measured_as_it_is() {
    let server = bare_queue(1234.5, 0.0);
    let m = measure(&server, &Run { length: Length::Requests(200), ..run(0.1, 0.0, 2900.0) });
    // Nothing else takes time, but for the engine's least stretch.
    assert_close(m.mean_us.unwrap(), 1234.5, 2.1e-4, "mean");
    for (quantile, found_us) in &m.latency_us {
        assert_close(found_us.unwrap(), 1234.5, 0.0022, &format!("{quantile}"));
    }
}
