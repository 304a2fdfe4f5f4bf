//! The Python face of the core's errors.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    bayop._core,
    ProfileError,
    PyValueError,
    "A profile, setting or run that cannot be used.\n\n\
     Attributes: `rule` (what must hold), `value` (what was given), `place` (file, line and key\n\
     as far as known) and `hint` (what to do; may be empty)."
);

/// The Python exception for an error of the core.
pub fn raise(py: Python<'_>, error: &bayop_twin::ProfileError) -> PyErr {
    let exception = ProfileError::new_err(error.to_string());
    let value = exception.value(py);
    let parts = [("rule", &error.rule), ("value", &error.value), ("place", &error.place), ("hint", &error.hint)];
    for (name, text) in parts {
        if let Err(failure) = value.setattr(name, text) {
            return failure;
        }
    }
    exception
}
