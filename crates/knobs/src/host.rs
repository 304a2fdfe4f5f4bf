//! Where the kernel's interfaces are.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::control::{DmaLatency, dma_latency};
use crate::network::device::{driver, driver_link};
use crate::network::{Live, Network, Recorded};
use crate::overwrite::overwrite;
use crate::refusal::refusal;
use crate::sysfs::NET;
use bayop_core::Result;

/// The hardware type of a loopback device (ARPHRD_LOOPBACK), which has no NAPI instance.
const LOOPBACK: &str = "772";

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
    looks: Option<Looks>,
}

/// One look at a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Look {
    /// At a file's text, or at whether a file or folder is there.
    File(String),
    /// At the names in a folder.
    Names(String),
    /// At where a link leads.
    Link(String),
    /// At a register of a CPU.
    Register(u32, u32),
}

/// What was looked at, by every copy of a [`Host`] that notes it.
pub(crate) type Looks = Arc<Mutex<BTreeSet<Look>>>;

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
        Self { root, network, dma_latency, looks: None }
    }

    /// The same machine, and a note of everything that is looked at through it.
    pub(crate) fn noting(&self) -> (Self, Looks) {
        let looks = Looks::default();
        (Self { looks: Some(Arc::clone(&looks)), ..self.clone() }, looks)
    }

    pub(crate) fn note(&self, look: impl FnOnce() -> Look) {
        if let Some(looks) = &self.looks {
            looks.lock().unwrap_or_else(PoisonError::into_inner).insert(look());
        }
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
        self.reader(path)?.read_to_string(&mut text).map_err(|error| refusal("read", path, &error))?;
        Ok(text.trim_end().to_owned())
    }

    /// A kernel file opened for reading, to be read again and again.
    ///
    /// # Errors
    /// The file is absent or may not be read.
    pub(crate) fn reader(&self, path: &str) -> Result<fs::File> {
        self.note(|| Look::File(path.to_owned()));
        self.open(path, fs::OpenOptions::new().read(true), READABLE).map_err(|error| refusal("read", path, &error))
    }

    /// Writes a kernel file in one system call, as the kernel wants it. Never creates a file.
    ///
    /// # Errors
    /// The file is absent, may not be written, or the driver refuses the value.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        self.open(path, fs::OpenOptions::new().write(true), WRITABLE)
            .and_then(|mut file| if self.is_live() { file.write_all(text.as_bytes()) } else { overwrite(file, text) })
            .map_err(|error| refusal(&format!("write '{text}' to"), path, &error).value(text))
    }

    /// Opens a kernel file. sysfs refuses even root what the file's mode gives to nobody, so a recorded file does too.
    fn open(&self, path: &str, options: &fs::OpenOptions, needed: u32) -> io::Result<fs::File> {
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
        self.note(|| Look::File(dma_latency::PATH.to_owned()));
        &self.dma_latency
    }

    /// The network devices but the loopback.
    pub(crate) fn devices(&self) -> Vec<String> {
        let is_loopback =
            |device: &String| self.read(&format!("{NET}/{device}/type")).is_ok_and(|kind| kind == LOOPBACK);
        self.names(NET).into_iter().filter(|device| !is_loopback(device)).collect()
    }

    /// The numbers of all processes.
    pub(crate) fn processes(&self) -> Vec<String> {
        self.names("proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
    }

    /// The driver of a network device, such as `ixgbe`; none for a device without hardware.
    pub(crate) fn driver(&self, device: &str) -> Option<String> {
        self.note(|| Look::Link(driver_link(device)));
        driver(&self.root, device)
    }

    /// What the kernel calls the network namespace of this process (network_namespaces(7)): `net:[4026531840]`.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn network_namespace(&self) -> Result<String> {
        const LINK: &str = "proc/self/ns/net";
        let name = fs::read_link(self.path(LINK)).map_err(|error| refusal("read", LINK, &error))?;
        Ok(name.display().to_string())
    }

    /// Whether the file or folder is there.
    pub fn has(&self, path: &str) -> bool {
        self.note(|| Look::File(path.to_owned()));
        self.path(path).exists()
    }

    /// The name of the folder that a link leads to in the end.
    pub(crate) fn target(&self, link: &str) -> Option<String> {
        self.note(|| Look::Link(link.to_owned()));
        let target = fs::canonicalize(self.path(link)).ok()?;
        target.file_name()?.to_str().map(str::to_owned)
    }

    /// The names in a folder, sorted; none when there is no such folder, or it can't be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.list(path).unwrap_or_default()
    }

    /// The names in a folder, sorted; none when there is no such folder.
    ///
    /// # Errors
    /// It can't be read.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>> {
        self.note(|| Look::Names(path.to_owned()));
        let names = match fs::read_dir(self.path(path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect()),
        };
        let names: Vec<OsString> = names.map_err(|error| refusal("read", path, &error))?;
        let mut names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        Ok(names)
    }
}
