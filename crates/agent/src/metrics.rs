//! `/metrics`: the agent and its machine in the OpenMetrics text format.
//!
//! Base units, one per name; counters end in `_total`. What a sensor could not read has no sample: a gap is honest.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use bayop_knobs::knob::Instance;
use bayop_knobs::sensor::{self, Reading};
use bayop_knobs::{Value, catalogue};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::config::Mode;
use crate::guard::Condition;
use crate::hold::Held;
use crate::journal::State;
use crate::messages::HoldInForce;
use crate::own::{Own, VERSION};
use crate::stays::Score;
use bayop_core::{Error, Kind};

/// What `/metrics` is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;
type Counters = Family<Labels, Counter<f64, AtomicU64>>;

/// What the agent counts itself.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    writes: Counters,
    drift: Counters,
    fallbacks: Counters,
    pushes: Counters,
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// What was asked is what reads back.
    Ok,
    /// The driver made something else of it.
    Clamped,
}

impl Tally {
    /// A knob was written.
    pub fn written(&self, id: &str, written: Written) {
        self.count(id, if written == Written::Ok { "ok" } else { "clamped" });
    }

    /// A setting that names the knob was refused or failed.
    pub fn failed(&self, id: &str, error: &Error) {
        let result =
            if matches!(error.kind, Kind::Failed | Kind::Unsupported | Kind::Drift) { "error" } else { "refused" };
        self.count(id, result);
    }

    /// Somebody else changed the knob.
    pub fn drifted(&self, id: &str) {
        self.drift.get_or_create(&vec![("knob", id.to_owned())]).inc();
    }

    /// A hold gave way to its fall-back.
    pub fn fell_back(&self, condition: Condition) {
        self.fallbacks.get_or_create(&vec![("reason", condition.name().to_owned())]).inc();
    }

    /// A latency was pushed.
    pub fn heard(&self) {
        self.pushes.get_or_create(&vec![("result", "ok".to_owned())]).inc();
    }

    /// A datagram was refused.
    pub fn refused_push(&self) {
        self.pushes.get_or_create(&vec![("result", "refused".to_owned())]).inc();
    }

    /// Counts for knobs of the catalogue only: what clients invent makes no series.
    fn count(&self, id: &str, result: &str) {
        if catalogue::entry(id).is_some() {
            let labels = vec![("knob", id.to_owned()), ("result", result.to_owned())];
            self.writes.get_or_create(&labels).inc();
        }
    }
}

/// Where a sensor's readings go: the metric, its meaning, the labels that the parts of the place are, and how many of
/// the reading's units the metric's unit is.
struct Export {
    reading: &'static str,
    metric: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    scale: f64,
}

const fn export(
    reading: &'static str,
    metric: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
) -> Export {
    Export { reading, metric, help, labels, scale: 1.0 }
}

const CPU: &[&str] = &["cpu"];
const STATE: &[&str] = &["cpu", "state"];
const QUEUE: &[&str] = &["device", "queue"];

const EXPORTS: &[Export] = &[
    export("energy_j", "bayop_energy_joules", "Energy by zone; zones contain each other, so never add them", &["zone"]),
    export("power_w", "bayop_power_watts", "Power now, by zone", &["zone"]),
    export("cpu_busy_s", "bayop_cpu_busy_seconds", "Time in which a CPU had work", CPU),
    export("cpu_idle_s", "bayop_cpu_idle_seconds", "Time in which a CPU had none", CPU),
    export("cpu_stolen_s", "bayop_cpu_stolen_seconds", "Time that the hypervisor took from a CPU with work", CPU),
    export("interrupts", "bayop_nic_interrupts", "Interrupts of network devices, by queue", QUEUE),
    export("softirqs", "bayop_softirqs", "Softirqs by function", &["function", "cpu"]),
    export("napi_packets", "bayop_napi_packets", "Packets that NAPI polls took in", CPU),
    export("napi_squeezed", "bayop_napi_squeezed", "NAPI rounds that ended with work left", CPU),
    export("idle_time_s", "bayop_cpuidle_time_seconds", "Time in an idle state", STATE),
    export("idle_usage", "bayop_cpuidle_usage", "Entries into an idle state", STATE),
    export("idle_above", "bayop_cpuidle_above", "Idle states that were too deep for the idle time", STATE),
    export("idle_below", "bayop_cpuidle_below", "Idle states that were too shallow for the idle time", STATE),
    export("nic_rx_packets", "bayop_nic_receive_packets", "Packets received", QUEUE),
    export("nic_rx_bytes", "bayop_nic_receive_bytes", "Bytes received", QUEUE),
    export("nic_tx_packets", "bayop_nic_transmit_packets", "Packets sent", QUEUE),
    export("nic_tx_bytes", "bayop_nic_transmit_bytes", "Bytes sent", QUEUE),
    Export { scale: 1e6, ..export("freq_mhz", "bayop_cpu_frequency_hertz", "Effective frequency", CPU) },
];

