//! What a network device is, whatever its name: names change, and others take them.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::host::{Host, Look};
use crate::sysfs::NET;

/// How the kernel says that an address is the hardware's own (NET_ADDR_PERM, include/uapi/linux/netdevice.h).
const PERMANENT: &str = "0";

/// What tells a network device from every other (Documentation/ABI/testing/sysfs-class-net). What a machine does not
/// show is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Where it is plugged in: `sys/devices/pci0000:00/0000:00:03.0`. A device without hardware has none.
    pub bus: Option<String>,
    /// Which of the ports there.
    pub port: Option<String>,
    /// Its hardware address, unless another was set.
    pub address: Option<String>,
    /// The kernel's number for it, which no other device has until the next boot.
    pub ifindex: Option<String>,
}

impl Identity {
    /// Whether the hardware of `other` is the same. A device without hardware is known by its number alone.
    pub fn is_hardware_of(&self, other: &Self) -> bool {
        let differ = |one: &Option<String>, other: &Option<String>| one.is_some() && other.is_some() && one != other;
        self.bus.is_some()
            && self.bus == other.bus
            && !differ(&self.port, &other.port)
            && !differ(&self.address, &other.address)
    }
}

impl fmt::Display for Identity {
    /// Where it is plugged in, or its number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.bus, &self.ifindex) {
            (Some(bus), _) => write!(f, "at /{bus}"),
            (None, Some(ifindex)) => write!(f, "number {ifindex}"),
            (None, None) => f.write_str("of that name"),
        }
    }
}

impl Host {
    /// What the network device of that name is; none where the machine shows nothing of it.
    pub fn identity(&self, device: &str) -> Option<Identity> {
        let folder = format!("{NET}/{device}");
        let text = |name: &str| self.read(&format!("{folder}/{name}")).ok();
        let address = text("address").filter(|_| text("addr_assign_type").as_deref() == Some(PERMANENT));
        let identity = Identity { bus: self.bus(device), port: text("dev_port"), address, ifindex: text("ifindex") };
        (identity.bus.is_some() || identity.ifindex.is_some()).then_some(identity)
    }

    /// The name that the device has now; none when it is gone. Within a boot it is the one with its number, wherever it is
    /// plugged in; another has its place only when none has its number. It is looked for under `name` first.
    pub fn device(&self, identity: &Identity, name: &str, same_boot: bool) -> Option<String> {
        let names = || std::iter::once(name.to_owned()).chain(self.names(NET));
        let numbered = || names().find(|name| self.is_number(name, identity));
        let same = || names().find(|name| self.identity(name).is_some_and(|found| identity.is_hardware_of(&found)));
        if same_boot { numbered().or_else(same) } else { same() }
    }

    /// Whether the device of that name has the number of `identity`.
    pub fn is_number(&self, name: &str, identity: &Identity) -> bool {
        identity.ifindex.is_some() && self.number(name) == identity.ifindex
    }

    /// The kernel's number for the device of that name.
    pub fn number(&self, name: &str) -> Option<String> {
        self.read(&format!("{NET}/{name}/ifindex")).ok()
    }

    /// The folder of the device behind a network device: a link, on a live machine.
    fn bus(&self, device: &str) -> Option<String> {
        let link = format!("{NET}/{device}/device");
        self.note(|| Look::Link(link.clone()));
        fs::read_link(self.path(&link)).ok()?;
        let (root, folder) = (fs::canonicalize(self.path("")).ok()?, fs::canonicalize(self.path(&link)).ok()?);
        folder.strip_prefix(root).ok()?.to_str().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn identity(bus: Option<&str>, port: &str, address: Option<&str>, ifindex: &str) -> Identity {
        let own = |text: &str| Some(text.to_owned());
        Identity { bus: bus.and_then(own), port: own(port), address: address.and_then(own), ifindex: own(ifindex) }
    }

    /// A machine with that network device alone.
    fn machine(name: &str, device: &Identity) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(NET).join(name);
        fs::create_dir_all(&folder).unwrap();
        if let Some(bus) = &device.bus {
            fs::create_dir_all(root.path().join(bus)).unwrap();
            symlink(root.path().join(bus), folder.join("device")).unwrap();
        }
        let texts = [("dev_port", &device.port), ("address", &device.address), ("ifindex", &device.ifindex)];
        for (name, text) in texts.into_iter().chain([("addr_assign_type", &Some(PERMANENT.to_owned()))]) {
            if let Some(text) = text {
                fs::write(folder.join(name), text).unwrap();
            }
        }
        let host = Host::recorded(root.path());
        (root, host)
    }

    #[test]
    fn a_number_counts_within_a_boot_and_the_hardware_beyond_it() {
        let card = identity(Some("pci/1"), "0", Some("aa"), "2");
        let veth = identity(None, "0", None, "2");
        for (known, other, in_one_boot, in_two) in [
            (&card, identity(Some("pci/1"), "0", Some("aa"), "2"), true, true),
            (&card, identity(Some("pci/1"), "0", None, "7"), true, true),
            (&card, identity(Some("pci/1"), "1", Some("aa"), "7"), false, false),
            (&card, identity(Some("pci/1"), "0", Some("bb"), "7"), false, false),
            (&card, identity(Some("pci/2"), "0", Some("aa"), "7"), false, false),
            (&card, identity(None, "0", None, "7"), false, false),
            (&card, identity(None, "0", None, "2"), true, false),
            (&veth, identity(None, "0", None, "2"), true, false),
        ] {
            let (_root, host) = machine("lan0", &other);
            let found = [true, false].map(|same_boot| host.device(known, "eth0", same_boot).is_some());
            assert_eq!(found, [in_one_boot, in_two], "{known:?} {other:?}");
        }
    }
}
