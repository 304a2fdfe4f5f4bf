//! The knob catalogue and the doctor in Python.

use std::path::PathBuf;

use bayop_knobs::Host;
use bayop_knobs::catalogue::{self, End, Entry};
use bayop_knobs::doctor::{self, Options, Status};
use bayop_knobs::knob::{Domain, Instance, survey};
use bayop_knobs::{recording, serving, tree};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// Every knob that BayOp knows, as a dict each, in the order of the catalogue.
#[pyfunction]
pub fn knob_catalogue(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    catalogue::entries().iter().map(|entry| to_dict(py, entry)).collect()
}

/// How programs spell knobs that set them without BayOp: a dict for each knob that some do, by its id.
#[pyfunction]
pub fn knob_spellings(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (id, spelled) in catalogue::entries().iter().filter_map(|entry| Some((&entry.id, entry.spelled.as_ref()?))) {
        let dict = PyDict::new(py);
        set_fields!(dict, spelled: ethtool, link, without, files, factor, words, everywhere);
        all.set_item(id, dict)?;
    }
    Ok(all)
}

/// Examines this machine, or a recorded one: a dict for each finding.
#[pyfunction]
#[pyo3(signature = (*, root = None))]
pub fn examine(py: Python<'_>, root: Option<PathBuf>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let host = root.map_or_else(Host::live, Host::recorded);
    let findings = py.detach(|| doctor::examine(&host, &Options::default()));
    let to_dict = |finding: doctor::Finding| {
        let status = match finding.status {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Missing => "missing",
            Status::Blocker => "blocker",
        };
        let dict = PyDict::new(py);
        set_fields!(dict, finding: check);
        dict.set_item("status", status)?;
        set_fields!(dict, finding: found, why, remedy);
        Ok(dict)
    };
    findings.into_iter().map(to_dict).collect()
}

/// The knobs of this machine or a recorded one, a dict for each place.
#[pyfunction]
#[pyo3(signature = (*, root = None))]
pub fn find_knobs(py: Python<'_>, root: Option<PathBuf>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let host = root.map_or_else(Host::live, Host::recorded);
    let survey = py.detach(|| survey(&host));
    let to_dict = |instance: &Instance| {
        let steps = match instance.domain {
            Domain::Steps { low, high, step, .. } => Some((low, high, step)),
            Domain::Choices(_) => None,
        };
        let dict = PyDict::new(py);
        dict.set_item("id", &instance.knob.id)?;
        dict.set_item("at", &instance.at)?;
        dict.set_item("steps", steps)?;
        Ok(dict)
    };
    survey.instances.iter().map(to_dict).collect()
}

/// The network devices of this machine or a recorded one, a dict each: the one of the default route first.
#[pyfunction]
#[pyo3(signature = (*, root = None))]
pub fn find_nics(py: Python<'_>, root: Option<PathBuf>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let to_dict = |nic: serving::Nic| {
        let dict = PyDict::new(py);
        set_fields!(dict, nic: name, driver, has_default_route, rx_packets);
        Ok(dict)
    };
    serving::nics(&root.map_or_else(Host::live, Host::recorded)).into_iter().map(to_dict).collect()
}

/// The servers of this machine or a recorded one that the load generator can speak to: their process and TCP port.
#[pyfunction]
#[pyo3(signature = (*, root = None))]
pub fn find_services(root: Option<PathBuf>) -> Vec<(String, u16)> {
    let services = serving::services(&root.map_or_else(Host::live, Host::recorded));
    services.into_iter().map(|service| (service.name, service.port)).collect()
}

/// What BayOp sees of this machine, or of a recorded one, in the format of `tests/machines`.
#[pyfunction]
#[pyo3(signature = (*, root = None))]
pub fn record_machine(py: Python<'_>, root: Option<PathBuf>) -> String {
    let host = root.map_or_else(Host::live, Host::recorded);
    py.detach(|| recording::record(&host))
}

/// Writes a recorded machine's files into a folder.
#[pyfunction]
pub fn unpack_machine(py: Python<'_>, text: &str, folder: PathBuf) -> PyResult<()> {
    tree::unpack(text, &folder).map(drop).map_err(|error| raise(py, &error))
}

fn to_dict<'py>(py: Python<'py>, entry: &Entry) -> PyResult<Bound<'py, PyDict>> {
    let safest = entry.safest.map(|end| match end {
        End::Low => "low",
        End::High => "high",
    });
    let dict = PyDict::new(py);
    set_fields!(dict, entry: id, summary, unit, place, domain, read, write, undo);
    dict.set_item("safest", safest)?;
    set_fields!(dict, entry: only_with, opt_in, hazards, source);
    Ok(dict)
}

/// What network drivers make of the coalescing parameters, as a dict for each rule.
#[pyfunction]
pub fn driver_rules(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let to_dict = |driver: &catalogue::Driver| {
        let parameters: Vec<_> = driver.parameters.iter().map(ToString::to_string).collect();
        let reserved: Vec<_> = driver.reserved.iter().map(|reserved| reserved.meaning.as_str()).collect();
        let dict = PyDict::new(py);
        set_fields!(dict, driver: name);
        dict.set_item("parameters", parameters)?;
        set_fields!(dict, driver: rule);
        dict.set_item("reserved", reserved)?;
        set_fields!(dict, driver: hazards, source);
        Ok(dict)
    };
    catalogue::drivers().iter().map(to_dict).collect()
}