/// What one scrape shows.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// How far the agent goes.
    pub mode: Mode,
    /// What it costs.
    pub own: Own,
    /// What it counted.
    pub tally: &'a Tally,
    /// What the sensors read.
    pub readings: &'a [Reading],
    /// The meter in use.
    pub meter: Option<String>,
    /// The knobs with their values in effect.
    pub knobs: Vec<(&'a Instance, Value)>,
    /// The knobs that are held.
    pub held: &'a [Held],
    /// Whether a damaged journal waits for a person.
    pub damaged: bool,
    /// The conditions under which they are.
    pub hold: Option<&'a HoldInForce>,
    /// How well each expert has forecast stays in idle states.
    pub experts: BTreeMap<String, Score>,
}

/// The text of a scrape.
pub fn render(snapshot: &Snapshot) -> String {
    let mut registry = Registry::default();
    own(&mut registry, snapshot);
    for export in EXPORTS {
        sensor(&mut registry, export, snapshot.readings);
    }
    knobs(&mut registry, snapshot);
    hold(&mut registry, snapshot.hold);
    experts(&mut registry, &snapshot.experts);
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes all text");
    text
}

fn own(registry: &mut Registry, snapshot: &Snapshot) {
    let build = gauges(registry, "bayop_build_info", "The agent's version");
    build.get_or_create(&vec![("version", VERSION.to_owned())]).set(1.0);
    let modes = gauges(registry, "bayop_mode", "How far the agent goes");
    for mode in [Mode::Observe, Mode::Advise, Mode::Apply] {
        let set = if mode == snapshot.mode { 1.0 } else { 0.0 };
        modes.get_or_create(&vec![("mode", mode.to_string())]).set(set);
    }
    let seconds = Counter::<f64, AtomicU64>::default();
    seconds.inc_by(snapshot.own.cpu_s);
    registry.register("process_cpu_seconds", "Processor time of the agent", seconds);
    gauge(registry, "process_resident_memory_bytes", "Resident memory of the agent", snapshot.own.rss_bytes as f64);
    // Counters that are there from the beginning, so that an alert sees the first time, too.
    for (instance, _) in &snapshot.knobs {
        drop(snapshot.tally.drift.get_or_create(&vec![("knob", instance.knob.id.clone())]));
    }
    for condition in [Condition::Latency, Condition::Silence, Condition::Load, Condition::Time] {
        drop(snapshot.tally.fallbacks.get_or_create(&vec![("reason", condition.name().to_owned())]));
    }
    let damaged = if snapshot.damaged { 1.0 } else { 0.0 };
    gauge(registry, "bayop_journal_damaged", "Whether nothing is applied until a person has looked", damaged);
    registry.register("bayop_knob_writes", "Knobs written, by how it ended", snapshot.tally.writes.clone());
    registry.register("bayop_knob_drift", "Held knobs that somebody else changed", snapshot.tally.drift.clone());
    registry.register("bayop_fallbacks", "Holds that gave way, by what broke", snapshot.tally.fallbacks.clone());
    registry.register("bayop_latency_pushes", "Latencies that were pushed", snapshot.tally.pushes.clone());
    if let Some(meter) = &snapshot.meter {
        let info = gauges(registry, "bayop_power_meter_info", "The meter of the machine's energy");
        info.get_or_create(&vec![("meter", escaped(meter))]).set(1.0);
    }
}

