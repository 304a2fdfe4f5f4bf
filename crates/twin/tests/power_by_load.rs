//! Power rises with load, whatever the server and its policies are, and where it does not.
#![allow(missing_docs)]

mod common;

use bayop_twin::profile::FrequencyPolicy;
use bayop_twin::{Length, Load, Override, Profile, Run, Setting, simulate_batch};
use common::{FILES, measure, run};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// Loads as parts of what the server answers when it is overloaded.
const LOADS: [f64; 8] = [1e-4, 4e-4, 1.6e-3, 6.4e-3, 0.026, 0.1, 0.4, 0.9];
/// Independent windows at every load.
const SEEDS: u64 = 5;
/// A fall is one when it is so many standard errors of the difference: more than 1 in 1,000 comparisons shows by chance
/// (Student's t of [`SEEDS`] differences).
const STANDARD_ERRORS: f64 = 7.2;
/// And when it is more than what rounding makes of powers that do not depend on load, those of polling cores.
const ROUNDING: f64 = 1e-6;

/// What the server answers at most, its clocks as they are under the most load. More load may mean fewer answers:
/// interrupts come first.
fn greatest_qps(profile: &Profile) -> f64 {
    let clocks = if profile.os.frequency_governor == FrequencyPolicy::Powersave { "powersave" } else { "performance" };
    let pinned = profile.with_values(&[("os.frequency_governor".into(), Override::Text(clocks.into()))]).unwrap();
    let answered_qps = |qps| measure(&pinned, &Run { length: Length::Requests(20_000), ..run(qps, None, None) }).qps;
    (0..12).map(|power| answered_qps(1e3 * 2.5_f64.powi(power))).fold(0.0, f64::max)
}

/// The two loads and powers between which power falls, if any.
fn fall(profile: &Profile) -> Option<String> {
    let greatest_qps = greatest_qps(profile);
    let jobs: Vec<(&Profile, Run)> = LOADS
        .iter()
        .flat_map(|&load| {
            let qps = load * greatest_qps;
            let seconds = (200.0 / qps).clamp(0.1, 20.0);
            (0..SEEDS).map(move |seed| {
                let (length, warmup_s) = (Length::Seconds(seconds), Some(0.5 * seconds));
                (profile, Run { setting: Setting::default(), load: Load::Qps(qps), length, warmup_s, seed })
            })
        })
        .collect();
    let powers_w: Vec<f64> =
        simulate_batch(&jobs, 2, || false).unwrap().into_iter().map(|m| m.unwrap().power_w).collect();
    let by_load: Vec<&[f64]> = powers_w.chunks(SEEDS as usize).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    by_load.windows(2).enumerate().find_map(|(index, pair)| {
        let rises: Vec<f64> = pair[1].iter().zip(pair[0]).map(|(more, less)| more - less).collect();
        let rise = mean(&rises);
        let variance = rises.iter().map(|r| (r - rise).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
        let tolerance = STANDARD_ERRORS * (variance / SEEDS as f64).sqrt() + ROUNDING * mean(pair[0]);
        (rise < -tolerance).then(|| {
            let [less, more] = [index, index + 1].map(|i| LOADS[i]);
            format!("{} W at {less}, {} W at {more}, tolerance {tolerance}", mean(pair[0]), mean(pair[1]))
        })
    })
}

/// A server near one of the built-in ones: numbers up to three times as large or as small, any policies, any size.
///
/// It keeps to what any processor keeps to: a core that is busy draws at least what a polling one does, that what a
/// halted one does at the same clock, and that what it draws once an idle state has settled; deeper states draw no more
/// than shallower ones. And no spare core is busy while turbo is on, see below.
fn servers() -> impl Strategy<Value = Profile> {
    let words = (
        select(vec!["ondemand", "performance", "powersave", "nmap", "rubik", "oracle"]),
        select(vec!["menu", "deepest", "shallowest", "oracle"]),
        select(vec!["steered", "run-to-completion", "polling"]),
        select(vec!["ixgbe", "fixed"]),
    );
    let sizes = (1_usize..=12, 1_usize..=2, 1_usize..=6, 1_usize..=6);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0.0..1.0_f64);
    (0..FILES.len(), words, sizes, switches, prop::collection::vec(-0.5..0.5_f64, 200)).prop_map(server)
}

type Words = (&'static str, &'static str, &'static str, &'static str);
type Drawn = (usize, Words, (usize, usize, usize, usize), (bool, bool, bool, bool, f64), Vec<f64>);

