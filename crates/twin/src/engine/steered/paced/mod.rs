//! Frequency policies that act when requests come and go, not once per sampling period.
//!
//! Each is small and stands for a paper. A core asks for a P-state after everything that happens to it; [`transitions`]
//! says when it gets it. `docs/policies.md` says what is simplified.

mod foresight;
mod slack;
mod tails;
mod transitions;

use self::foresight::Foresight;
use self::slack::Slack;
use self::transitions::Transitions;
use super::core::{Core, Shared};
use crate::costs::Costs;
use crate::engine::vector::Packet;
use crate::histogram::Histogram;
use crate::idle::Chooser;
use crate::moderation::Moderation;
use crate::profile::{FrequencyPolicy, Profile};
use crate::time::CoreTime;

/// Longest stretch in which cores are simulated before the policy sees what happened to them.
pub const MAX_STRETCH_US: f64 = 1.0;

/// How cores choose their P-states.
enum Policy {
    /// The least at which every request that a core has will be answered in time (Rubik, and a bound on it).
    Slack(Slack),
    /// The greatest while packets are polled, else what ondemand says (NMAP).
    PacketMode(PacketMode),
}

/// Frequency by how the network stack processes packets: Kang et al., "NMAP: Power Management Based on Network Packet
/// Processing Mode Transition for Latency-Critical Workloads", MICRO 2021.
struct PacketMode {
    /// Packets in one poll from which on a core counts as polling.
    poll_packets: u64,
    /// Cores that polled since their governor last looked.
    polled: Vec<bool>,
}

/// A policy at work on the cores of one server.
pub struct Paced {
    policy: Policy,
    transitions: Transitions,
    last_step: usize,
    /// Time of every core at every P-state since it was last taken.
    spent: Vec<Vec<CoreTime>>,
    /// Busy time since the policy last learnt, how many requests it would have served had it done nothing else, and how
    /// many the window had answered by then.
    busy_us: f64,
    served: f64,
    completed: u64,
    /// Latencies of the window before the period under way, which the server's tally has.
    latency: Histogram,
}

impl Paced {
    /// The event-driven policy of `profile`; all cores at the least P-state.
    pub fn new(profile: &Profile, shared: &Shared) -> Self {
        let (os, machine, cores) = (&profile.os, &profile.machine, profile.serving_cores());
        let steps = machine.freq_mhz.len();
        Self {
            policy: match os.frequency_governor {
                FrequencyPolicy::Nmap => Policy::PacketMode(PacketMode {
                    poll_packets: os.frequency_poll_budget as u64,
                    polled: vec![false; cores],
                }),
                FrequencyPolicy::Oracle => Policy::Slack(Slack::knowing_everything(profile)),
                _ => Policy::Slack(Slack::knowing_tails(profile, &shared.service)),
            },
            transitions: Transitions::new(cores, machine.frequency_domain_cores, os.frequency_transition_us),
            last_step: steps - 1,
            spent: vec![vec![CoreTime::default(); steps]; cores],
            busy_us: 0.0,
            served: 0.0,
            completed: 0,
            latency: Histogram::default(),
        }
    }

    /// When the next clock changes.
    pub fn due_us(&self) -> f64 {
        self.transitions.due_us()
    }

    /// A clock that changes at `now_us`: its cores, and their new P-state.
    pub fn change(&mut self, now_us: f64) -> Option<(std::ops::Range<usize>, usize)> {
        self.transitions.change(now_us)
    }

    /// Something happened to `core` before `now_us`: maybe an interrupt that received packets.
    pub fn look<M: Moderation, I: Chooser>(
        &mut self,
        index: usize,
        core: &Core<M, I>,
        received: u64,
        now_us: f64,
        costs: &[Costs],
        shared: &Shared,
    ) {
        match &mut self.policy {
            Policy::Slack(slack) => {
                self.transitions.ask(index, slack.step_for(index, core, now_us, costs, shared), now_us)
            }
            Policy::PacketMode(mode) => {
                if received >= mode.poll_packets {
                    mode.polled[index] = true;
                    self.transitions.ask(index, self.last_step, now_us);
                }
            }
        }
    }

    /// Looks ahead at `now_us` when `core_of` says whose a packet's request is.
    pub fn look_ahead(&mut self, now_us: f64, core_of: impl Fn(&Packet) -> usize) {
        if let Some((foresight, horizon_us)) = self.foresight() {
            foresight.look(now_us + horizon_us, core_of);
        }
    }

    /// A request was handed to `core`.
    pub fn handed_over(&mut self, core: usize, packet: &Packet) {
        if let Some((foresight, _)) = self.foresight() {
            foresight.forget(core, packet.arrived_us);
        }
    }

    /// Where to look ahead anew.
    pub fn renew<M: Moderation, I: Chooser>(&mut self, cores: &[Core<M, I>]) {
        if let Some((foresight, _)) = self.foresight() {
            foresight.renew(cores.iter().map(|core| Box::new(core.vector().future()) as _));
        }
    }

    fn foresight(&mut self) -> Option<(&mut Foresight, f64)> {
        match &mut self.policy {
            Policy::Slack(slack) => slack.foresight(),
            Policy::PacketMode(_) => None,
        }
    }

    /// The governor that samples load wants `core` at P-state `step`.
    pub fn govern(&mut self, core: usize, step: usize, now_us: f64) {
        let Policy::PacketMode(mode) = &mut self.policy else { return };
        if !std::mem::take(&mut mode.polled[core]) {
            self.transitions.ask(core, step, now_us);
        }
    }

    /// Counts time that `core` spent at P-state `step`.
    pub fn spend(&mut self, core: usize, step: usize, time: &CoreTime, costs: &Costs) {
        self.spent[core][step] += time;
        self.busy_us += time.busy_us;
        self.served += time.busy_us / costs.service_us[1];
    }

    /// Hands out the time of `core`, P-state by P-state.
    pub fn take_time(&mut self, core: usize, mut count: impl FnMut(usize, &CoreTime)) {
        for (step, time) in self.spent[core].iter_mut().enumerate() {
            if *time != CoreTime::default() {
                count(step, &std::mem::take(time));
            }
        }
    }

    /// Learns from the time since this was last called, when `completed` requests of the window were answered by now.
    /// Returns what serving a request took on average at the P-states that cores had; `None` when none was served.
    pub fn learn(&mut self, completed: u64) -> Option<f64> {
        let [busy_us, served] = [&mut self.busy_us, &mut self.served].map(std::mem::take);
        let since = completed.saturating_sub(std::mem::replace(&mut self.completed, completed));
        if let Policy::Slack(slack) = &mut self.policy {
            slack.learn_overhead(served, since);
        }
        (served > 0.0).then(|| busy_us / served)
    }

    /// Ends a period of the feedback loop when it is long enough, with the latencies of the period in `latency`.
    pub fn adjust(&mut self, now_us: f64, latency: &mut Histogram) {
        let Policy::Slack(slack) = &mut self.policy else { return };
        if slack.adjust(now_us, latency) {
            self.latency.merge(&std::mem::take(latency));
        }
    }

    /// Puts the latencies of earlier periods back.
    pub fn merge_latencies(&mut self, latency: &mut Histogram) {
        latency.merge(&std::mem::take(&mut self.latency));
    }
}
