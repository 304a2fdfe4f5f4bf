//! The knob catalogue in Python.

use bayop_knobs::catalogue::{self, End, Entry};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Every knob that BayOp knows, as a dict each, in the order of the catalogue.
#[pyfunction]
pub fn knob_catalogue(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    catalogue::entries().iter().map(|entry| to_dict(py, entry)).collect()
}

fn to_dict<'py>(py: Python<'py>, entry: &Entry) -> PyResult<Bound<'py, PyDict>> {
    let safest = entry.safest.map(|end| match end {
        End::Low => "low",
        End::High => "high",
    });
    let dict = PyDict::new(py);
    dict.set_item("id", &entry.id)?;
    dict.set_item("summary", &entry.summary)?;
    dict.set_item("unit", &entry.unit)?;
    dict.set_item("place", &entry.place)?;
    dict.set_item("read", &entry.read)?;
    dict.set_item("write", &entry.write)?;
    dict.set_item("undo", &entry.undo)?;
    dict.set_item("safest", safest)?;
    dict.set_item("hazards", &entry.hazards)?;
    dict.set_item("source", &entry.source)?;
    Ok(dict)
}
