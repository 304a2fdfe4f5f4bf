//! `cpu.epp`: the hint by which a processor that sets its own frequency weighs speed against energy
//! (Documentation/admin-guide/pm/intel_pstate.rst, "Energy vs Performance Hints"; amd-pstate.rst, "Key Governors").

use super::attribute::{as_word, parse, words};
use super::domain::Domain;
use super::kind::Kind;
use super::policy::{self, file};
use crate::control::{Control, Write};
use crate::host::Host;
use crate::value::Value;
use bayop_core::{Error, Result};

const PREFERENCE: &str = "energy_performance_preference";
const PERFORMANCE: &str = "performance";

/// `cpu.epp`.
#[derive(Debug)]
pub(super) struct Epp;

impl Kind for Epp {
    fn id(&self) -> &'static str {
        "cpu.epp"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let mut places = Vec::new();
        for policy in policy::names(host)? {
            if host.has(&file(&policy, PREFERENCE)) {
                let choices = words(host, &file(&policy, "energy_performance_available_preferences"))?;
                places.push((policy, Domain::Choices(choices.into_iter().map(Value::Word).collect())));
            }
        }
        if places.is_empty() {
            return Err(Error::unsupported("the cpufreq driver takes no energy-performance preference")
                .hint("boot with intel_pstate=active or amd_pstate=active on a processor with HWP or CPPC"));
        }
        Ok(places)
    }

    /// A word, or the number from 0 (performance) to 255 (power) that somebody wrote instead.
    fn read(&self, host: &Host, policy: &str) -> Result<Value> {
        let text = host.read(&file(policy, PREFERENCE))?;
        Ok(match parse(&text) {
            Some(number) => Value::Number(number as f64),
            None if text.is_empty() => {
                return Err(Error::unsupported(format!("/{} holds no preference", file(policy, PREFERENCE))));
            }
            None => Value::Word(text),
        })
    }

    fn plan(&self, host: &Host, policy: &str, value: &Value) -> Result<Vec<Write>> {
        let word = as_word(value)?;
        let governor = file(policy, "scaling_governor");
        if host.read(&governor)? == PERFORMANCE && word != PERFORMANCE {
            let wrong = "the governor is performance, under which the driver keeps its own preference";
            return Err(Error::unsupported(wrong).value(word).hint(format!("echo powersave > /{governor}")));
        }
        Ok(vec![Write { control: Control::file(file(policy, PREFERENCE)), text: word.to_owned() }])
    }
}
