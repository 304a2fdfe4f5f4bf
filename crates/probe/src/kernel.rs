//! The eBPF programs in the kernel: what they need, where they are attached, what they have counted.

use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use bayop_core::{Error, Result};
use bayop_probe::cost::Statistics;
use bayop_probe::counters::Counters;
use bayop_probe::ebpf::{Scope, check, device_index, enter, of_each_cpu, owned, refused, unreadable};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject, ProgramMut};

#[allow(missing_docs, clippy::undocumented_unsafe_blocks)] // Generated.
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/probe.skel.rs"));
}
use skeleton::{ProbeSkel, ProbeSkelBuilder};

/// What is watched.
#[derive(Debug)]
pub struct Watch {
    /// TCP port of the server.
    pub port: u16,
    /// A cgroup of the unified hierarchy that the server runs in; None for all of them.
    pub cgroup: Option<PathBuf>,
    /// The server's network namespace; None for our own.
    pub netns: Option<PathBuf>,
    /// The device whose packets say when they were sent.
    pub wait: Option<String>,
    /// Whether to measure what eBPF costs.
    pub cost: bool,
}

/// The attached programs. They are detached when this is dropped, and by the kernel if the process dies before.
pub struct Probe<'a> {
    skeleton: ProbeSkel<'a>,
    _links: [Link; 2],
    _receive: Option<OwnedFd>,
    statistics: Option<Statistics>,
}

impl<'a> Probe<'a> {
    /// Loads and attaches the programs. Enters the server's network namespace for that, and stays there.
    ///
    /// # Errors
    /// There is no such cgroup, namespace or device; or this kernel or its policy refuses.
    pub fn attach(watch: &Watch, storage: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        check(Scope::Network, "bayop-probe")?;
        let cgroup = open_cgroup(watch.cgroup.as_deref())?;
        let netns = enter(watch.netns.as_deref())?;
        let device = watch.wait.as_deref().map(|name| device_index(name, "--wait")).transpose()?;

        libbpf_rs::set_print(None);
        let mut open =
            ProbeSkelBuilder::default().open(storage).map_err(|error| refused("open the programs", &error))?;
        let constants = open.maps.rodata_data.as_deref_mut().expect("the programs have constants");
        constants.port = watch.port;
        constants.netns = netns;
        constants.from_departure = device.is_some();
        open.progs.on_receive.set_autoload(device.is_some());
        let skeleton = open.load().map_err(|error| refused("load the programs", &error))?;
        let attach = |program: &ProgramMut<'_>| {
            program.attach_cgroup(cgroup.as_raw_fd()).map_err(|error| refused("attach a program to the cgroup", &error))
        };
        // Responses first: a request that is seen will have its response seen.
        let links = [attach(&skeleton.progs.on_response)?, attach(&skeleton.progs.on_request)?];
        let receive = device.map(|index| attach_receive(&skeleton.progs.on_receive, index)).transpose()?;
        let statistics = watch.cost.then(Statistics::enable).transpose()?;
        Ok(Self { skeleton, _links: links, _receive: receive, statistics })
    }

    /// What was counted since the programs were attached.
    ///
    /// # Errors
    /// The kernel does not give it.
    pub fn counters(&self) -> Result<Counters> {
        let cpus = of_each_cpu(&self.skeleton.maps.counters)?;
        Ok(Counters::of_cpus(cpus.iter().map(Vec::as_slice)))
    }

    /// The time that the programs have taken, in ns, where it is measured.
    ///
    /// # Errors
    /// The kernel does not give it.
    pub fn run_time_ns(&self) -> Result<Option<f64>> {
        let taken = self.statistics.as_ref().map(|statistics| statistics.taken_by(self.skeleton.object()));
        Ok(taken.transpose()?.map(|taken| taken.ns))
    }
}

fn open_cgroup(path: Option<&Path>) -> Result<File> {
    let place = "--cgroup";
    let path = match path {
        Some(path) => path.to_owned(),
        None => unified_hierarchy()?,
    };
    if path.join("cgroup.procs").exists() && !path.join("tasks").exists() {
        return File::open(&path).map_err(|error| unreadable(&path, &error).at(place));
    }
    Err(Error::cannot_use(path.display(), "the cgroup must be a folder of the unified hierarchy (version 2)")
        .at(place)
        .hint("/proc/PID/cgroup has the server's, on the line that begins with 0::"))
}

/// Where the unified hierarchy is mounted; proc(5), /proc/PID/mountinfo: the fifth field is the place, the first one
/// after the separator the type.
fn unified_hierarchy() -> Result<PathBuf> {
    const MOUNTS: &str = "/proc/self/mountinfo";
    let mounts = fs::read_to_string(MOUNTS).map_err(|error| unreadable(MOUNTS, &error))?;
    mounts
        .lines()
        .filter_map(|line| line.split_once(" - "))
        .find(|(_, kind)| kind.starts_with("cgroup2 "))
        .and_then(|(mount, _)| mount.split(' ').nth(4))
        .map(PathBuf::from)
        .ok_or_else(|| {
            Error::unsupported("the unified cgroup hierarchy is not mounted")
                .at(MOUNTS)
                .hint("mount -t cgroup2 none /sys/fs/cgroup; inside `ip netns exec` it is hidden: use --netns instead")
        })
}

/// Attaches to what a device receives. The file descriptor holds the attachment; nothing stays behind after it, as a
/// clsact qdisc would.
fn attach_receive(program: &ProgramMut<'_>, device: u32) -> Result<OwnedFd> {
    let device = i32::try_from(device).expect("the kernel numbers devices with positive ints");
    // SAFETY: the program's file descriptor is open, and without options the kernel reads no memory of ours.
    let link = unsafe {
        libbpf_sys::bpf_link_create(program.as_fd().as_raw_fd(), device, libbpf_sys::BPF_TCX_INGRESS, std::ptr::null())
    };
    owned(link, "attach a program to the device", "tcx came with Linux 6.6; before that, model the wait: --rx-usecs")
}
