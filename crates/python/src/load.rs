//! The load generator in Python: plans go in and reports come out.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bayop_load::arrivals::Arrivals;
use bayop_load::connections::Connections;
use bayop_load::distribution::Distribution;
use bayop_load::header::Header;
use bayop_load::histogram::{hgrm, quantile_ns};
use bayop_load::interval::quantile;
use bayop_load::plan::Plan;
use bayop_load::popularity::Popularity;
use bayop_load::preload;
use bayop_load::report::{Batch, Report};
use bayop_load::summary::{lateness, quantiles};
use bayop_load::trace;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::error::raise;

/// Adds everything of this module to `bayop._core`.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LoadReport>()?;
    module.add_class::<LoadConnections>()?;
    module.add_function(wrap_pyfunction!(load_preload, module)?)?;
    module.add_function(wrap_pyfunction!(load_run, module)?)?;
    module.add_function(wrap_pyfunction!(load_draw, module)?)?;
    module.add_function(wrap_pyfunction!(load_choose, module)?)?;
    module.add_function(wrap_pyfunction!(load_check_header, module)?)?;
    module.add_function(wrap_pyfunction!(load_arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(load_trace_counts, module)?)?;
    module.add_function(wrap_pyfunction!(load_trace_times, module)?)
}

/// Stores every record of a plan and reads it back.
#[pyfunction]
pub fn load_preload<'py>(py: Python<'py>, plan: &str) -> PyResult<Bound<'py, PyDict>> {
    let plan = Plan::from_json(plan).map_err(|error| raise(py, &error))?;
    let mut interrupt = None;
    let done = py.detach(|| {
        preload::preload(&plan, || {
            interrupt = interrupt.take().or_else(|| Python::attach(|py| py.check_signals().err()));
            interrupt.is_some()
        })
    });
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let done = done.map_err(|error| raise(py, &error))?;
    let dict = PyDict::new(py);
    set_fields!(dict, done: records, value_bytes);
    Ok(dict)
}

/// Connections that outlive a run.
#[pyclass(module = "bayop._core", frozen)]
pub struct LoadConnections(Mutex<Connections>);

#[pymethods]
impl LoadConnections {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }
}

/// Runs a plan, over the connections that an earlier run has left where some are given.
///
/// Ctrl-C, or `stop` when it says so, ends the load, and the report says so. `watch` is told what was seen until then.
#[pyfunction]
#[pyo3(signature = (plan, *, connections = None, stop = None, watch = None))]
pub fn load_run(
    py: Python<'_>,
    plan: &str,
    connections: Option<Py<LoadConnections>>,
    stop: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
) -> PyResult<LoadReport> {
    let plan = Plan::from_json(plan).map_err(|error| raise(py, &error))?;
    let mut seen = (0, None, None);
    let mut broken = None;
    let mut look = |py: Python<'_>, report: &Report| {
        if let Some(watch) = &watch {
            let requests = report.batches.iter().map(Batch::count).sum();
            if requests != seen.0 {
                let us = |share| quantile(report, share).value_ns.map(|ns| ns as f64 / 1000.0);
                seen = (requests, us(0.5), us(0.99));
            }
            watch.call1(py, seen)?;
        }
        stop.as_ref().map_or(Ok(false), |stop| stop.call0(py)?.is_truthy(py))
    };
    let mut interrupted = |py: Python<'_>, report: &Report| {
        py.check_signals().is_err()
            || look(py, report).unwrap_or_else(|error| {
                broken = Some(error);
                true
            })
    };
    let own = Mutex::default();
    let connections = connections.as_ref().map_or(&own, |connections| &connections.get().0);
    let report = py.detach(|| {
        let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
        bayop_load::run::run_over(&mut connections, &plan, |report| Python::attach(|py| interrupted(py, report)))
    });
    if let Some(error) = broken {
        return Err(error);
    }
    report.map(LoadReport).map_err(|error| raise(py, &error))
}

/// Numbers from a distribution, as a plan's sizes and gaps are drawn.
#[pyfunction]
pub fn load_draw(py: Python<'_>, distribution: &str, count: usize, seed: u64) -> PyResult<Vec<f64>> {
    let distribution: Distribution = distribution.parse().map_err(|error| raise(py, &error))?;
    let mut rng = SmallRng::seed_from_u64(seed);
    Ok((0..count).map(|_| distribution.sample(&mut rng)).collect())
}

/// Records as a popularity chooses them.
#[pyfunction]
pub fn load_choose(py: Python<'_>, popularity: &str, records: u64, count: usize, seed: u64) -> PyResult<Vec<u64>> {
    let popularity: Popularity = popularity.parse().map_err(|error| raise(py, &error))?;
    let chooser = popularity.chooser(records);
    let mut rng = SmallRng::seed_from_u64(seed);
    Ok((0..count).map(|_| chooser.choose(&mut rng)).collect())
}

/// Refuses what is no header of an HTTP request.
#[pyfunction]
pub fn load_check_header(py: Python<'_>, header: &str) -> PyResult<()> {
    header.parse::<Header>().map(drop).map_err(|error| raise(py, &error))
}

