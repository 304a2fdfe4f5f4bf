//! The digital twin in Python: profiles and batches of simulations.

use std::collections::{BTreeMap, HashMap};

use bayop_core::Error;
use bayop_twin::{Domain, Knob, Length, Load, Measurement, Override, Run, Setting, Stopped};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyType};

use crate::error::raise;

/// A parsed profile: a machine, an operating system and an application.
#[pyclass(frozen, eq, from_py_object, module = "bayop._core")]
#[derive(Clone, PartialEq)]
pub struct Profile(bayop_twin::Profile);

#[derive(FromPyObject)]
enum Value {
    Number(f64),
    Text(String),
}

/// What a knob can be set to.
#[derive(IntoPyObject)]
enum Values {
    Steps((f64, f64, f64)),
    Choices(Vec<f64>),
}

#[pymethods]
impl Profile {
    /// Parses TOML text; `source` names it in errors.
    #[new]
    #[pyo3(signature = (toml, source = "profile"))]
    fn new(py: Python<'_>, toml: &str, source: &str) -> PyResult<Self> {
        bayop_twin::Profile::parse(toml, source).map(Self).map_err(|e| raise(py, &e))
    }

    /// What people call this server.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Cores that serve requests.
    #[getter]
    fn serving_cores(&self) -> usize {
        self.0.serving_cores()
    }

    /// P-states in MHz, ascending.
    #[getter]
    fn freq_mhz(&self) -> Vec<f64> {
        self.0.machine.freq_mhz.clone()
    }

    /// Whether the load is one message that goes back and forth, rather than a request rate.
    #[getter]
    fn closed_loop(&self) -> bool {
        self.0.exchange.is_some()
    }

    /// Whether cores spin on their queues instead of taking interrupts.
    #[getter]
    fn polls(&self) -> bool {
        self.0.os.polls()
    }

    /// What can be set, by knob id: least, greatest and step of its values, or all of them.
    fn knobs(&self) -> BTreeMap<&'static str, Values> {
        let values = |knob: Knob| {
            knob.domain(&self.0).map(|domain| match domain {
                Domain::Steps { least, greatest, step } => Values::Steps((least, greatest, step)),
                Domain::Choices(numbers) => Values::Choices(numbers),
            })
        };
        Knob::ALL.into_iter().filter_map(|knob| Some((knob.id(), values(knob)?))).collect()
    }

    /// Every number by its dotted key.
    fn values(&self) -> BTreeMap<String, f64> {
        self.0.values().into_iter().collect()
    }

    /// The same profile with some values replaced.
    fn with_values(&self, py: Python<'_>, values: BTreeMap<String, Value>) -> PyResult<Self> {
        let overrides: Vec<_> = values
            .into_iter()
            .map(|(key, value)| match value {
                Value::Number(number) => (key, Override::Number(number)),
                Value::Text(text) => (key, Override::Text(text)),
            })
            .collect();
        self.0.with_values(&overrides).map(Self).map_err(|e| raise(py, &e))
    }

    /// TOML text of the profile, without comments.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// Pickles as TOML text.
    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyType>, (String, String)) {
        let profile = &slf.get().0;
        (slf.get_type().unbind(), (profile.to_toml(), profile.name.clone()))
    }

    fn __repr__(&self) -> String {
        format!("Profile({:?}, {} cores)", self.0.name, self.0.machine.cores)
    }
}

/// One run as Python gives it.
struct RunDict {
    profile: Option<Profile>,
    qps: Option<f64>,
    message_bytes: Option<f64>,
    setting: HashMap<String, f64>,
    requests: Option<u64>,
    duration_s: Option<f64>,
    warmup_s: Option<f64>,
    seed: Option<u64>,
}

const KEYS: [&str; 8] = ["profile", "qps", "message_bytes", "setting", "requests", "duration_s", "warmup_s", "seed"];

impl RunDict {
    fn extract(run: &Bound<'_, PyDict>) -> PyResult<Self> {
        for key in run.keys() {
            let key: String = key.extract()?;
            if !KEYS.contains(&key.as_str()) {
                let error = Error::input(format!("a run has no {key}")).value(key).at("run");
                return Err(raise(run.py(), &error.hint(format!("known: {}", KEYS.join(", ")))));
            }
        }
        Ok(Self {
            profile: value(run, "profile")?,
            qps: value(run, "qps")?,
            message_bytes: value(run, "message_bytes")?,
            setting: value(run, "setting")?.unwrap_or_default(),
            requests: value(run, "requests")?,
            duration_s: value(run, "duration_s")?,
            warmup_s: value(run, "warmup_s")?,
            seed: value(run, "seed")?,
        })
    }