fn sensor(registry: &mut Registry, export: &Export, readings: &[Reading]) {
    let samples = readings.iter().filter(|reading| reading.name == export.reading);
    let samples = samples.filter_map(|reading| Some((reading, reading.value.as_ref().ok()? * export.scale)));
    let samples: Vec<_> = samples.collect();
    match samples.first().map(|(reading, _)| reading.kind) {
        Some(sensor::Kind::Counter) => {
            let family = counters(registry, export.metric, export.help);
            for (reading, value) in samples {
                family.get_or_create(&labels(export.labels, &reading.at)).inc_by(value);
            }
        }
        Some(sensor::Kind::Gauge) => {
            let family = gauges(registry, export.metric, export.help);
            for (reading, value) in samples {
                family.get_or_create(&labels(export.labels, &reading.at)).set(value);
            }
        }
        None => {}
    }
}

fn knobs(registry: &mut Registry, snapshot: &Snapshot) {
    let states =
        gauges(registry, "bayop_knobs_held", "Knobs that BayOp has written and not restored, by how they stand");
    for (name, state) in [("held", State::Held), ("stood_down", State::StoodDown), ("latched", State::Latched)] {
        let knobs = snapshot.held.iter().filter(|held| held.state == state).count();
        states.get_or_create(&vec![("state", name.to_owned())]).set(knobs as f64);
    }
    let coalescing = [
        ("nic.rx_usecs", "bayop_nic_rx_coalesce_seconds", "Delay of receive interrupts"),
        ("nic.tx_usecs", "bayop_nic_tx_coalesce_seconds", "Delay of transmit interrupts"),
    ];
    for (id, metric, help) in coalescing {
        let family = gauges(registry, metric, help);
        let set = |at: &str, state: &str, value: &Value| {
            if let Value::Number(us) = value {
                let mut labels = labels(QUEUE, at);
                labels.push(("state", state.to_owned()));
                family.get_or_create(&labels).set(us / 1e6);
            }
        };
        for (instance, value) in snapshot.knobs.iter().filter(|(instance, _)| instance.knob.id == id) {
            set(&instance.at, "effective", value);
        }
        for held in snapshot.held {
            if let Some(at) = held.knob.strip_prefix(id).and_then(|rest| rest.strip_prefix('@')) {
                set(at, "requested", &held.asked.requested);
            }
        }
    }
    let limits = gauges(registry, "bayop_power_limit_watts", "Power that a constraint allows");
    let wake_ups =
        gauges(registry, "bayop_cpu_latency_limit_seconds", "How long a CPU may take to wake up, where limited");
    let preferences = gauges(registry, "bayop_cpu_epp_info", "Energy performance preference");
    for (instance, value) in &snapshot.knobs {
        match (instance.knob.id.as_str(), value) {
            ("power.cap_w", Value::Number(limit_w)) => {
                limits.get_or_create(&labels(&["zone", "constraint"], &instance.at)).set(*limit_w);
            }
            ("idle.max_latency_us", Value::Number(limit_us)) => {
                wake_ups.get_or_create(&labels(CPU, &instance.at)).set(*limit_us / 1e6);
            }
            ("cpu.epp", value) => {
                let labels = vec![("policy", escaped(&instance.at)), ("epp", escaped(&value.to_string()))];
                preferences.get_or_create(&labels).set(1.0);
            }
            _ => {}
        }
    }
}

fn hold(registry: &mut Registry, hold: Option<&HoldInForce>) {
    let states = gauges(registry, "bayop_hold", "Whether a setting is held under conditions, or gave way");
    for (state, is_so) in [
        ("held", hold.is_some_and(|hold| hold.fell_back.is_none())),
        ("fell_back", hold.is_some_and(|hold| hold.fell_back.is_some())),
    ] {
        states.get_or_create(&vec![("state", state.to_owned())]).set(if is_so { 1.0 } else { 0.0 });
    }
    let Some(hold) = hold else { return };
    if let Some(latest) = &hold.latest {
        gauge(registry, "bayop_hold_latency_age_seconds", "How long ago the watched latency was pushed", latest.age_s);
        let latency_s = latest.latency_us / 1e6;
        gauge(registry, "bayop_hold_latency_seconds", "The watched latency, as it was pushed", latency_s);
    }
    if let Some(limit) = &hold.conditions.latency {
        let limit_s = limit.limit_us / 1e6;
        gauge(registry, "bayop_hold_latency_limit_seconds", "The limit of the watched latency", limit_s);
    }
}