fn server((file, words, sizes, switches, exponents): Drawn) -> Profile {
    // Counts, ranges and what the clients offer stay, and idle states keep their order.
    const KEPT: [&str; 13] = [
        "rx_usecs_",
        "exit_latency",
        "target_residency",
        "settled_w",
        "freq_mhz",
        "_limit",
        "budget",
        "bytes",
        "sampling",
        "connections",
        "threads",
        "cores",
        "slo",
    ];
    let (name, text) = FILES[file];
    let base = Profile::parse(text, name).unwrap();
    let (frequency, idle, dispatch, moderation) = words;
    let (cores, threads, domain_cores, package_cores) = sizes;
    let (turbo, spare, sleeps, shared_queue, log_sd) = switches;
    let acts_at_events = ["nmap", "rubik", "oracle"].contains(&frequency);
    let (dispatch, threads, turbo) = if acts_at_events { ("steered", 1, false) } else { (dispatch, threads, turbo) };
    let spare_load = if spare && !turbo && !acts_at_events { 1.0 - log_sd } else { 0.0 };
    let mut values: Vec<(String, Override)> = base
        .values()
        .into_iter()
        .zip(&exponents)
        .filter(|((key, _), _)| !KEPT.iter().any(|kept| key.contains(kept)))
        .map(|((key, value), exponent)| {
            let range = bayop_twin::profile::limits::range_of(&key).unwrap();
            let value = (value * 10_f64.powf(*exponent)).clamp(range.least, range.greatest);
            (key, Override::Number(if range.whole { value.round() } else { value }))
        })
        .collect();
    let words = [
        ("frequency_governor", frequency),
        ("idle_governor", idle),
        ("dispatch", dispatch),
        ("moderation", moderation),
    ];
    values.extend(words.map(|(key, word)| (format!("os.{key}"), Override::Text(word.into()))));
    let numbers = [
        ("machine.cores", cores as f64),
        ("machine.frequency_domain_cores", domain_cores as f64),
        ("app.spare_cores", f64::from(u8::from(spare && cores > 1))),
        ("app.spare_core_load_share", spare_load),
        ("app.service_log_sd", log_sd),
    ];
    values.extend(numbers.map(|(key, number)| (key.to_string(), Override::Number(number))));
    let mut profile = base.with_values(&values).unwrap();
    profile.app.shared_queue = shared_queue;
    let machine = &mut profile.machine;
    (machine.threads_per_core, machine.package_cores) = (threads, package_cores);
    if turbo {
        machine.turbo_mhz = machine.freq_mhz.iter().rev().step_by(2).copied().collect();
    }
    let power = &mut machine.power;
    power.asleep_w = sleeps.then_some(0.3 * power.static_w);
    power.halted_core_at_max_freq_w = power.halted_core_at_max_freq_w.min(power.busy_core_at_max_freq_w);
    profile.app.activity_factor = profile.app.activity_factor.max(1.0);
    let least_g = (machine.freq_mhz[0] / machine.freq_mhz.last().unwrap()).powf(power.frequency_exponent);
    let mut most_w = least_g * power.halted_core_at_max_freq_w;
    for state in &mut machine.idle_states {
        state.settled_w = state.settled_w.min(most_w);
        most_w = state.settled_w;
    }
    Profile::parse(&profile.to_toml(), "random.toml").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        rng_seed: RngSeed::Fixed(12),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn power_rises_with_load_on_random_servers(server in servers()) {
        let falls = fall(&server);
        prop_assert!(falls.is_none(), "{}\n{}", falls.unwrap(), server.to_toml());
    }
}

/// A core that is busy whatever the load is runs the faster the more others sleep, and so do the clocks of those that it
/// keeps from settling: there is nothing to mend. All else rises with load, so without that freedom power does, too.
#[test]
fn turbo_lets_a_lone_busy_core_draw_more_than_one_among_others() {
    const TURBO_MHZ: [f64; 8] = [2900.0, 2700.0, 2500.0, 2300.0, 2100.0, 2000.0, 1900.0, 1800.0];
    let (name, text) = FILES[3];
    let mut server = Profile::parse(text, name).unwrap();
    server.os.frequency_governor = FrequencyPolicy::Performance;
    server.app.spare_core_load_share = 1.0;
    server.machine.turbo_mhz = TURBO_MHZ.to_vec();
    let power_w = |qps| measure(&server, &Run { length: Length::Seconds(2.0), ..run(qps, None, None) }).power_w;
    let (nearly_idle_w, less_w) = (power_w(5.0), power_w(3_000.0));
    let power = &server.machine.power;
    let slowest_g = (TURBO_MHZ[7] / TURBO_MHZ[0]).powf(power.frequency_exponent);
    let halted_w = 15.0 * power.halted_core_at_max_freq_w;
    let clock_w = (power.busy_core_at_max_freq_w + halted_w) * (1.0 - slowest_g);
    assert!(less_w < nearly_idle_w && nearly_idle_w - less_w < clock_w, "{nearly_idle_w} W, {less_w} W, {clock_w} W");
    server.machine.freq_mhz.retain(|&mhz| mhz <= TURBO_MHZ[7]);
    server.machine.turbo_mhz.clear();
    assert_eq!(fall(&server), None);
}
