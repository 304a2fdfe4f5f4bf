//! What a governor costs: nanoseconds a decision, and bytes a CPU.
//!
//! ```console
//! $ cargo bench -p bayop-idle --bench decision -- --out decision.json
//! ```
//!
//! A decision is a selection and all that the governor learns from it. Each governor makes the same ones about periods
//! that are exponentially distributed around one mean at a time; the best and the median of a few repeats, in CPU time of
//! the one thread that there is.
#![allow(missing_docs)]

use std::mem::size_of;
use std::path::PathBuf;

use bayop_idle::{
    BayOp, Fixed, Governor, Haltpoll, Ladder, Menu, MenuOf, Plans, Shadow, Slept, Slo, States, TICK_US, Teo, UNIT,
    View, Waker, Yawn,
};

const DECISIONS: usize = 200_000;
const REPEATS: usize = 9;
/// Mean periods, in us.
const MEANS_US: [f64; 4] = [20.0, 100.0, 500.0, 5_000.0];
/// Price of latency of the governors that have one: 0.1 us of a polling core for each us.
const PRICE: u32 = UNIT / 10;

/// One selection, and how it went.
struct Decision {
    view: View,
    length_us: u32,
}

/// What was measured of one governor.
struct Cost {
    name: &'static str,
    bytes: usize,
    /// Of each repeat, ascending.
    ns: Vec<f64>,
}

fn main() {
    // POLL, C1, C1E, C3 and C7 of a Xeon E5-2690.
    let rows = [(0, 0, UNIT), (2, 2, 369), (10, 20, 225), (80, 211, 102), (109, 345, 26)];
    let states = States::new(&rows).expect("a table of states");
    let plans = Plans::new(&states, 50);
    let decisions = decisions();
    let menu = || Menu::new(MenuOf::Linux6);
    let costs = [
        cost("fixed", &states, &decisions, || Fixed(2)),
        cost("ladder", &states, &decisions, Ladder::default),
        cost("haltpoll", &states, &decisions, Haltpoll::default),
        cost("menu", &states, &decisions, menu),
        cost("teo", &states, &decisions, Teo::default),
        cost("yawn", &states, &decisions, Yawn::default),
        cost("bayop", &states, &decisions, || BayOp::new(&plans, PRICE)),
        cost("bayop, SLO", &states, &decisions, || Slo::new(&plans, Slo::LATE_PER_MILLION)),
        cost("bayop, menu in its shadow", &states, &decisions, || Shadow::new(&plans, menu())),
        cost("bayop, teo in its shadow", &states, &decisions, || Shadow::new(&plans, Teo::default())),
    ];
    println!("{:<28}{:>10}{:>12}{:>14}", "governor", "best (ns)", "median (ns)", "bytes a CPU");
    for cost in &costs {
        println!("{:<28}{:>10.1}{:>12.1}{:>14}", cost.name, cost.ns[0], cost.ns[REPEATS / 2], cost.bytes);
    }
    println!("BayOp's plans, shared by all CPUs: {} bytes", size_of::<Plans>());
    if let Some(path) = out_file() {
        std::fs::write(path, json(&costs)).expect("the results can be written");
    }
}

fn cost<G: Governor>(name: &'static str, states: &States, decisions: &[Decision], governor: impl Fn() -> G) -> Cost {
    let timed = || {
        let mut governor = governor();
        let before_s = thread_cpu_s();
        for decision in decisions {
            governor.arrivals(decision.view.now_us, 1);
            let choice = governor.select(states, &decision.view);
            // The stay is counted to its end: what the own timer would do is asking for one more decision.
            let length_us = decision.length_us + states[choice.state].exit_latency_us;
            governor.reflect(states, &Slept { length_us, waker: Waker::Event });
        }
        std::hint::black_box(&governor);
        (thread_cpu_s() - before_s) * 1e9 / decisions.len() as f64
    };
    let mut ns: Vec<f64> = (0..REPEATS).map(|_| timed()).collect();
    ns.sort_by(f64::total_cmp);
    Cost { name, bytes: size_of::<G>(), ns }
}

/// Periods of all means in turn, with a timer about 10 ms away.
fn decisions() -> Vec<Decision> {
    let mut seed = 1_u64;
    let mut uniform = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    };
    let mut now_us = 0;
    let decide = |index: usize| {
        let mean_us = MEANS_US[index * MEANS_US.len() / DECISIONS];
        let timer_us = 5_000 + (10_000.0 * uniform()) as u32;
        let length_us = ((-uniform().ln() * mean_us) as u32).min(timer_us);
        now_us += u64::from(length_us) + 20;
        let tick_us = TICK_US - (now_us % u64::from(TICK_US)) as u32;
        Decision { view: View { now_us, timer_us, tick_us, max_latency_us: u32::MAX }, length_us }
    };
    (0..DECISIONS).map(decide).collect()
}

/// CPU time of the calling thread in seconds.
fn thread_cpu_s() -> f64 {
    std::thread::yield_now(); // or Linux would answer with the time of its last tick, up to 4 ms ago
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has /proc/thread-self/schedstat");
    let ns: f64 = stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("nanoseconds on a CPU");
    ns * 1e-9
}

/// The file after `--out`; `cargo bench` adds arguments of its own.
fn out_file() -> Option<PathBuf> {
    let mut arguments = std::env::args_os().skip_while(|argument| argument != "--out");
    arguments.next()?;
    Some(arguments.next().expect("--out needs a file").into())
}

fn json(costs: &[Cost]) -> String {
    let rows: Vec<String> = costs
        .iter()
        .map(|cost| {
            let (name, bytes, best_ns, median_ns) = (cost.name, cost.bytes, cost.ns[0], cost.ns[REPEATS / 2]);
            format!("  {{\"governor\": \"{name}\", \"bytes\": {bytes}, \"best_ns\": {best_ns:.1}, \"median_ns\": {median_ns:.1}}}")
        })
        .collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}
