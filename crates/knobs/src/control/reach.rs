//! The controls that a write of another one sets too, so that who restores a write restores them as well.

use super::Control;
use crate::host::Host;
use crate::network::{CoalesceParameter, NapiParameter};
use crate::sysfs::{CPUFREQ, NET};
use bayop_core::{Kind, Result};

/// The files of a device that set every NAPI instance of it (Documentation/networking/napi.rst, "Software IRQ
/// coalescing").
const NAPI_FILES: [(&str, NapiParameter); 2] =
    [("gro_flush_timeout", NapiParameter::GroFlushTimeout), ("napi_defer_hard_irqs", NapiParameter::DeferHardIrqs)];

impl Control {
    /// The controls that a write of this one sets too: a write to a device reaches its queues.
    ///
    /// # Errors
    /// The kernel fails to say: what is not known to be reached would not be restored.
    pub fn reaches(&self, host: &Host) -> Result<Vec<Self>> {
        match self {
            Self::Coalesce { device, queue: None, parameter } => queues(host, device, *parameter),
            Self::Coalesce { device, queue: Some(0), parameter } => first_queue(host, device, *parameter),
            Self::File { path } if *path == format!("{CPUFREQ}/boost") => policies(host),
            Self::File { path } => napis(host, path),
            _ => Ok(Vec::new()),
        }
    }
}

/// A driver that takes coalescing for one queue sets all of them when the device is written
/// (Documentation/networking/ethtool-netlink.rst).
fn queues(host: &Host, device: &str, parameter: CoalesceParameter) -> Result<Vec<Control>> {
    let mut queues = Vec::new();
    for queue in 0.. {
        match offered(host.network().coalescing(device, Some(queue)))? {
            Some(has) if has.contains_key(&parameter) => {
                queues.push(Control::Coalesce { device: device.to_owned(), queue: Some(queue), parameter });
            }
            _ => break,
        }
    }
    Ok(queues)
}

/// What the kernel offers; none where it does not.
fn offered<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(offered) => Ok(Some(offered)),
        Err(error) if error.kind == Kind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

/// A driver may answer for the device with its first queue (i40e, ice), which then shows what was written to that
/// queue; and putting the device back reaches the others.
fn first_queue(host: &Host, device: &str, parameter: CoalesceParameter) -> Result<Vec<Control>> {
    let whole = Control::Coalesce { device: device.to_owned(), queue: None, parameter };
    Ok(std::iter::once(whole).chain(queues(host, device, parameter)?.into_iter().skip(1)).collect())
}

/// The switch of all CPUs sets those of the policies (drivers/cpufreq/cpufreq.c, cpufreq_boost_trigger_state).
fn policies(host: &Host) -> Result<Vec<Control>> {
    let files = host.list(CPUFREQ)?.into_iter().map(|policy| Control::file(format!("{CPUFREQ}/{policy}/boost")));
    let answers = files.map(|control| Ok(offered(control.read(host))?.map(|_| control)));
    answers.filter_map(Result::transpose).collect()
}

fn napis(host: &Host, path: &str) -> Result<Vec<Control>> {
    let Some((device, file)) = path.strip_prefix(NET).and_then(|rest| rest.strip_prefix('/')?.split_once('/')) else {
        return Ok(Vec::new());
    };
    let Some((_, parameter)) = NAPI_FILES.iter().find(|(name, _)| *name == file) else { return Ok(Vec::new()) };
    let napis = offered(host.network().napis(device))?.unwrap_or_default();
    let has = napis.into_iter().filter(|(_, napi)| napi.parameters.contains_key(parameter));
    Ok(has.map(|(queue, _)| Control::Napi { device: device.to_owned(), queue, parameter: *parameter }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::unpack;

    const MACHINE: &str = "\
# source: made up for this test
=== sys/class/net/eth0/gro_flush_timeout
0
=== sys/devices/system/cpu/cpufreq/boost
1
=== sys/devices/system/cpu/cpufreq/policy0/boost
1
=== ethtool/eth0.toml
per_queue = true
[[queue]]
rx_usecs = 3
[queue.napi]
id = 8193
gro-flush-timeout = 0
[[queue]]
rx_usecs = 9
";

    #[test]
    fn a_write_to_the_whole_reaches_its_parts() {
        let folder = tempfile::tempdir().unwrap();
        let host = unpack(MACHINE, folder.path()).unwrap();
        let coalesce = |queue, parameter| Control::Coalesce { device: "eth0".to_owned(), queue, parameter };
        let rx_usecs = CoalesceParameter::RxUsecs;
        let napi = Control::Napi { device: "eth0".to_owned(), queue: 0, parameter: NapiParameter::GroFlushTimeout };
        for (control, parts) in [
            (coalesce(None, rx_usecs), vec![coalesce(Some(0), rx_usecs), coalesce(Some(1), rx_usecs)]),
            (coalesce(None, CoalesceParameter::TxUsecs), vec![]),
            (coalesce(Some(0), rx_usecs), vec![coalesce(None, rx_usecs), coalesce(Some(1), rx_usecs)]),
            (coalesce(Some(1), rx_usecs), vec![]),
            (Control::file("sys/class/net/eth0/gro_flush_timeout"), vec![napi]),
            (Control::file("sys/class/net/eth0/threaded"), vec![]),
            (
                Control::file("sys/devices/system/cpu/cpufreq/boost"),
                vec![Control::file("sys/devices/system/cpu/cpufreq/policy0/boost")],
            ),
        ] {
            assert_eq!(control.reaches(&host).unwrap(), parts, "{control}");
        }
    }
}
