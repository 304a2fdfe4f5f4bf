//! How deep CPUs sleep: the idle governor, switched-off states, and latency limits by PM QoS
//! (Documentation/admin-guide/pm/cpuidle.rst).

use super::attribute::{as_number, as_word, no_number, number, numbered, parse, switch, words};
use super::domain::Domain;
use super::kind::Kind;
use crate::control::{Control, Write};
use crate::host::Host;
use crate::sysfs::CPUS;
use crate::value::Value;
use bayop_core::{Error, Result};

/// The place of what holds for every CPU.
const ALL: &str = "all";

/// The value of a latency limit that nobody set.
const UNLIMITED: &str = "unlimited";

/// The limit that stands for none in `/dev/cpu_dma_latency`: PM_QOS_CPU_LATENCY_DEFAULT_VALUE, 2000 s.
const NO_LIMIT_US: i32 = 2_000_000_000;

/// `idle.governor`.
#[derive(Debug)]
pub(super) struct Governor;

/// `idle.disable`.
#[derive(Debug)]
pub(super) struct Disable;

/// `idle.max_latency_us`.
#[derive(Debug)]
pub(super) struct ResumeLatency;

/// `idle.cpu_dma_latency_us`.
#[derive(Debug)]
pub(super) struct CpuDmaLatency;

impl Kind for Governor {
    fn id(&self) -> &'static str {
        "idle.governor"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let governors = words(host, &format!("{CPUS}/cpuidle/available_governors"))
            .map_err(|error| error.hint("a kernel with CONFIG_CPU_IDLE offers idle governors"))?;
        Ok(vec![(ALL.to_owned(), Domain::Choices(governors.into_iter().map(Value::Word).collect()))])
    }

    fn read(&self, host: &Host, _at: &str) -> Result<Value> {
        host.read(&governor()).map(Value::Word)
    }

    fn plan(&self, _host: &Host, _at: &str, value: &Value) -> Result<Vec<Write>> {
        Ok(vec![Write { control: Control::file(governor()), text: as_word(value)?.to_owned() }])
    }
}

fn governor() -> String {
    format!("{CPUS}/cpuidle/current_governor")
}

impl Kind for Disable {
    fn id(&self) -> &'static str {
        "idle.disable"
    }

    /// One place for each state by its name, which is the same state on every CPU.
    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let mut names: Vec<String> = Vec::new();
        for folder in states(host) {
            let name = host.read(&format!("{folder}/name"))?;
            if !names.contains(&name) && host.has(&format!("{folder}/disable")) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Err(no_states());
        }
        let domain = Domain::Choices(vec!["off".into(), "on".into()]);
        Ok(names.into_iter().map(|name| (name, domain.clone())).collect())
    }

    /// `mixed` when the CPUs differ.
    fn read(&self, host: &Host, name: &str) -> Result<Value> {
        let values: Vec<u64> = files(host, name).map(|path| number(host, &path)).collect::<Result<_>>()?;
        match values[..] {
            [] => Err(no_states()),
            [first, ..] if values.iter().all(|&value| (value == 0) == (first == 0)) => Ok(switch(first != 0)),
            _ => Ok("mixed".into()),
        }
    }

    fn plan(&self, host: &Host, name: &str, value: &Value) -> Result<Vec<Write>> {
        let text = if as_word(value)? == "on" { "1" } else { "0" };
        Ok(files(host, name).map(|path| Write { control: Control::file(path), text: text.to_owned() }).collect())
    }
}

/// The folders of all states of all CPUs.
fn states(host: &Host) -> impl Iterator<Item = String> {
    numbered(host, CPUS, "cpu").into_iter().flat_map(move |cpu| {
        let folder = format!("{CPUS}/{cpu}/cpuidle");
        numbered(host, &folder, "state").into_iter().map(move |state| format!("{folder}/{state}"))
    })
}

fn files(host: &Host, name: &str) -> impl Iterator<Item = String> {
    states(host)
        .filter(move |folder| host.read(&format!("{folder}/name")).is_ok_and(|own| own == name))
        .map(|folder| format!("{folder}/disable"))
}

fn no_states() -> Error {
    Error::unsupported("the CPUs have no idle states")
        .at(format!("/{CPUS}/cpu0/cpuidle"))
        .hint("boot without idle=poll and processor.max_cstate=0; in a virtual machine the host decides")
}

impl Kind for ResumeLatency {
    fn id(&self) -> &'static str {
        "idle.max_latency_us"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        let high = deepest_us(host)?;
        let cpus = numbered(host, CPUS, "cpu").into_iter().filter(|cpu| host.has(&resume_latency(cpu)));
        Ok(cpus.map(|cpu| (cpu, Domain::steps(0.0, high, 1.0))).collect())
    }

    /// The kernel writes no limit as 0 and a limit of 0 us as `n/a` (Documentation/ABI/testing/sysfs-devices-power).
    fn read(&self, host: &Host, cpu: &str) -> Result<Value> {
        let path = resume_latency(cpu);
        match host.read(&path)?.as_str() {
            "n/a" => Ok(Value::Number(0.0)),
            "0" => Ok(UNLIMITED.into()),
            text => {
                parse(text).map(|us| Value::Number(us as f64)).ok_or_else(|| no_number(text).at(format!("/{path}")))
            }
        }
    }

    fn plan(&self, _host: &Host, cpu: &str, value: &Value) -> Result<Vec<Write>> {
        let text = match as_number(value)? {
            0.0 => "n/a".to_owned(),
            us => us.to_string(),
        };
        Ok(vec![Write { control: Control::file(resume_latency(cpu)), text }])
    }
}

fn resume_latency(cpu: &str) -> String {
    format!("{CPUS}/{cpu}/power/pm_qos_resume_latency_us")
}

/// The exit latency of the deepest state of any CPU: a limit that is no less forbids nothing.
fn deepest_us(host: &Host) -> Result<f64> {
    let latencies: Vec<u64> =
        states(host).map(|folder| number(host, &format!("{folder}/latency"))).collect::<Result<_>>()?;
    latencies.into_iter().max().map(|us| us as f64).ok_or_else(no_states)
}

impl Kind for CpuDmaLatency {
    fn id(&self) -> &'static str {
        "idle.cpu_dma_latency_us"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        self.read(host, ALL)?;
        Ok(vec![(ALL.to_owned(), Domain::steps(0.0, deepest_us(host)?, 1.0))])
    }

    /// The least of the limits that all processes hold.
    fn read(&self, host: &Host, _at: &str) -> Result<Value> {
        Ok(match host.dma_latency().in_effect_us()? {
            NO_LIMIT_US => UNLIMITED.into(),
            us => Value::Number(f64::from(us)),
        })
    }

    fn plan(&self, _host: &Host, _at: &str, value: &Value) -> Result<Vec<Write>> {
        Ok(vec![Write { control: Control::DmaLatency, text: as_number(value)?.to_string() }])
    }
}
