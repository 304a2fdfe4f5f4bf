//! What every program of this crate shares: what it needs of the kernel's eBPF, how it prints, and how it ends.

use std::fs::{self, File};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use bayop_core::{Error, Kind, Result, reason};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramMut, RingBuffer, RingBufferBuilder};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns};

/// The kernel's own description of its structures, which CO-RE needs.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Capabilities by their bit in /proc/PID/status; capabilities(7). CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON.
const CAP_NET_ADMIN: u64 = 1 << 12;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Whether programs are attached to the network too, which takes a capability more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Tracepoints only.
    Tracing,
    /// Packets as well.
    Network,
}

impl Scope {
    fn has(self, effective: u64) -> bool {
        let has = |capability| effective & capability != 0;
        let tracing = has(CAP_SYS_ADMIN) || has(CAP_BPF) && has(CAP_PERFMON);
        tracing && (self == Self::Tracing || has(CAP_NET_ADMIN))
    }

    fn capabilities(self) -> (&'static str, &'static str) {
        match self {
            Self::Tracing => ("CAP_BPF and CAP_PERFMON", "cap_bpf,cap_perfmon"),
            Self::Network => ("CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN", "cap_bpf,cap_perfmon,cap_net_admin"),
        }
    }
}

/// Whether this process may load programs here; `program` is its name.
///
/// # Errors
/// It may not, or the kernel does not describe itself.
pub fn check(scope: Scope, program: &str) -> Result<()> {
    const STATUS: &str = "/proc/self/status";
    let status = fs::read_to_string(STATUS).map_err(|error| unreadable(STATUS, &error))?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .ok_or_else(|| Error::unsupported(format!("{STATUS} lists no capabilities")))?;
    if !scope.has(effective) {
        let (names, flags) = scope.capabilities();
        return Err(Error::unsupported(format!("this process has the capabilities {effective:#x} only"))
            .rule(format!("it must have {names}"))
            .hint(format!("run it as root, or: setcap {flags}=ep {program}")));
    }
    if !Path::new(BTF).exists() {
        return Err(Error::unsupported(format!("there is no {BTF}"))
            .rule("the kernel must describe its structures (CONFIG_DEBUG_INFO_BTF)"));
    }
    Ok(())
}

/// Enters a network namespace, our own if none is given, and returns its inode number, which is what the kernel knows it
/// by.
///
/// # Errors
/// There is no such namespace.
pub fn enter(path: Option<&Path>) -> Result<u32> {
    let own = Path::new("/proc/self/ns/net");
    let path = path.unwrap_or(own);
    let wrong = |error: io::Error| {
        Error::input(format!("cannot enter the network namespace {}: {}", path.display(), reason(&error)))
            .value(path.display())
            .at("--netns")
            .hint("/run/netns/NAME, or /proc/PID/ns/net of the server")
    };
    let file = File::open(path).map_err(wrong)?;
    if path != own {
        setns(&file, CloneFlags::CLONE_NEWNET).map_err(|error| wrong(error.into()))?;
    }
    let inode = file.metadata().map_err(wrong)?.ino();
    u32::try_from(inode).map_err(|_| Error::malformed(inode, "a namespace's inode number must have 32 bits"))
}

/// The index of a device of the namespace that we are in; `flag` is where its name comes from.
///
/// # Errors
/// There is no such device.
pub fn device_index(name: &str, flag: &str) -> Result<u32> {
    if_nametoindex(name).map_err(|error| {
        let wrong = format!("cannot use device {name} of the server's network namespace");
        Error::input(format!("{wrong}: {}", reason(&error.into()))).value(name).at(flag).hint("ip link shows them")
    })
}

/// Attaches a program that was loaded to its tracepoint.
///
/// # Errors
/// The kernel refuses.
pub fn attach_trace(program: &ProgramMut<'_>) -> Result<Link> {
    program.attach_trace().map_err(|error| refused("attach a program to a tracepoint", &error))
}

/// Attaches the programs of an object that were loaded, in their order.
///
/// # Errors
/// The kernel refuses.
pub fn attach_traces(object: &Object) -> Result<Vec<Link>> {
    let programs = object.progs().zip(object.progs_mut()).filter(|(program, _)| program.autoload());
    programs.map(|(_, program)| attach_trace(&program)).collect()
}

/// The records of a map, each of which is given to `take` when they are consumed.
///
/// # Errors
/// The kernel refuses.
pub fn ring(map: &dyn MapCore, mut take: impl FnMut(&[u8]) + 'static) -> Result<RingBuffer<'static>> {
    let mut builder = RingBufferBuilder::new();
    let taking = builder.add(map, move |record| {
        take(record);
        0
    });
    taking.map_err(|error| refused("share its records", &error))?;
    builder.build().map_err(|error| refused("share its records", &error))
}

/// What each CPU's element of a map with one element holds.
///
/// # Errors
/// The kernel does not tell.
pub fn of_each_cpu(map: &impl MapCore) -> Result<Vec<Vec<u8>>> {
    let cpus = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
    Ok(cpus.map_err(|error| refused("tell what it has counted", &error))?.expect("an array has its elements"))
}

/// A file that this machine shows everybody, or should.
pub fn unreadable(path: impl AsRef<Path>, error: &io::Error) -> Error {
    Error::unreadable(path, error).of(Kind::Unsupported)
}

/// The file descriptor that a call of libbpf returned, or its error.
///
/// # Errors
/// It is one.
pub fn owned(descriptor: i32, act: &str, hint: &str) -> Result<OwnedFd> {
    if descriptor < 0 {
        return Err(refused(act, &reason(&io::Error::from_raw_os_error(-descriptor))).hint(hint));
    }
    // SAFETY: the call has just opened it for us, and nobody else closes it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Whether something could be printed; not where nobody reads any more.
///
/// # Errors
/// It could not for another reason.
pub fn printed(outcome: io::Result<()>) -> Result<bool> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::unwritable("stdout", &error)),
        Ok(()) => Ok(true),
    }
}

/// How a program ends: an error is said, and is its exit code.
pub fn ended(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.report());
            ExitCode::from(error.exit_code())
        }
    }
}

/// That the kernel does not do something.
pub fn refused(act: &str, error: &impl std::fmt::Display) -> Error {
    Error::unsupported(format!("the kernel does not {act}: {error}"))
        .at("eBPF")
        .hint("it takes Linux 6.1 or later, and kernel.lockdown below confidentiality")
}
