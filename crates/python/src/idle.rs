//! Replay of idle periods in Python: what a governor would have made of them, and how long it took to decide.

use std::path::PathBuf;
use std::time::Instant;

use bayop_core::Error;
use bayop_idle::follow::{Recorded, follow};
use bayop_idle::replay::{Outcome, Period, Stay, replay};
use bayop_idle::{
    BayOp, Faults, Fixed, Governor, Haltpoll, Ladder, Menu, MenuOf, NetworkExpert, Plans, ResidencyExpert, Rule,
    Shadow, Slo, States, Teo, UNIT, Waker, Yawn,
};
use bayop_knobs::{Host, idle_states};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// Repeats of a replay, of which the fastest tells the time.
const REPEATS: usize = 3;

/// A period as Python has it: start, length, timer, waker, arrivals, age of the last.
type Row = (u64, u32, u32, u8, u32, i64);

/// A stay as Python has it: start, length, timer, waker, arrivals, age of the last, state, tick.
type StayRow = (u64, u32, u32, u8, u32, i64, usize, u32);

/// What governors are told apart from what happens.
struct Terms<'a> {
    states: &'a States,
    plans: &'a Plans,
    price: u32,
}

/// Makes a governor.
type Make = for<'a> fn(&Terms<'a>) -> Box<dyn Governor + Send + 'a>;

/// The governors that can be replayed, by name.
const GOVERNORS: [(&str, Make); 11] = [
    ("menu", |_| Box::new(Menu::new(MenuOf::Linux6))),
    ("menu-4.4", |_| Box::new(Menu::new(MenuOf::Linux4))),
    ("teo", |_| Box::<Teo>::default()),
    ("ladder", |_| Box::<Ladder>::default()),
    ("haltpoll", |_| Box::<Haltpoll>::default()),
    ("yawn", |_| yawn(Faults::AsPublished)),
    ("yawn-mended", |_| yawn(Faults::Mended)),
    ("bayop", |terms| Box::new(BayOp::new(terms.plans, terms.price))),
    ("bayop-menu", |terms| Box::new(Shadow::new(terms.plans, Menu::new(MenuOf::Linux6)))),
    ("bayop-teo", |terms| Box::new(Shadow::new(terms.plans, Teo::default()))),
    ("bayop-slo", |terms| Box::new(Slo::new(terms.plans, Slo::LATE_PER_MILLION))),
];

fn yawn(faults: Faults) -> Box<dyn Governor + Send> {
    Box::new(Yawn::new((ResidencyExpert::default(), NetworkExpert::default()), faults))
}

/// What makes the governor of this name.
fn governor(name: &str) -> Result<Make, Error> {
    GOVERNORS.iter().find(|(known, _)| *known == name).map(|(_, make)| *make).ok_or_else(|| {
        let error = Error::input(format!("there is no governor {name:?}")).value(name);
        error.hint(format!("known: {}", idle_governors().join(", ")))
    })
}

/// The names of all governors.
#[pyfunction]
pub fn idle_governors() -> Vec<&'static str> {
    GOVERNORS.map(|(name, _)| name).to_vec()
}

/// The idle states of this machine or a recorded one: name, exit latency and target residency, us.
#[pyfunction]
#[pyo3(signature = (*, root = None))]
pub fn find_idle_states(py: Python<'_>, root: Option<PathBuf>) -> PyResult<Vec<(String, u32, u32)>> {
    let states = idle_states::idle_states(&root.map_or_else(Host::live, Host::recorded));
    let states = states.map_err(|error| raise(py, &error))?;
    Ok(states.into_iter().map(|state| (state.name, state.exit_latency_us, state.target_residency_us)).collect())
}

