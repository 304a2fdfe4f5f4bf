//! The knobs that a machine has, each in its places.

mod attribute;
mod boost;
mod coalesce;
mod domain;
mod epp;
mod frequency;
mod idle;
mod kind;
mod napi;
mod perf_ctl;
mod policy;
mod powercap;
mod queues;

use crate::catalogue::{Entry, entry};
use crate::control::Write;
use crate::host::Host;
use crate::network::{CoalesceParameter, NapiParameter};
use crate::sysfs::US_PER_NS;
use crate::value::Value;
use bayop_core::{Error, Result};

use coalesce::Coalesce;
use kind::Kind;
use napi::Deferral;
use powercap::Constraint;

pub use domain::Domain;

/// One knob in one place of this machine: `nic.rx_usecs@eth0`, `power.cap_w@package-0/long_term`.
#[derive(Debug, Clone)]
pub struct Instance {
    /// What the knob is.
    pub knob: &'static Entry,
    /// Where: a device, a queue, a frequency policy, a powercap constraint.
    pub at: String,
    /// What it takes there.
    pub domain: Domain,
    kind: &'static dyn Kind,
}

/// A knob that this machine does not offer in some place.
#[derive(Debug, Clone)]
pub struct Missing {
    /// What the knob is.
    pub knob: &'static Entry,
    /// Why, and what to do about it.
    pub why: Error,
}

/// What the catalogue's knobs come to on one machine.
#[derive(Debug, Default)]
pub struct Survey {
    /// The knobs that can be read and, by root, written.
    pub instances: Vec<Instance>,
    /// The knobs that can't, with the reason.
    pub missing: Vec<Missing>,
}

/// The kinds, in the order of the catalogue.
const KINDS: &[&dyn Kind] = &[
    &Coalesce {
        id: "nic.rx_usecs",
        parameter: CoalesceParameter::RxUsecs,
        adaptive: CoalesceParameter::AdaptiveRx,
        queue: "rx-",
    },
    &Coalesce {
        id: "nic.rx_frames",
        parameter: CoalesceParameter::RxFrames,
        adaptive: CoalesceParameter::AdaptiveRx,
        queue: "rx-",
    },
    &Coalesce {
        id: "nic.tx_usecs",
        parameter: CoalesceParameter::TxUsecs,
        adaptive: CoalesceParameter::AdaptiveTx,
        queue: "tx-",
    },
    &Coalesce {
        id: "nic.adaptive_rx",
        parameter: CoalesceParameter::AdaptiveRx,
        adaptive: CoalesceParameter::AdaptiveRx,
        queue: "rx-",
    },
    &queues::CombinedQueues,
    &frequency::Pinned,
    &epp::Epp,
    &boost::Boost,
    &perf_ctl::PerfCtl,
    &idle::ResumeLatency,
    &idle::CpuDmaLatency,
    &idle::Governor,
    &idle::Disable,
    &Constraint {
        id: "power.cap_w",
        attribute: "power_limit_uw",
        low: None,
        high: "max_power_uw",
        least: 0,
        scale: 1e-6,
    },
    &Constraint {
        id: "power.cap_window_us",
        attribute: "time_window_us",
        low: Some("min_time_window_us"),
        high: "max_time_window_us",
        least: 1,
        scale: 1.0,
    },
    &Deferral {
        id: "napi.gro_flush_timeout_us",
        parameter: NapiParameter::GroFlushTimeout,
        file: Some("gro_flush_timeout"),
        high: LONGEST_US,
        scale: US_PER_NS,
    },
    &Deferral {
        id: "napi.defer_hard_irqs",
        parameter: NapiParameter::DeferHardIrqs,
        file: Some("napi_defer_hard_irqs"),
        high: i32::MAX as f64,
        scale: 1.0,
    },
    &Deferral {
        id: "napi.irq_suspend_timeout_us",
        parameter: NapiParameter::IrqSuspendTimeout,
        file: None,
        high: LONGEST_US,
        scale: US_PER_NS,
    },
];

/// The longest deferral that makes sense; the kernel has no bound.
const LONGEST_US: f64 = 1e6;

/// Looks for every knob of the catalogue on this machine. Reads only.
pub fn survey(host: &Host) -> Survey {
    let mut survey = Survey::default();
    for &kind in KINDS {
        let knob = entry(kind.id()).expect("every kind has an entry, by the test of the catalogue");
        match kind.places(host) {
            Ok(places) => {
                survey.instances.extend(places.into_iter().map(|(at, domain)| Instance { knob, at, domain, kind }))
            }
            Err(why) => survey.missing.push(Missing { knob, why }),
        }
    }
    survey
}

impl Instance {
    /// The name that settings and messages use: `nic.rx_usecs@eth0`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.knob.id, self.at)
    }

    /// What answers for it, or hangs, as of [its controls](crate::control::Control::answers).
    pub fn answers(&self) -> &str {
        let whole = self.at.split('/').next().unwrap_or(&self.at);
        match self.knob.id.split('.').next() {
            Some("nic" | "napi" | "power") => whole,
            _ => "the processors",
        }
    }

    /// The value in effect.
    ///
    /// # Errors
    /// The kernel no longer offers the knob here.
    pub fn read(&self, host: &Host) -> Result<Value> {
        self.kind.read(host, &self.at).map_err(|error| error.at(self.name()))
    }

    /// The writes that set `value`, in their order. Changes nothing.
    ///
    /// A plan may name controls that only make room for the last one: a governor, a limit, adaptive moderation. Whoever
    /// writes saves what each control reads before the first write, and what those read that it
    /// [reaches](crate::control::Control::reaches), and undoes by writing that back, **the last control first**:
    /// `rx-usecs` before adaptive moderation takes it over again, a speed before its governor goes.
    ///
    /// Two things follow from how the kernel ties controls together. A text that stands for "not in use" (`<unsupported>`
    /// in `scaling_setspeed`) is refused, and is right again once the governor is back; and a control that holds for all
    /// (a device, all CPUs) disturbs those of its parts that were put back before. So what counts is what the controls
    /// read in the end: pass over those that differ until none does or a pass changes nothing.
    ///
    /// # Errors
    /// The value is outside the domain, or the machine no longer has what the writes need.
    pub fn plan(&self, host: &Host, value: &Value) -> Result<Vec<Write>> {
        self.domain
            .check(value)
            .and_then(|()| self.kind.plan(host, &self.at, value))
            .map_err(|error| error.at(self.name()))
    }
}
