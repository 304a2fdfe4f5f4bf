//! Where the kernel's interfaces are.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::control::DmaLatency;
use crate::error::{Error, Result};
use crate::network::{Live, Network, Recorded};

/// The bits of a file's mode that let somebody read or write it.
const READABLE: u32 = 0o444;
const WRITABLE: u32 = 0o222;

/// One machine's kernel interfaces: the live machine, or a copy of its trees.
///
/// Paths inside are relative to the root (`sys/class/net/eth0/napi_defer_hard_irqs`), so that what is journaled or
/// reported about a recorded machine reads like what is said of a live one.
#[derive(Debug, Clone)]
pub struct Host {
    root: PathBuf,
    network: Arc<dyn Network>,
    dma_latency: DmaLatency,
}

impl Host {
    /// The machine that this program runs on.
    pub fn live() -> Self {
        Self::new(PathBuf::from("/"), Arc::new(Live), true)
    }

    /// A recorded machine: a folder that holds its `sys`, `proc` and `dev`, and in `ethtool` what its network devices
    /// answer (`ethtool/eth0.toml`).
    pub fn recorded(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self::new(root.clone(), Arc::new(Recorded::new(root)), false)
    }

    fn new(root: PathBuf, network: Arc<dyn Network>, is_live: bool) -> Self {
        let dma_latency = DmaLatency::new(&root, is_live);
        Self { root, network, dma_latency }
    }

    /// Whether this is the machine that the program runs on.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where `path` (relative, such as `proc/stat`) is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a kernel file, without the line's end.
    ///
    /// # Errors
    /// The file is absent, may not be read, or the driver refuses.
    pub fn read(&self, path: &str) -> Result<String> {
        let mut text = String::new();
        self.reader(path)?.read_to_string(&mut text).map_err(|error| refusal(path, "read", &error))?;
        Ok(text.trim_end().to_owned())
    }

    /// A kernel file opened for reading, to be read again and again.
    ///
    /// # Errors
    /// The file is absent or may not be read.
    pub(crate) fn reader(&self, path: &str) -> Result<fs::File> {
        self.open(path, fs::OpenOptions::new().read(true), READABLE).map_err(|error| refusal(path, "read", &error))
    }

    /// Writes a kernel file in one system call, as the kernel wants it. Never creates a file.
    ///
    /// # Errors
    /// The file is absent, may not be written, or the driver refuses the value.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        self.open(path, fs::OpenOptions::new().write(true).truncate(!self.is_live()), WRITABLE)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| refusal(path, "written", &error).value(text))
    }

    /// Opens a kernel file. sysfs refuses even root what the file's mode gives to nobody, so a recorded file does too.
    fn open(&self, path: &str, options: &fs::OpenOptions, needed: u32) -> std::io::Result<fs::File> {
        let path = self.path(path);
        if !self.is_live() && fs::metadata(&path)?.permissions().mode() & needed == 0 {
            return Err(ErrorKind::PermissionDenied.into());
        }
        options.open(path)
    }

    /// What the network devices answer.
    pub(crate) fn network(&self) -> &dyn Network {
        &*self.network
    }

    /// The request that this process holds in `/dev/cpu_dma_latency`.
    pub(crate) fn dma_latency(&self) -> &DmaLatency {
        &self.dma_latency
    }

    /// The driver of a network device, such as `ixgbe`; none for a device without hardware.
    pub(crate) fn driver(&self, device: &str) -> Option<String> {
        driver(&self.root, device)
    }

    /// Whether the file or folder is there.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The names in a folder, sorted; none when there is no such folder.
    pub fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}

/// The driver of a network device in the trees under `root`.
pub(crate) fn driver(root: &Path, device: &str) -> Option<String> {
    let link = fs::read_link(root.join(format!("sys/class/net/{device}/device/driver"))).ok()?;
    link.file_name()?.to_str().map(str::to_owned)
}

pub(crate) fn refusal(path: &str, action: &str, error: &std::io::Error) -> Error {
    let refused = Error::unsupported(format!("the kernel lets the file be {action} ({error})")).at(format!("/{path}"));
    match (error.kind(), path.contains("/cpuidle/state")) {
        // The kernel asks for CAP_SYS_ADMIN (drivers/cpuidle/sysfs.c, store_state_disable).
        (ErrorKind::PermissionDenied, true) => {
            refused.hint(format!("run as root; {}", in_the_service("idle-states.conf")))
        }
        (ErrorKind::PermissionDenied, false) => refused.hint("run as root"),
        _ => refused,
    }
}

/// What lets the hardened service do what root may: a drop-in for its unit.
pub(crate) fn in_the_service(drop_in: &str) -> String {
    format!("the service bayop-agent needs its drop-in {drop_in} (docs/install.md)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_by_the_hardened_unit_names_the_drop_in() {
        let refused = |path| refusal(path, "written", &std::io::Error::from_raw_os_error(libc::EPERM)).hint.unwrap();
        assert_eq!(refused("sys/class/powercap/intel-rapl:0/enabled"), "run as root");
        let hint = refused("sys/devices/system/cpu/cpu0/cpuidle/state3/disable");
        let drop_in = hint.split(' ').find(|word| word.ends_with(".conf")).unwrap();
        assert!(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/drop-ins")).join(drop_in).exists(),
            "{hint}"
        );
    }
}
