//! Frequency policies that act at events: their limits, their objective, and their energy.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Knob, Length, Load, Measurement, Override, Profile, Run, Setting, simulate_batch};
use common::{FILES, ebbrt, linux, measure, with};

const POLICIES: [&str; 3] = ["rubik", "nmap", "oracle"];

/// `profile` with a clock for every core and a policy that aims at a p99 of `slo_us`.
fn paced(profile: &Profile, policy: &str, slo_us: f64) -> Profile {
    let own_clocks = with(profile, &[("machine.frequency_domain_cores", 1.0), ("os.frequency_slo_us", slo_us)]);
    governed(&own_clocks, policy)
}

fn governed(profile: &Profile, policy: &str) -> Profile {
    profile.with_values(&[("os.frequency_governor".into(), Override::Text(policy.into()))]).unwrap()
}

/// Long enough for the feedback loop of the bound to settle.
fn run(qps: f64) -> Run {
    let (load, length) = (Load::Qps(qps), Length::Seconds(1.0));
    Run { setting: Setting::default(), load, length, warmup_s: Some(1.5), seed: 1 }
}

fn p99(m: &Measurement) -> f64 {
    m.quantile_us(0.99).unwrap()
}

#[test]
fn light_load_runs_at_the_least_frequency() {
    let least = measure(&governed(&linux(), "powersave"), &run(5e3));
    for policy in POLICIES {
        let m = measure(&paced(&linux(), policy, 500.0), &run(5e3));
        assert!(m.freq_mhz < 1.01 * 1200.0, "{policy}: {} MHz", m.freq_mhz);
        assert!((m.power_w / least.power_w - 1.0).abs() < 0.01, "{policy}: {} W, not {}", m.power_w, least.power_w);
    }
}

#[test]
fn saturation_runs_at_the_greatest_frequency() {
    let four_cores = with(&linux(), &[("machine.cores", 4.0)]);
    for policy in POLICIES {
        let m = measure(&paced(&four_cores, policy, 500.0), &run(7.5e5));
        assert!(m.freq_mhz > 0.98 * 2900.0, "{policy}: {} MHz", m.freq_mhz);
    }
}

#[test]
fn the_tail_meets_the_objective_at_less_power_than_the_greatest_frequency() {
    let fastest = measure(&governed(&linux(), "performance"), &run(6e5));
    for policy in ["rubik", "oracle"] {
        let [tight, loose] = [200.0, 500.0].map(|slo_us| measure(&paced(&linux(), policy, slo_us), &run(6e5)));
        assert!((0.9..1.01).contains(&(p99(&tight) / 200.0)), "{policy}: {}", p99(&tight));
        assert!((0.9..1.01).contains(&(p99(&loose) / 500.0)), "{policy}: {}", p99(&loose));
        assert!(loose.power_w < tight.power_w && tight.power_w < fastest.power_w, "{policy}");
    }
}

#[test]
fn an_objective_out_of_reach_is_missed_at_the_greatest_frequency() {
    let fastest = measure(&governed(&linux(), "performance"), &run(4e5));
    let m = measure(&paced(&linux(), "rubik", 30.0), &run(4e5));
    assert!(p99(&m) < 1.3 * p99(&fastest), "{} us", p99(&m));
    assert!(m.power_w < fastest.power_w, "idle cores are slow");
}

#[test]
fn foreknowledge_never_costs_much() {
    for (file, qps) in [(FILES[0], 6e5), (FILES[2], 2e5)] {
        let profile = Profile::parse(file.1, file.0).unwrap();
        let [rubik, oracle] = ["rubik", "oracle"].map(|policy| measure(&paced(&profile, policy, 500.0), &run(qps)));
        assert!(oracle.power_w < 1.01 * rubik.power_w, "{}: {} W, {} W", file.0, oracle.power_w, rubik.power_w);
    }
}

