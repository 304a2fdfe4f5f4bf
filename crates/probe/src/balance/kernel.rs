//! The eBPF programs in the kernel: loaded, made the scheduler, their numbers read.

use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;

use bayop_core::{Error, Result};
use bayop_probe::ebpf::{Scope, check, refused};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, OpenObject};

#[allow(missing_docs, clippy::undocumented_unsafe_blocks)] // Generated.
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/balance.skel.rs"));
}
use skeleton::{BalanceSkel, BalanceSkelBuilder};

/// Where the kernel says whether a scheduler of eBPF is in use, and which.
const SCHED_EXT: &str = "/sys/kernel/sched_ext";
const LINUX: &str = "it takes Linux 6.13 or later, such as Debian's of trixie-backports";
/// `FULL_NS` of `balance.bpf.c`.
const FULL_NS: f64 = 28_853_901.0;

/// When a CPU has room.
#[derive(Debug, Clone)]
pub struct Rules {
    /// CPUs, the one to be filled first in front.
    pub order: Vec<u32>,
    /// Part of its time that a CPU is filled to.
    pub most_utilization: f64,
    /// It has none while as many tasks run and wait there.
    pub most_backlog: u32,
}

/// What a CPU did since the scheduler began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Time that tasks have run.
    pub ran_ns: u64,
    /// Tasks that woke up and were placed there, for there was room.
    pub placed: u64,
    /// Tasks that came there because no CPU had room.
    pub spilled: u64,
}

/// The scheduler in use. The kernel's own is back when this is dropped, and when the process dies before.
pub struct Balancer<'a> {
    skeleton: BalanceSkel<'a>,
    _link: Link,
}

impl<'a> Balancer<'a> {
    /// Loads the programs and makes them the scheduler.
    ///
    /// # Errors
    /// This kernel or its policy refuses, or another scheduler of eBPF is in use.
    pub fn attach(rules: &Rules, storage: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        check(Scope::Tracing, "bayop-idle-balance")?;
        check_sched_ext()?;
        libbpf_rs::set_print(None);
        let mut open =
            BalanceSkelBuilder::default().open(storage).map_err(|error| refused("open the programs", &error))?;
        let constants = open.maps.rodata_data.as_deref_mut().expect("the programs have constants");
        constants.order[..rules.order.len()].copy_from_slice(&rules.order);
        constants.ordered = rules.order.len() as u32;
        constants.most_ns = (rules.most_utilization * FULL_NS) as u64;
        constants.most_backlog = rules.most_backlog;
        let loaded = open.load().map_err(|error| refused("load the programs", &error).hint(LINUX));
        let mut skeleton = loaded?;
        let attached = skeleton.maps.balancer.attach_struct_ops();
        let link = attached.map_err(|error| refused("take them as its scheduler", &error))?;
        Ok(Self { skeleton, _link: link })
    }

    /// What each CPU did so far, by its number.
    pub fn done(&self) -> Vec<Done> {
        let cpus = &self.skeleton.maps.bss_data.as_deref().expect("the programs have variables").cpus;
        cpus.iter().map(|cpu| Done { ran_ns: cpu.ran_ns, placed: cpu.placed, spilled: cpu.spilled }).collect()
    }

    /// That the kernel has ended it.
    ///
    /// # Errors
    /// It has.
    pub fn check(&self) -> Result<()> {
        let shared = self.skeleton.maps.bss_data.as_deref().expect("the programs have variables");
        if shared.ended == 0 {
            return Ok(());
        }
        let reason: Vec<u8> =
            shared.ended_reason.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
        let reason = String::from_utf8_lossy(&reason);
        Err(Error::unsupported(format!("the kernel ended the balancer: {reason}"))
            .at("sched_ext")
            .hint("its own scheduler is back; dmesg has more"))
    }
}

fn check_sched_ext() -> Result<()> {
    let root = Path::new(SCHED_EXT);
    if !root.exists() {
        return Err(Error::unsupported(format!("there is no {SCHED_EXT}"))
            .rule("the kernel must take schedulers of eBPF (CONFIG_SCHED_CLASS_EXT)")
            .hint(LINUX));
    }
    match fs::read_to_string(root.join("root/ops")) {
        Ok(other) => Err(Error::unsupported(format!("the scheduler {} is in use", other.trim()))
            .at(SCHED_EXT)
            .rule("no other scheduler of eBPF must be in use")
            .hint("end it first")),
        Err(_) => Ok(()),
    }
}
