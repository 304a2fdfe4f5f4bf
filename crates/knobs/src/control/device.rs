//! Whose attribute a control is.

use super::Control;
use crate::sysfs::{NET, POWERCAP};

impl Control {
    /// The name of the network device, where it is one's.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Coalesce { device, .. } | Self::Napi { device, .. } | Self::Indirection { device } => Some(device),
            Self::File { path } => part(path, NET),
            Self::Msr { .. } | Self::DmaLatency => None,
        }
    }

    /// The same attribute of the network device `name`.
    pub fn of(&self, name: &str) -> Self {
        let mut control = self.clone();
        match &mut control {
            Self::Coalesce { device, .. } | Self::Napi { device, .. } | Self::Indirection { device } => {
                *device = name.to_owned();
            }
            Self::File { path } => {
                if let Some(device) = part(path, NET) {
                    *path = path.replacen(&format!("{NET}/{device}/"), &format!("{NET}/{name}/"), 1);
                }
            }
            Self::Msr { .. } | Self::DmaLatency => {}
        }
        control
    }

    /// Whether it is where attributes of the kernel are: below one of their folders, by no path that leads out of it, and
    /// no device that is a path.
    pub fn is_within(&self) -> bool {
        let is_plain = |name: &str| !["", ".", ".."].contains(&name);
        let is_device = self.device().is_none_or(|device| is_plain(device) && !device.contains('/'));
        is_device
            && match self {
                Self::File { path } => {
                    let below = path.split_once('/').filter(|(folder, _)| ["sys", "proc", "dev"].contains(folder));
                    below.is_some_and(|(_, names)| names.split('/').all(is_plain))
                }
                _ => true,
            }
    }

    /// What answers for it, or hangs: a network device, a power zone, or the processors.
    pub fn answers(&self) -> &str {
        let zone = match self {
            Self::File { path } => part(path, POWERCAP),
            _ => None,
        };
        zone.or(self.device()).unwrap_or("the processors")
    }
}

/// The name in `folder` that the path leads through.
fn part<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::CoalesceParameter;

    #[test]
    fn a_path_that_leads_elsewhere_is_no_attribute() {
        let nic = |device: &str| Control::Napi {
            device: device.to_owned(),
            queue: 0,
            parameter: crate::network::NapiParameter::DeferHardIrqs,
        };
        for within in [Control::file("sys/class/net/eth0/gro_flush_timeout"), nic("eth0"), Control::DmaLatency] {
            assert!(within.is_within(), "{within}");
        }
        for path in
            ["../victim", "/etc/passwd", "etc/passwd", "sys/../etc/passwd", "sys//a", "", "sys", "sys/", "sys/a/.."]
        {
            assert!(!Control::file(path).is_within(), "{path}");
        }
        assert!(!Control::Indirection { device: "../eth0".to_owned() }.is_within());
        assert!(!nic("../../v").is_within() && !nic("..").is_within() && !nic("").is_within());
    }

    #[test]
    fn attributes_of_a_device_go_with_its_name() {
        let nic = |device: &str| Control::Coalesce {
            device: device.to_owned(),
            queue: Some(1),
            parameter: CoalesceParameter::RxUsecs,
        };
        let table = |device: &str| Control::Indirection { device: device.to_owned() };
        let file = |device: &str| Control::file(format!("sys/class/net/{device}/gro_flush_timeout"));
        let cap = Control::file("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw");
        let governor = Control::file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor");
        for (control, device, answers, renamed) in [
            (nic("eth0"), Some("eth0"), "eth0", nic("eth9")),
            (table("eth0"), Some("eth0"), "eth0", table("eth9")),
            (file("eth0"), Some("eth0"), "eth0", file("eth9")),
            (cap.clone(), None, "intel-rapl:0", cap),
            (governor.clone(), None, "the processors", governor),
            (Control::DmaLatency, None, "the processors", Control::DmaLatency),
        ] {
            assert_eq!((control.device(), control.answers(), control.of("eth9")), (device, answers, renamed));
        }
    }
}