#[test]
fn slow_transitions_and_shared_clocks_cost_power() {
    let rubik = paced(&linux(), "rubik", 500.0);
    let slow = with(&rubik, &[("os.frequency_transition_us", 500.0)]);
    let shared = with(&rubik, &[("machine.frequency_domain_cores", 8.0)]);
    let [best, slow, shared] = [&rubik, &slow, &shared].map(|profile| measure(profile, &run(6e5)).power_w);
    assert!(best < slow && best < shared, "{best} W, slow {slow} W, shared {shared} W");
}

#[test]
fn nmap_is_ondemand_until_packets_are_polled() {
    let own_clocks = with(&linux(), &[("machine.frequency_domain_cores", 1.0)]);
    let ondemand = measure(&own_clocks, &run(2e5));
    let polled = |packets| with(&governed(&own_clocks, "nmap"), &[("os.frequency_poll_budget", packets)]);
    let [always, sometimes, never] = [1.0, 4.0, 64.0].map(|packets| measure(&polled(packets), &run(2e5)));
    assert!((never.power_w / ondemand.power_w - 1.0).abs() < 0.005, "{} W, {} W", never.power_w, ondemand.power_w);
    assert!(never.power_w < sometimes.power_w && sometimes.power_w < always.power_w);
    assert!(always.freq_mhz > 0.99 * 2900.0);
}

#[test]
fn energy_is_exact_when_clocks_change_in_the_middle_of_everything() {
    // Busy power in proportion to frequency: the mean frequency while busy says how much was drawn.
    let values = [
        ("machine.power.frequency_exponent", 1.0),
        ("machine.power.busy_core_w", 0.0),
        ("machine.power.busy_core_at_max_freq_w", 8.0),
    ];
    for policy in POLICIES {
        let m = measure(&with(&paced(&linux(), policy, 200.0), &values), &run(4e5));
        let idle: f64 = m.idle_states.iter().map(|state| state.residency).sum();
        assert!((m.utilization + idle - 1.0).abs() < 1e-9, "{policy}: {}", m.utilization + idle);
        let busy_j = 8.0 * m.freq_mhz / 2900.0 * m.utilization * 16.0 * m.duration_s;
        // An idle core that polls draws as much, for a millionth of the time.
        assert!((m.energy.busy_j / busy_j - 1.0).abs() < 1e-5, "{policy}: {} J, not {busy_j}", m.energy.busy_j);
        assert!((m.energy.total_j() / m.duration_s / m.power_w - 1.0).abs() < 1e-12);
        assert!((1210.0..2800.0).contains(&m.freq_mhz) || policy == "nmap", "{policy}: {} MHz", m.freq_mhz);
    }
}

#[test]
fn a_pinned_frequency_leaves_nothing_to_decide() {
    let pinned = Run { setting: Setting::default().with(Knob::FreqMhz, 1700.0), ..run(2e5) };
    for policy in POLICIES {
        assert_eq!(measure(&governed(&linux(), policy), &pinned), measure(&linux(), &pinned));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let profiles = POLICIES.map(|policy| paced(&linux(), policy, 200.0));
    let jobs: Vec<(&Profile, Run)> = profiles.iter().map(|profile| (profile, run(1e5))).collect();
    assert_eq!(simulate_batch(&jobs, 1, || false), simulate_batch(&jobs, 3, || false));
}

#[test]
fn what_they_cannot_steer_is_refused() {
    let refusal = |profile: &Profile, policy: &str| {
        let words = [("os.frequency_governor".into(), Override::Text(policy.into()))];
        profile.with_values(&words).unwrap_err().to_string()
    };
    let message = refusal(&ebbrt(), "rubik");
    assert!(message.contains("must have steered dispatch"), "{message}");
    let silo = Profile::parse(FILES[2].1, FILES[2].0).unwrap();
    let message = refusal(&silo, "oracle");
    assert!(message.contains("busy spare core"), "{message}");
}
