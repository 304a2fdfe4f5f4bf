//! `cpu.freq_mhz`: a pinned frequency.
//!
//! Two ways lead to it (Documentation/admin-guide/pm/cpufreq.rst). With the governor `userspace` a policy runs at what
//! `scaling_setspeed` says: acpi-cpufreq, cppc_cpufreq, intel_pstate and amd-pstate in their passive modes. Drivers that
//! decide themselves (intel_pstate and amd-pstate in their active modes) have no such governor, and a machine may lack
//! its module; there, equal limits leave them one frequency to choose.

use super::attribute::{as_number, no_number, number, parse, words};
use super::domain::Domain;
use super::kind::Kind;
use super::policy::{self, USERSPACE, file};
use crate::control::{Control, Write};
use crate::host::Host;
use crate::sysfs::{CPUFREQ, KHZ_PER_MHZ};
use crate::value::Value;
use bayop_core::{Error, Result};

/// Processors of Intel change frequency in multiples of their 100 MHz bus clock (Intel SDM volume 3, section 16.1).
const INTEL_STEP_MHZ: f64 = 100.0;

/// acpi-cpufreq marks a turbo P-state by 1 MHz above the highest frequency that can be held (ACPI 6.5, section 8.4.5.2
/// leaves this to the processor's vendor).
const TURBO_MARK_KHZ: u64 = 1000;

/// `cpu.freq_mhz`.
#[derive(Debug)]
pub(super) struct Pinned;

impl Kind for Pinned {
    fn id(&self) -> &'static str {
        "cpu.freq_mhz"
    }

    fn places(&self, host: &Host) -> Result<Vec<(String, Domain)>> {
        policy::names(host)?.into_iter().map(|policy| Ok((policy.clone(), domain(host, &policy)?))).collect()
    }

    /// What `scaling_setspeed` or equal limits hold the policy at; when neither does, what it runs at just now.
    fn read(&self, host: &Host, policy: &str) -> Result<Value> {
        let name = if host.read(&file(policy, "scaling_governor"))? == USERSPACE {
            "scaling_setspeed"
        } else if host.read(&file(policy, "scaling_min_freq"))? == host.read(&file(policy, "scaling_max_freq"))? {
            "scaling_min_freq"
        } else {
            "scaling_cur_freq"
        };
        Ok(Value::Number(number(host, &file(policy, name))? as f64 / KHZ_PER_MHZ))
    }

    /// Governor first, because `scaling_setspeed` refuses under another one; limits before the speed, because the
    /// kernel clamps the speed to them. Of the limits the one that makes room comes first: a minimum above the maximum
    /// is refused by older kernels.
    fn plan(&self, host: &Host, policy: &str, value: &Value) -> Result<Vec<Write>> {
        let khz = (as_number(value)? * KHZ_PER_MHZ).round() as u64;
        let write = |name: &str, text: String| Write { control: Control::file(file(policy, name)), text };
        let (minimum, maximum) = limits(host, policy)?;
        let (minimum_write, maximum_write) =
            (write("scaling_min_freq", khz.to_string()), write("scaling_max_freq", khz.to_string()));
        if !has_userspace(host, policy)? {
            let raises = khz > maximum;
            return Ok(if raises { vec![maximum_write, minimum_write] } else { vec![minimum_write, maximum_write] });
        }
        let mut writes = vec![write("scaling_governor", USERSPACE.to_owned())];
        if khz > maximum {
            writes.push(maximum_write);
        } else if khz < minimum {
            writes.push(minimum_write);
        }
        writes.push(write("scaling_setspeed", khz.to_string()));
        Ok(writes)
    }
}

fn limits(host: &Host, policy: &str) -> Result<(u64, u64)> {
    Ok((number(host, &file(policy, "scaling_min_freq"))?, number(host, &file(policy, "scaling_max_freq"))?))
}

/// Whether the governor can be chosen; its module may have to be loaded.
fn has_userspace(host: &Host, policy: &str) -> Result<bool> {
    let governors = words(host, &file(policy, "scaling_available_governors"))?;
    Ok(governors.iter().any(|governor| governor == USERSPACE) && host.has(&file(policy, "scaling_setspeed")))
}

/// The driver's table where it has one, else its range: in bus clocks where the processor has them, else in whole MHz,
/// which CPPC's performance scale refines (Documentation/admin-guide/acpi/cppc_sysfs.rst).
fn domain(host: &Host, policy: &str) -> Result<Domain> {
    let table = file(policy, "scaling_available_frequencies");
    if host.has(&table) {
        return from_table(&words(host, &table)?).map_err(|error| error.at(format!("/{table}")));
    }
    let low = (number(host, &file(policy, "cpuinfo_min_freq"))? as f64 / KHZ_PER_MHZ).ceil();
    let high = (number(host, &file(policy, "cpuinfo_max_freq"))? as f64 / KHZ_PER_MHZ).floor();
    let driver = host.read(&file(policy, "scaling_driver"))?;
    let step = if driver.starts_with("intel") { INTEL_STEP_MHZ } else { 1.0 };
    let high = low + ((high - low) / step).floor() * step;
    if low > high {
        return Err(Error::unsupported(format!("the least frequency, {low} MHz, is above the greatest, {high} MHz"))
            .at(format!("/{CPUFREQ}/{policy}")));
    }
    Ok(Domain::steps(low, high, step))
}

/// Steps when the table is even, else its entries. The entry that stands for turbo is no frequency that can be held.
fn from_table(entries: &[String]) -> Result<Domain> {
    let mut khz: Vec<u64> =
        entries.iter().map(|text| parse(text).ok_or_else(|| no_number(text))).collect::<Result<_>>()?;
    khz.sort_unstable();
    khz.dedup();
    if matches!(khz[..], [.., second, last] if last - second == TURBO_MARK_KHZ) {
        khz.pop();
    }
    let mhz: Vec<f64> = khz.iter().map(|&khz| khz as f64 / KHZ_PER_MHZ).collect();
    let is_even = khz.windows(3).all(|three| three[1] - three[0] == three[2] - three[1]);
    Ok(match mhz[..] {
        [low, second, .., high] if is_even => Domain::steps(low, high, second - low),
        _ => Domain::Choices(mhz.into_iter().map(Value::Number).collect()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> Result<Domain> {
        from_table(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_table_gives_steps_or_choices_without_the_turbo_mark() {
        let even = Domain::steps(1200.0, 1400.0, 100.0);
        assert_eq!(table("1401000 1400000 1300000 1200000"), Ok(even.clone()));
        assert_eq!(table("1400000 1300000 1200000"), Ok(even));
        let uneven = [1300.0, 2100.0, 2900.0, 3000.0].map(Value::Number).to_vec();
        assert_eq!(table("3000000 2900000 2100000 1300000"), Ok(Domain::Choices(uneven)));
        assert_eq!(table("2000000"), Ok(Domain::Choices(vec![2000.0.into()])));
        assert!(table("2000000 fast").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn every_entry_but_the_turbo_mark_is_in_the_domain(khz in prop::collection::btree_set(1u64..10_000_000, 1..30)) {
            let entries: Vec<_> = khz.iter().map(u64::to_string).collect();
            let domain = from_table(&entries).unwrap();
            let outside = khz.iter().filter(|&&khz| domain.check(&Value::Number(khz as f64 / 1e3)).is_err());
            prop_assert!(outside.count() <= 1);
        }

        #[test]
        fn a_table_of_anything_is_refused_or_read(entries in prop::collection::vec(".*", 1..8)) {
            let _ = from_table(&entries);
        }
    }
}
