//! One kernel attribute each: how to read it, write it, and undo a write by hand.

mod device;
pub(crate) mod dma_latency;
mod msr;
mod reach;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::network::{CoalesceParameter, Indirection, NapiParameter};
use crate::sysfs::NET;
use bayop_core::{Error, Result};

pub(crate) use dma_latency::DmaLatency;

/// The address of one kernel attribute that a knob writes.
///
/// Serialisable, because a journal of originals must still name it after a crash. Values are the kernel's own text
/// (`2900000` in `scaling_setspeed`), so that what was read can be written back unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Control {
    /// A file of sysfs or procfs, by its path without the leading slash.
    File {
        /// Such as `sys/devices/system/cpu/cpufreq/policy0/scaling_governor`.
        path: String,
    },
    /// A parameter of a network driver's interrupt coalescing (Documentation/networking/ethtool-netlink.rst).
    Coalesce {
        /// Such as `eth0`.
        device: String,
        /// One queue; none for the whole device.
        queue: Option<u32>,
        /// Which parameter.
        parameter: CoalesceParameter,
    },
    /// A parameter of the NAPI instance that polls a receive queue (Documentation/networking/napi.rst). It goes by its
    /// queue because the kernel's numbers change when a device is opened anew.
    Napi {
        /// Such as `eth0`.
        device: String,
        /// The receive queue.
        queue: u32,
        /// Which parameter.
        parameter: NapiParameter,
    },
    /// The table by which a network device spreads what it receives over its queues: the queues of all entries, such as
    /// `128: 0 1` for a table of 128 that has them in turns.
    Indirection {
        /// Such as `eth0`.
        device: String,
    },
    /// A model-specific register of a CPU, in hexadecimal with `0x`.
    Msr {
        /// The CPU's number.
        cpu: u32,
        /// The register's number.
        register: u32,
    },
    /// The request that this process holds in `/dev/cpu_dma_latency`, in microseconds, or `none`. The kernel ends it
    /// with the process, so a process that starts always finds `none`.
    DmaLatency,
}

/// One write of a plan: a control and the kernel's text for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Where.
    pub control: Control,
    /// What, as the kernel spells it.
    pub text: String,
}

impl Control {
    /// A sysfs or procfs file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into() }
    }

    /// What the attribute holds now, as the kernel spells it.
    ///
    /// # Errors
    /// The kernel does not offer it (any more) or refuses.
    pub fn read(&self, host: &Host) -> Result<String> {
        match self {
            Self::File { path } => host.read(path),
            Self::Coalesce { device, queue, parameter } => {
                let value = host.network().coalescing(device, *queue)?.remove(parameter);
                value.map(|value| parameter.text(value)).ok_or_else(|| {
                    Error::unsupported(format!("the driver of {device} has no {}", parameter.ethtool_name()))
                })
            }
            Self::Napi { device, queue, parameter } => {
                let instance = host.network().napi(device, *queue)?;
                instance.parameters.get(parameter).map(u64::to_string).ok_or_else(|| {
                    Error::unsupported(format!("the kernel has no {}", parameter.netlink_name()))
                        .at(format!("{device}/rx-{queue}"))
                        .hint("kernel 6.13 or newer")
                })
            }
            Self::Indirection { device } => Ok(host.network().indirection(device)?.to_string()),
            Self::Msr { cpu, register } => Ok(format!("{:#x}", msr::read(host, *cpu, *register)?)),
            Self::DmaLatency => Ok(host.dma_latency().held()),
        }
    }

    /// Writes the kernel's text. Says nothing about what is in effect afterwards: read it back.
    ///
    /// # Errors
    /// The kernel does not offer the attribute (any more) or refuses the value.
    pub fn write(&self, host: &Host, text: &str) -> Result<()> {
        match self {
            Self::File { path } => host.write(path, text),
            Self::Coalesce { device, queue, parameter } => parameter
                .parse(text)
                .and_then(|value| host.network().set_coalescing(device, *queue, *parameter, value))
                .map_err(|error| error.value(text).at(self)),
            Self::Napi { device, queue, parameter } => text
                .parse()
                .map_err(|_| Error::cannot_use(text, "the value must be a whole number"))
                .and_then(|value| host.network().set_napi(device, *queue, *parameter, value))
                .map_err(|error| error.value(text).at(self)),
            Self::Indirection { device } => text
                .parse()
                .and_then(|table| host.network().set_indirection(device, &table))
                .map_err(|error: Error| error.value(text).at(self)),
            Self::Msr { cpu, register } => msr::parse(text).and_then(|value| msr::write(host, *cpu, *register, value)),
            Self::DmaLatency => host.dma_latency().request(text),
        }
    }

    /// The value of a model-specific register.
    ///
    /// # Errors
    /// The kernel does not show the register, or the control is none.
    pub(crate) fn register(&self, host: &Host) -> Result<u64> {
        msr::parse(&self.read(host)?)
    }

    /// The shell command that writes `text`, for a person who restores a machine without BayOp.
    pub fn command(&self, text: &str) -> String {
        match self {
            Self::File { path } => format!("echo {} > {}", quoted(text), quoted(&format!("/{path}"))),
            Self::Coalesce { device, queue: None, parameter } => {
                format!("ethtool -C {} {} {}", quoted(device), parameter.ethtool_name(), quoted(text))
            }
            Self::Coalesce { device, queue: Some(queue), parameter } => format!(
                "ethtool --per-queue {} queue_mask {} --coalesce {} {}",
                quoted(device),
                mask(*queue),
                parameter.ethtool_name(),
                quoted(text)
            ),
            Self::Napi { device, queue, parameter } => napi_command(device, *queue, *parameter, text),
            Self::Indirection { device } => indirection_command(device, text),
            Self::Msr { cpu, register } => format!("wrmsr -p {cpu} {register:#x} {}", quoted(text)),
            Self::DmaLatency => dma_latency::command(text),
        }
    }
}

