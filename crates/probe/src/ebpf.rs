//! What every program of this crate needs of the kernel's eBPF.

use std::fs;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use bayop_core::{Error, Kind, Result, reason};
use libbpf_rs::ProgramMut;

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

/// A file that this machine shows everybody, or should.
pub fn unreadable(path: impl AsRef<Path>, error: &io::Error) -> Error {
    Error::unreadable(path, error).of(Kind::Unsupported)
}

/// Has the kernel take the time of eBPF programs, while the file descriptor is open.
///
/// # Errors
/// It does not.
pub fn enable_statistics() -> Result<OwnedFd> {
    // SAFETY: the call takes a constant and no memory.
    let statistics = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    owned(statistics, "take the time of eBPF programs", "leave out --cost")
}

/// The time that a program has taken while that was measured, in ns.
///
/// # Errors
/// The kernel does not tell it.
pub fn run_time_ns(program: &ProgramMut<'_>) -> Result<u64> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the program's file descriptor is open, and `info` is a structure of `length` bytes.
    let code = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_fd().as_raw_fd(), &mut info, &mut length) };
    if code < 0 {
        return Err(refused("tell the time of a program", &reason(&io::Error::from_raw_os_error(-code))));
    }
    Ok(info.run_time_ns)
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

/// That the kernel does not do something.
pub fn refused(act: &str, error: &impl std::fmt::Display) -> Error {
    Error::unsupported(format!("the kernel does not {act}: {error}"))
        .at("eBPF")
        .hint("it takes Linux 6.1 or later, and kernel.lockdown below confidentiality")
}
