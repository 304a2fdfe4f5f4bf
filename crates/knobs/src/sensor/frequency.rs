//! The frequency that each CPU ran at (Documentation/admin-guide/pm/cpufreq.rst).
//!
//! `cpuinfo_avg_freq` (since Linux 6.15) is the average that the CPU itself counted; `scaling_cur_freq` is the same on
//! most x86 drivers and what was last asked for elsewhere.

use super::attribute::Attribute;
use super::reading::{Quantity, Sample};
use super::text::number;
use crate::host::Host;
use crate::sysfs::{CPUFREQ, CPUS, KHZ_PER_MHZ};
use bayop_core::{Error, Result};

const FREQUENCY: Quantity = Quantity::gauge("freq_mhz", "MHz");

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    for cpu in super::cpu::names(host) {
        let folder = format!("{CPUS}/{cpu}/cpufreq");
        if !host.has(&folder) {
            continue;
        }
        let (file, read) = ["cpuinfo_avg_freq", "scaling_cur_freq"]
            .map(|file| format!("{folder}/{file}"))
            .into_iter()
            .map(|file| {
                let read = host.read(&file).and_then(|text| number(text.as_bytes()));
                (file, read)
            })
            .reduce(|average, current| if average.1.is_ok() { average } else { current })
            .expect("two files were tried");
        let source = format!("/{file}");
        let value = read.map(|khz| khz as f64 / KHZ_PER_MHZ).map_err(|error| error.at(&source));
        sample.add(FREQUENCY, cpu, source, value);
    }
}

/// The frequency files of the machine's policies.
pub(super) fn policies(host: &Host) -> Vec<Attribute> {
    let policies = host.names(CPUFREQ).into_iter().filter(|name| name.starts_with("policy"));
    policies.map(|policy| Attribute::new(format!("{CPUFREQ}/{policy}/scaling_cur_freq"))).collect()
}

/// The mean frequency of the policies that have an online CPU; the kernel reads nothing of the others.
///
/// # Errors
/// There is none, or none can be read.
pub(super) fn mean_mhz(host: &Host, policies: &mut [Attribute]) -> Result<f64> {
    let none = Error::unsupported("the kernel shows no frequency policy")
        .at(format!("/{CPUFREQ}"))
        .hint("leave [power.model.frequency] out");
    let (khz, errors): (Vec<_>, Vec<_>) = policies.iter_mut().map(|policy| policy.read(host)).partition(Result::is_ok);
    if khz.is_empty() {
        return Err(errors.into_iter().find_map(Result::err).unwrap_or(none));
    }
    let count = khz.len() as f64;
    Ok(khz.into_iter().flatten().sum::<u64>() as f64 / KHZ_PER_MHZ / count)
}
