//! The compiled part of the Python package, `bayop._core`: the digital twin, the load generator, the replay of
//! idle governors and the knob catalogue.
//!
//! The only crate that knows Python. It translates arguments, results and errors, releases the
//! interpreter while simulations run, and lets Ctrl-C interrupt them.

/// Puts fields of a structure into a dict, under their own names.
macro_rules! set_fields {
    ($dict:ident, $from:ident: $($field:ident),+) => {
        $($dict.set_item(stringify!($field), &$from.$field)?;)+
    };
}

mod error;
mod idle;
mod knobs;
mod load;
mod twin;

use pyo3::prelude::*;

/// Compiled parts of BayOp.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<twin::Profile>()?;
    module.add_function(wrap_pyfunction!(twin::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(idle::idle_governors, module)?)?;
    module.add_function(wrap_pyfunction!(idle::idle_replay, module)?)?;
    module.add_function(wrap_pyfunction!(idle::idle_follow, module)?)?;
    module.add_function(wrap_pyfunction!(idle::find_idle_states, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::knob_catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::knob_spellings, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::driver_rules, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::examine, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::find_knobs, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::find_nics, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::find_services, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::record_machine, module)?)?;
    module.add_function(wrap_pyfunction!(knobs::unpack_machine, module)?)?;
    load::register(module)?;
    Ok(())
}
