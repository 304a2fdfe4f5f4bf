//! How many requests per second of CPU time the twin simulates, and where the time goes.
//!
//! ```console
//! $ cargo bench -p bayop-twin --bench speed -- --out speed.json
//! ```
//!
//! For each profile and setting: simulated requests per second of one thread's CPU time, best
//! and median of a few repeats, and the share of each kind of event. Then machines with more
//! cores, and the gain from a second thread.
#![allow(missing_docs)]

mod clock;
mod events;
mod report;
mod scaling;

use bayop_twin::{Knob, Length, Load, Override, Profile, Run, Setting, simulate};

use events::EventCosts;
use scaling::Scaling;

const PROFILES: [(&str, &str); 2] = [
    ("linux-memcached", include_str!("../../../../python/bayop/twin/profiles/linux_memcached.toml")),
    ("ebbrt-memcached", include_str!("../../../../python/bayop/twin/profiles/ebbrt_memcached.toml")),
];
const REQUESTS: u64 = 1_000_000;
const REPEATS: usize = 5;
/// Above this utilization requests may be dropped, and events per request mean something else.
const SATURATED: f64 = 0.9;

/// One setting, timed.
pub struct Point {
    pub cores: usize,
    pub qps: f64,
    /// `None` is the default policy, with a frequency governor too.
    pub rx_usecs: Option<f64>,
    pub freq_mhz: Option<f64>,
    pub completed: u64,
    pub utilization: f64,
    /// Events of each of [`events::KINDS`] per request.
    pub events: [f64; events::KINDS.len()],
    /// CPU time of each repeat, ascending.
    pub cpu_s: Vec<f64>,
}

impl Point {
    fn measure(profile: &Profile, qps: f64, rx_usecs: Option<f64>, freq_mhz: Option<f64>) -> Self {
        let run = run(qps, rx_usecs, freq_mhz);
        let timed = || {
            let before_s = clock::thread_cpu_s();
            let measured = simulate(profile, &run).expect("the setting is valid");
            (clock::thread_cpu_s() - before_s, measured)
        };
        let (mut cpu_s, mut measured): (Vec<_>, Vec<_>) = (0..REPEATS).map(|_| timed()).unzip();
        cpu_s.sort_by(f64::total_cmp);
        let m = measured.swap_remove(0);
        let idle_per_s: f64 = m.idle_states.iter().map(|state| state.entries_per_s).sum();
        let events = [1.0, m.interrupts_per_s / m.qps, idle_per_s / m.qps];
        let cores = profile.serving_cores();
        Self { cores, qps, rx_usecs, freq_mhz, completed: m.completed, utilization: m.utilization, events, cpu_s }
    }

    /// Millions of requests per second of CPU time, best repeat.
    pub fn best_mreq_per_s(&self) -> f64 {
        self.completed as f64 / self.cpu_s[0] * 1e-6
    }

    /// Millions of requests per second of CPU time, median repeat.
    pub fn median_mreq_per_s(&self) -> f64 {
        self.completed as f64 / self.cpu_s[REPEATS / 2] * 1e-6
    }

    /// Nanoseconds per request, best repeat.
    pub fn ns_per_request(&self) -> f64 {
        1e3 / self.best_mreq_per_s()
    }
}

/// Everything measured about one profile.
pub struct Results {
    pub name: &'static str,
    pub points: Vec<Point>,
    pub costs: EventCosts,
    pub scaling: Scaling,
}

fn run(qps: f64, rx_usecs: Option<f64>, freq_mhz: Option<f64>) -> Run {
    let setting = Setting::default().with(Knob::RxUsecs, rx_usecs).with(Knob::FreqMhz, freq_mhz);
    Run { setting, load: Load::Qps(qps), length: Length::Requests(REQUESTS), warmup_s: Some(0.0), seed: 1 }
}

fn measure(name: &'static str, text: &str) -> Results {
    let profile = Profile::parse(text, name).expect("the shipped profile parses");
    let mut points = Vec::new();
    for qps in [200e3, 600e3] {
        for freq_mhz in [1700.0, 2900.0] {
            for rx_usecs in [2.0, 10.0, 50.0, 100.0, 400.0] {
                points.push(Point::measure(&profile, qps, Some(rx_usecs), Some(freq_mhz)));
            }
        }
    }
    points.retain(|point| point.utilization < SATURATED);
    let costs = EventCosts::fit(&points);
    for qps in [200e3, 600e3] {
        points.push(Point::measure(&profile, qps, None, None));
    }
    for cores in [64.0, 256.0] {
        let values = ["machine.cores", "machine.frequency_domain_cores"];
        let values = values.map(|key| (key.to_string(), Override::Number(cores)));
        let larger = profile.with_values(&values).expect("the shipped profiles scale");
        points.push(Point::measure(&larger, 600e3 * cores / 16.0, Some(50.0), Some(2900.0)));
    }
    let scaling = Scaling::measure(&profile, &run(600e3, Some(50.0), Some(2900.0)));
    Results { name, points, costs, scaling }
}

fn main() {
    let out = report::out_file();
    let load_before = clock::load_average();
    let results = PROFILES.map(|(name, text)| {
        let results = measure(name, text);
        report::print(&results);
        results
    });
    if let Some(out) = out {
        let text = report::json(&results, [load_before, clock::load_average()]);
        std::fs::write(&out, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", out.display()));
    }
}