/// The mask that ethtool takes for one queue: `0x8` for queue 3, in 32-bit words from the greatest down.
fn mask(queue: u32) -> String {
    let digits = "0".repeat((queue / 4) as usize);
    format!("0x{:x}{digits}", 1 << (queue % 4))
}

/// The number of the NAPI instance is asked for when the command runs, because it changes when a device is opened anew.
fn napi_command(device: &str, queue: u32, parameter: NapiParameter, text: &str) -> String {
    let ynl = "ynl --family netdev";
    let ifindex = format!("$(cat /{NET}/{}/ifindex)", quoted(device));
    let id = format!(
        r#"$({ynl} --output-json --do queue-get --json "{{\"ifindex\": {ifindex}, \"type\": \"rx\", \"id\": {queue}}}" | jq '."napi-id"')"#
    );
    let name = parameter.netlink_name();
    format!(r#"{ynl} --do napi-set --json "{{\"id\": {id}, \"{name}\": {text}}}""#)
}

/// Not every table is one that ethtool makes.
fn indirection_command(device: &str, text: &str) -> String {
    match text.parse::<Indirection>().ok().and_then(|table| table.ethtool()) {
        Some(arguments) => format!("ethtool -X {} {arguments}", quoted(device)),
        None => format!("# ethtool has no command for the indirection table '{text}' of {device}"),
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(f, "/{path}"),
            Self::Coalesce { device, queue, parameter } => {
                f.write_str(device)?;
                if let Some(queue) = queue {
                    write!(f, " queue {queue}")?;
                }
                write!(f, " {}", parameter.ethtool_name())
            }
            Self::Napi { device, queue, parameter } => {
                write!(f, "{device}/rx-{queue} {}", parameter.netlink_name())
            }
            Self::Indirection { device } => write!(f, "{device} indirection table"),
            Self::Msr { cpu, register } => write!(f, "register {register:#x} of CPU {cpu}"),
            Self::DmaLatency => f.write_str("/dev/cpu_dma_latency"),
        }
    }
}

/// `text` as one word of a POSIX shell, quoted where it needs to be.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:/@%+=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coalesce(queue: Option<u32>, parameter: CoalesceParameter) -> Control {
        Control::Coalesce { device: "eth0".to_owned(), queue, parameter }
    }

    #[test]
    fn a_command_can_be_pasted() {
        let governor = Control::file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor");
        for (control, text, command) in [
            (governor, "ondemand", "echo ondemand > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor"),
            (Control::file("sys/a"), "it's", r"echo 'it'\''s' > /sys/a"),
            (Control::file("sys/a"), "<unsupported>", "echo '<unsupported>' > /sys/a"),
            (Control::file("sys/a b;$(c)"), "1", "echo 1 > '/sys/a b;$(c)'"),
            (coalesce(None, CoalesceParameter::RxUsecs), "3", "ethtool -C eth0 rx-usecs 3"),
            (coalesce(None, CoalesceParameter::AdaptiveRx), "on", "ethtool -C eth0 adaptive-rx on"),
            (
                coalesce(Some(3), CoalesceParameter::TxUsecs),
                "8",
                "ethtool --per-queue eth0 queue_mask 0x8 --coalesce tx-usecs 8",
            ),
            (
                coalesce(Some(37), CoalesceParameter::RxUsecs),
                "8",
                "ethtool --per-queue eth0 queue_mask 0x2000000000 --coalesce rx-usecs 8",
            ),
            (Control::Indirection { device: "eth0".to_owned() }, "128: 0 1", "ethtool -X eth0 equal 2"),
            (
                Control::Indirection { device: "eth0".to_owned() },
                "4: 1 0",
                "# ethtool has no command for the indirection table '4: 1 0' of eth0",
            ),
            (Control::Msr { cpu: 0, register: 0x199 }, "0x1d00", "wrmsr -p 0 0x199 0x1d00"),
        ] {
            assert_eq!(control.command(text), command);
        }
        let napi = Control::Napi { device: "eth0".to_owned(), queue: 1, parameter: NapiParameter::GroFlushTimeout };
        assert_eq!(
            napi.command("20000"),
            concat!(
                r#"ynl --family netdev --do napi-set --json "{\"id\": $(ynl --family netdev --output-json "#,
                r#"--do queue-get --json "{\"ifindex\": $(cat /sys/class/net/eth0/ifindex), \"type\": \"rx\", "#,
                r#"\"id\": 1}" | jq '."napi-id"'), \"gro-flush-timeout\": 20000}""#
            )
        );
    }

    #[test]
    fn a_journal_names_a_control_again() {
        for control in [
            Control::file("sys/a"),
            coalesce(None, CoalesceParameter::AdaptiveRx),
            coalesce(Some(3), CoalesceParameter::RxUsecs),
            Control::Napi { device: "eth0".to_owned(), queue: 1, parameter: NapiParameter::DeferHardIrqs },
            Control::Indirection { device: "eth0".to_owned() },
            Control::Msr { cpu: 3, register: 0x199 },
            Control::DmaLatency,
        ] {
            let text = serde_json::to_string(&control).unwrap();
            assert_eq!(serde_json::from_str::<Control>(&text).unwrap(), control, "{text}");
        }
    }
}
