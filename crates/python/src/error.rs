//! The Python face of the core's errors.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    bayop._core,
    Error,
    PyException,
    "What the core can't do.\n\n\
     Attributes: `kind` (input, failed, unsupported, drift), `wrong` (what happened), `rule` (what must hold),\n\
     `value` (what was given), `place` (where it came from) and `hint` (what to do); None where there is none."
);

/// The Python exception for an error of the core.
pub fn raise(py: Python<'_>, error: &bayop_core::Error) -> PyErr {
    let exception = Error::new_err(error.to_string());
    let parts = [
        ("kind", Some(error.kind.name())),
        ("wrong", error.wrong.as_deref()),
        ("rule", error.rule.as_deref()),
        ("value", error.value.as_deref()),
        ("place", error.place.as_deref()),
        ("hint", error.hint.as_deref()),
    ];
    for (name, text) in parts {
        if let Err(failure) = exception.value(py).setattr(name, text) {
            return failure;
        }
    }
    exception
}