    fn run(&self, py: Python<'_>) -> PyResult<Run> {
        let length = match (self.requests, self.duration_s) {
            (Some(requests), Some(seconds)) => {
                let value = format!("requests {requests} and duration_s {seconds}");
                let rule = "a run must have requests or duration_s, not both";
                return Err(raise(py, &Error::cannot_use(value, rule).at("run")));
            }
            (Some(requests), None) => Length::Requests(requests),
            (None, Some(seconds)) => Length::Seconds(seconds),
            (None, None) => Length::Requests(200_000),
        };
        let load = match (self.qps, self.message_bytes) {
            (Some(qps), None) => Load::Qps(qps),
            (None, Some(bytes)) => Load::MessageBytes(bytes),
            (qps, bytes) => {
                let value = format!("qps {qps:?} and message_bytes {bytes:?}");
                let rule = "a run must have either qps or message_bytes";
                return Err(raise(py, &Error::cannot_use(value, rule).at("run")));
            }
        };
        Ok(Run {
            setting: Setting::of_knobs(self.setting.iter().map(|(id, &value)| (id.as_str(), value)))
                .map_err(|error| raise(py, &error))?,
            load,
            length,
            warmup_s: self.warmup_s,
            seed: self.seed.unwrap_or(0),
        })
    }
}

/// The value of a key; `None` when it is absent or None.
fn value<'py, T>(run: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>>
where
    T: FromPyObjectOwned<'py>,
{
    match run.get_item(key)? {
        Some(value) => value.extract().map_err(Into::into),
        None => Ok(None),
    }
}

/// Simulates every run (a dict) and returns one measurement (a dict) for each, in order.
///
/// Runs use `profile` unless they name their own. The interpreter is released meanwhile, and
/// Ctrl-C interrupts. Results do not depend on `threads`.
#[pyfunction]
#[pyo3(signature = (profile, runs, *, threads = 1))]
pub fn simulate<'py>(
    py: Python<'py>,
    profile: &Profile,
    runs: Vec<Bound<'py, PyDict>>,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let dicts: Vec<RunDict> = runs.iter().map(RunDict::extract).collect::<PyResult<_>>()?;
    let jobs: Vec<(&bayop_twin::Profile, Run)> = dicts
        .iter()
        .map(|dict| Ok((&dict.profile.as_ref().unwrap_or(profile).0, dict.run(py)?)))
        .collect::<PyResult<_>>()?;
    let mut interrupt = None;
    let results = py.detach(|| {
        bayop_twin::simulate_batch(&jobs, threads, || {
            interrupt = interrupt.take().or_else(|| Python::attach(|py| py.check_signals().err()));
            interrupt.is_some()
        })
    });
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let results = results.map_err(|Stopped| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))?;
    results.iter().map(|result| to_dict(py, result.as_ref().map_err(|e| raise(py, e))?)).collect()
}

fn to_dict<'py>(py: Python<'py>, m: &Measurement) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields!(dict, m: power_w);
    dict.set_item("energy_j", m.energy.total_j())?;
    let parts = [
        ("static", m.energy.static_j),
        ("busy", m.energy.busy_j),
        ("halted", m.energy.halted_j),
        ("settled", m.energy.settled_j),
    ];
    dict.set_item("energy_parts_j", BTreeMap::from(parts))?;
    for (name, (_, value)) in ["p5_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us"].iter().zip(&m.latency_us) {
        dict.set_item(name, value)?;
    }
    set_fields!(dict, m: mean_us, utilization, interrupts_per_s, qps, duration_s, completed, dropped);
    let residency: Vec<(&str, f64)> = m.idle_states.iter().map(|s| (s.name.as_str(), s.residency)).collect();
    let entries: Vec<(&str, f64)> = m.idle_states.iter().map(|s| (s.name.as_str(), s.entries_per_s)).collect();
    dict.set_item("idle_residency", residency.into_py_dict(py)?)?;
    let by_core: Vec<(&str, &[f64])> = m.idle_states.iter().map(|s| (s.name.as_str(), &s.core_residency[..])).collect();
    dict.set_item("core_idle_residency", by_core.into_py_dict(py)?)?;
    dict.set_item("idle_entries_per_s", entries.into_py_dict(py)?)?;
    set_fields!(dict, m: rx_usecs, freq_mhz, instructions, packets_per_s, thread_wakes_per_s);
    Ok(dict)
}