/// The first intended send times of one thread of a plan, in ns since the start of the run.
#[pyfunction]
pub fn load_arrivals(py: Python<'_>, plan: &str, thread: usize, count: usize) -> PyResult<Vec<u64>> {
    let plan = Plan::from_json(plan).map_err(|error| raise(py, &error))?;
    Ok(Arrivals::new(&plan, thread).take(count).collect())
}

/// Requests of a recorded trace in each complete bin since the first one.
#[pyfunction]
pub fn load_trace_counts(py: Python<'_>, path: PathBuf, bin_s: f64) -> PyResult<Vec<u64>> {
    py.detach(|| trace::counts(&path, bin_s)).map_err(|error| raise(py, &error))
}

/// Times of the first requests of a recorded trace, in s since the first one.
#[pyfunction]
pub fn load_trace_times(py: Python<'_>, path: PathBuf, most: usize) -> PyResult<Vec<f64>> {
    py.detach(|| trace::times_s(&path, most)).map_err(|error| raise(py, &error))
}

/// What one or several generators saw.
#[pyclass(module = "bayop._core")]
pub struct LoadReport(Report);

#[pymethods]
impl LoadReport {
    /// Reads what `to_json` wrote.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        Report::from_json(text).map(Self).map_err(|error| raise(py, &error))
    }

    /// As JSON, for another machine.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Another one with the same in it.
    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    /// Adds what another generator saw at the same time.
    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// Adds what was seen in a later measurement of the same thing.
    fn append(&mut self, later: &Self) {
        self.0.append(&later.0);
    }

    /// Latency quantiles: (quantile, value, low, high) each, in us.
    #[allow(clippy::type_complexity, reason = "it is a row of a table")]
    fn quantiles(&self, wanted: Vec<f64>) -> Vec<(f64, Option<f64>, Option<f64>, Option<f64>)> {
        let rows = quantiles(&self.0, &wanted);
        rows.into_iter().map(|row| (row.quantile, row.value_us, row.low_us, row.high_us)).collect()
    }

    /// What the latency quantiles would be in us, had every request been sent in time.
    fn punctual_quantiles(&self, wanted: Vec<f64>) -> Vec<Option<f64>> {
        let value_us = |which| quantile_ns(&self.0.punctual, which).map(|value_ns| value_ns as f64 / 1e3);
        wanted.into_iter().map(value_us).collect()
    }

    /// How late the generator was.
    fn lateness<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let late = lateness(&self.0);
        let dict = PyDict::new(py);
        set_fields!(dict, late: p50_us, p99_us, max_us, is_on_time);
        Ok(dict)
    }

    /// How many requests met which fate.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = &self.0.counts;
        let dict = PyDict::new(py);
        set_fields!(dict, counts: intended, answered, timestamped, refused);
        set_fields!(dict, counts: lost_closed, lost_timed_out, lost_garbage, lost_unconnected);
        set_fields!(dict, counts: gets, misses, answers_in_time, bytes_sent, bytes_received, reconnects, queued);
        set_fields!(dict, counts: status_2xx, status_3xx, status_4xx, status_5xx);
        Ok(dict)
    }

    /// What was seen of each request of a mix: its name, how many there were, how many failed, and quantiles in us.
    #[allow(clippy::type_complexity, reason = "it is a row of a table")]
    fn mix(&self, wanted: Vec<f64>) -> Vec<(&str, u64, u64, Vec<Option<f64>>)> {
        let rows = self.0.mix.iter();
        rows.map(|(name, seen)| {
            let value_us = |&which: &f64| seen.quantile_ns(which).map(|value_ns| value_ns as f64 / 1e3);
            (&**name, seen.count(), seen.failed, wanted.iter().map(value_us).collect())
        })
        .collect()
    }

    /// What went wrong, in words, and how often.
    fn troubles(&self) -> std::collections::BTreeMap<String, u64> {
        self.0.troubles.clone()
    }

    /// Mean latency in us; None when nothing was answered.
    #[getter]
    fn mean_us(&self) -> Option<f64> {
        self.0.latency().mean().map(|mean_ns| mean_ns / 1e3)
    }

    /// Length of the measurement.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration_s
    }

    /// Whether the measurement ended because the interval was narrow enough.
    #[getter]
    fn ended_early(&self) -> bool {
        self.0.ended_early
    }

    /// Whether somebody ended it.
    #[getter]
    fn interrupted(&self) -> bool {
        self.0.interrupted
    }

    /// Every latency that was recorded, in us, and how often.
    fn histogram(&self) -> Vec<(f64, u64)> {
        self.0.latency().buckets().map(|bucket| (bucket.high() as f64 / 1e3, bucket.count)).collect()
    }

    /// The percentile distribution in HdrHistogram's text format, in us.
    fn to_hgrm(&self) -> String {
        hgrm(&self.0.latency())
    }

    /// Intended, sent and received time of every answered request as native 64-bit integers in ns.
    fn samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let times = self.0.samples.iter().flat_map(|sample| [sample.intended_ns, sample.sent_ns, sample.received_ns]);
        PyBytes::new(py, &times.flat_map(u64::to_ne_bytes).collect::<Vec<u8>>())
    }
}