/// Replays idle periods under a governor.
#[pyfunction]
#[pyo3(signature = (states, periods, governor, *, price = 0.1, limit_us = 50, stays = false))]
pub fn idle_replay<'py>(
    py: Python<'py>,
    states: Vec<(u32, u32, f64)>,
    periods: Vec<Row>,
    governor: &str,
    price: f64,
    limit_us: u32,
    stays: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let table = table(&states).map_err(|error| raise(py, &error))?;
    let plans = Plans::new(&table, limit_us);
    let terms = Terms { states: &table, plans: &plans, price: units(price) };
    let make = self::governor(governor).map_err(|error| raise(py, &error))?;
    let periods: Vec<Period> = periods.into_iter().map(period).collect();
    let (outcome, log, ns_per_decision) = py.detach(|| run(&terms, &periods, make));
    let mut late_us: Vec<u32> = log.iter().filter_map(|stay| stay.late_us).collect();
    late_us.sort_unstable();
    let dict = PyDict::new(py);
    dict.set_item("energy_us", outcome.energy as f64 / f64::from(UNIT))?;
    dict.set_item("least_energy_us", outcome.least_energy as f64 / f64::from(UNIT))?;
    set_fields!(dict, outcome: decisions, too_deep, too_shallow, own_wakes);
    let mean_us = late_us.iter().map(|&us| f64::from(us)).sum::<f64>() / late_us.len().max(1) as f64;
    dict.set_item("wake_latency_mean_us", mean_us)?;
    dict.set_item("wake_latency_p99_us", late_us.get(late_us.len() * 99 / 100).copied().unwrap_or(0))?;
    dict.set_item("ns_per_decision", ns_per_decision)?;
    let rows: Vec<_> = log.iter().filter(|_| stays).map(|s| (s.period, s.state, s.length_us, s.late_us)).collect();
    dict.set_item("stays", rows)?;
    Ok(dict)
}

/// How often each state was chosen for recorded stays: by the kernel that recorded them, then by a governor.
#[pyfunction]
#[pyo3(signature = (states, stays, governor, *, price = 0.1, limit_us = 50))]
pub fn idle_follow(
    py: Python<'_>,
    states: Vec<(u32, u32, f64)>,
    stays: Vec<StayRow>,
    governor: &str,
    price: f64,
    limit_us: u32,
) -> PyResult<Vec<Vec<u64>>> {
    let table = table(&states).map_err(|error| raise(py, &error))?;
    let plans = Plans::new(&table, limit_us);
    let terms = Terms { states: &table, plans: &plans, price: units(price) };
    let mut subject = self::governor(governor).map_err(|error| raise(py, &error))?(&terms);
    let choices = follow(&table, stays.into_iter().map(recorded), &mut *subject);
    Ok(choices[..table.len()].iter().map(|row| row[..table.len()].to_vec()).collect())
}

/// A power or a price as governors have it. What is beyond their numbers is the nearest of them.
fn units(share: f64) -> u32 {
    (share * f64::from(UNIT)).round() as u32
}

fn table(states: &[(u32, u32, f64)]) -> Result<States, Error> {
    let rows: Vec<_> = states.iter().map(|row| (row.0, row.1, units(row.2))).collect();
    States::new(&rows).map_err(|rule| {
        let rule = match rule {
            Rule::Count => "a machine must have 1 to 10 idle states",
            Rule::Depth => "exit latency and target residency must not fall from one idle state to the next",
            Rule::Power => "the power of idle states must fall from at most 1, that of a core that polls",
        };
        Error::cannot_use(format!("{states:?}"), rule)
    })
}

fn period((start_us, length_us, timer_us, waker, arrivals, age_us): Row) -> Period {
    let arrival_age_us = u32::try_from(age_us).ok();
    Period { start_us, length_us, timer_us, by_timer: waker == 2, arrivals, arrival_age_us }
}

fn recorded((start_us, length_us, timer_us, waker, arrivals, age_us, state, tick_us): StayRow) -> Recorded {
    let arrival_age_us = u32::try_from(age_us).ok();
    let waker = match waker {
        2 => Waker::Timer,
        3 => Waker::Tick,
        _ => Waker::Event,
    };
    Recorded { start_us, length_us, timer_us, tick_us, waker, arrivals, arrival_age_us, state }
}

/// The outcome, every stay, and the time that a decision takes beyond one that is none.
fn run(terms: &Terms<'_>, periods: &[Period], make: Make) -> (Outcome, Vec<Stay>, f64) {
    let mut log = Vec::with_capacity(2 * periods.len());
    let mut outcome = Outcome::default();
    let mut fastest_ns = [f64::INFINITY; 2];
    for _ in 0..REPEATS {
        let fixed: Box<dyn Governor + Send> = Box::new(Fixed(0));
        for (ns, mut governor) in fastest_ns.iter_mut().zip([fixed, make(terms)]) {
            log.clear();
            let start = Instant::now();
            let periods = periods.iter().copied();
            outcome = replay(terms.states, periods, u32::MAX, &mut *governor, |stay| log.push(stay));
            *ns = ns.min(start.elapsed().as_nanos() as f64 / outcome.decisions.max(1) as f64);
        }
    }
    (outcome, log, (fastest_ns[1] - fastest_ns[0]).max(0.0))
}
