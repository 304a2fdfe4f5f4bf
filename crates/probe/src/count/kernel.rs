//! The eBPF programs in the kernel: loaded and attached, their numbers read, their cost.

use std::array;
use std::mem::MaybeUninit;

use bayop_core::Result;
use bayop_knobs::idle_states::IdleState;
use bayop_probe::cost::{KernelTime, Statistics};
use bayop_probe::count::{Counts, STATES};
use bayop_probe::ebpf::{Scope, attach_traces, check, of_each_cpu, refused};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject};

#[allow(missing_docs, clippy::undocumented_unsafe_blocks)] // Generated.
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/count.skel.rs"));
}
use skeleton::{CountSkel, CountSkelBuilder};

/// The attached programs. They are detached when this is dropped, and by the kernel if the process dies before.
pub struct Counter<'a> {
    skeleton: CountSkel<'a>,
    _links: Vec<Link>,
    statistics: Option<Statistics>,
}

impl<'a> Counter<'a> {
    /// Loads and attaches the programs; the experts' hits go by the machine's states.
    ///
    /// # Errors
    /// This kernel or its policy refuses.
    pub fn attach(states: &[IdleState], cost: bool, storage: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        check(Scope::Tracing, "bayop-idle-count")?;
        libbpf_rs::set_print(None);
        let mut open =
            CountSkelBuilder::default().open(storage).map_err(|error| refused("open the programs", &error))?;
        let constants = open.maps.rodata_data.as_deref_mut().expect("the programs have a constant");
        let residency_us = |index: usize| states.get(index).map_or(u32::MAX, |state| state.target_residency_us);
        constants.residencies_us = array::from_fn::<_, STATES, _>(residency_us);
        open.progs.on_nothing.set_autoload(cost);
        let skeleton = open.load().map_err(|error| refused("load the programs", &error))?;
        let statistics = cost.then(Statistics::enable).transpose()?;
        let links = attach_traces(skeleton.object())?;
        Ok(Self { skeleton, _links: links, statistics })
    }

    /// What was counted so far; the next window begins.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn counts(&mut self) -> Result<Counts> {
        let shared = self.skeleton.maps.bss_data.as_deref_mut().expect("the programs have a variable");
        shared.window = shared.window.wrapping_add(1);
        Ok(Counts::of(&of_each_cpu(&self.skeleton.maps.cpus)?))
    }

    /// What the programs have taken, where it is measured.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn taken(&self) -> Result<Option<KernelTime>> {
        self.statistics.as_ref().map(|statistics| statistics.taken_by(self.skeleton.object())).transpose()
    }
}
