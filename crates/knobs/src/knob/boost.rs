//! `cpu.boost`: frequencies above those that can be held (Documentation/admin-guide/pm/cpufreq.rst, "Frequency Boost
//! Support"; intel_pstate.rst, `no_turbo`).

use super::attribute::{as_word, number, switch};
use super::domain::Domain;
use super::kind::Kind;
use super::policy;
use crate::control::{Control, Write};
use crate::host::Host;
use crate::sysfs::{CPUFREQ, CPUS};
use crate::value::Value;
use bayop_core::{Error, Result};

/// The place of a switch that is for all CPUs.
const ALL: &str = "all";

/// `cpu.boost`.
#[derive(Debug)]
pub(super) struct Boost;

/// A switch, and whether a 1 in it forbids boost.
struct Switch {
    path: String,
    forbids: bool,
}

impl Kind for Boost {
    fn id(&self) -> &'static str {
        "cpu.boost"
    }

    /// The switch of all CPUs first: writing it sets those of the policies.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let candidates = std::iter::once(ALL.to_owned()).chain(policy::names(host)?);
        let places: Vec<_> = candidates
            .filter(|at| host.has(&switch_at(host, at).path))
            .map(|at| (at, Domain::Choices(vec!["off".into(), "on".into()])))
            .collect();
        if places.is_empty() {
            return Err(Error::unsupported("the cpufreq driver does not let boost be switched")
                .at(format!("/{CPUFREQ}/boost"))
                .hint("look for turbo or core performance boost in the firmware's set-up"));
        }
        Ok(places)
    }

    fn read(&self, host: &Host, at: &str) -> Result<Value> {
        let Switch { path, forbids } = switch_at(host, at);
        match number(host, &path)? {
            bit @ (0 | 1) => Ok(switch((bit == 1) != forbids)),
            other => Err(Error::malformed(other, "the switch must be 0 or 1").at(format!("/{path}"))),
        }
    }

    fn plan(&self, host: &Host, at: &str, value: &Value) -> Result<Vec<Write>> {
        let Switch { path, forbids } = switch_at(host, at);
        let bit = (as_word(value)? == "on") != forbids;
        Ok(vec![Write { control: Control::file(path), text: u8::from(bit).to_string() }])
    }
}

fn switch_at(host: &Host, at: &str) -> Switch {
    let no_turbo = format!("{CPUS}/intel_pstate/no_turbo");
    if at != ALL {
        Switch { path: policy::file(at, "boost"), forbids: false }
    } else if host.has(&no_turbo) {
        Switch { path: no_turbo, forbids: true }
    } else {
        Switch { path: format!("{CPUFREQ}/boost"), forbids: false }
    }
}