fn experts(registry: &mut Registry, scores: &BTreeMap<String, Score>) {
    let forecasts = counters(registry, "bayop_idle_predictions", "Stays in idle states whose length was forecast");
    let hits = counters(registry, "bayop_idle_hits", "Forecasts by which the right idle state would have been chosen");
    let losses =
        counters(registry, "bayop_idle_loss_seconds", "By how much forecasts of stays in idle states were wrong");
    for (expert, score) in scores {
        let labels = vec![("expert", escaped(expert))];
        forecasts.get_or_create(&labels).inc_by(score.forecasts as f64);
        hits.get_or_create(&labels).inc_by(score.hits as f64);
        losses.get_or_create(&labels).inc_by(score.loss_us as f64 / 1e6);
    }
}

/// The parts of a place (`cpu0/C6`) under their names; the last name takes the rest.
fn labels(names: &[&'static str], at: &str) -> Labels {
    names.iter().copied().zip(at.splitn(names.len(), '/').map(escaped)).collect()
}

/// A label's value as OpenMetrics wants it written; the library writes it as it is.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

fn gauges(registry: &mut Registry, name: &str, help: &str) -> Gauges {
    let family = Gauges::default();
    registry.register(name, help, family.clone());
    family
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge = Gauge::<f64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn counters(registry: &mut Registry, name: &str, help: &str) -> Counters {
    let family = Counters::default();
    registry.register(name, help, family.clone());
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(name: &'static str, at: &str, kind: sensor::Kind, value: bayop_core::Result<f64>) -> Reading {
        let (at, source) = (at.to_owned(), "/proc/stat".to_owned());
        Reading { name, at, value, unit: "1", kind, source, estimated: false, time_s: 0.0 }
    }

    fn scrape(readings: &[Reading], tally: &Tally) -> String {
        let own = Own { cpu_s: 1.5, rss_bytes: 4096 };
        let (mode, meter) = (Mode::Advise, Some("powercap".to_owned()));
        let expert = ("network".to_owned(), Score { forecasts: 9, hits: 4, loss_us: 2_500_000 });
        render(&Snapshot {
            mode,
            own,
            tally,
            readings,
            meter,
            knobs: vec![],
            held: &[],
            damaged: true,
            hold: None,
            experts: BTreeMap::from([expert]),
        })
    }

    #[test]
    fn places_are_labels_units_are_base_units_and_an_error_is_a_gap() {
        let text = scrape(
            &[
                reading("idle_usage", "cpu0/C6", sensor::Kind::Counter, Ok(7.0)),
                reading("freq_mhz", "cpu1", sensor::Kind::Gauge, Ok(2100.0)),
                reading("energy_j", "machine", sensor::Kind::Counter, Err(bayop_core::Error::unsupported("gone"))),
            ],
            &Tally::default(),
        );
        for line in [
            "bayop_cpuidle_usage_total{cpu=\"cpu0\",state=\"C6\"} 7.0",
            "bayop_cpu_frequency_hertz{cpu=\"cpu1\"} 2100000000.0",
            "bayop_mode{mode=\"advise\"} 1.0",
            "bayop_mode{mode=\"apply\"} 0.0",
            "process_cpu_seconds_total 1.5",
            "bayop_power_meter_info{meter=\"powercap\"} 1.0",
            "bayop_journal_damaged 1.0",
            "bayop_knobs_held{state=\"latched\"} 0.0",
            "bayop_fallbacks_total{reason=\"silence\"} 0.0",
            "bayop_idle_predictions_total{expert=\"network\"} 9.0",
            "bayop_idle_hits_total{expert=\"network\"} 4.0",
            "bayop_idle_loss_seconds_total{expert=\"network\"} 2.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing from\n{text}");
        }
        assert!(!text.contains("bayop_energy_joules_total"));
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_name_can_not_forge_a_label_or_a_sample() {
        let forged = "zone\"} 1\nforged{a=\"\\";
        let text = scrape(&[reading("energy_j", forged, sensor::Kind::Counter, Ok(7.0))], &Tally::default());
        let line = r#"bayop_energy_joules_total{zone="zone\"} 1\nforged{a=\"\\"} 7.0"#;
        assert!(text.lines().any(|found| found == line), "{text}");
    }

    #[test]
    fn invented_knobs_make_no_series() {
        let tally = Tally::default();
        tally.failed("power.cap_w", &Error::forbidden("no"));
        tally.failed("nic.invented", &Error::forbidden("no"));
        let text = scrape(&[], &tally);
        assert!(text.contains("bayop_knob_writes_total{knob=\"power.cap_w\",result=\"refused\"} 1.0"));
        assert!(!text.contains("invented"));
    }
}
