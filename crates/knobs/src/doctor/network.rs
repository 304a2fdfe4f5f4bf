//! The NICs: adaptive moderation, and which CPUs take their interrupts.

use super::finding::Finding;
use crate::host::Host;
use crate::knob::Survey;
use crate::sensor::nic_interrupts;
use crate::sysfs::ONLINE;
use crate::value::Value;

/// The knob that tells whether a driver moderates by itself.
const ADAPTIVE: &str = "nic.adaptive_rx";

pub(super) fn examine(host: &Host, survey: &Survey) -> Vec<Finding> {
    let mut findings = adaptive(host, survey);
    findings.extend(nic_interrupts(host).into_iter().filter_map(|(device, irqs)| affinity(host, &device, &irqs)));
    findings
}

/// Adaptive moderation of each device that has it.
fn adaptive(host: &Host, survey: &Survey) -> Vec<Finding> {
    let why = "an adaptive driver chooses rx_usecs itself, packet by packet, over what is set";
    let switches =
        survey.instances.iter().filter(|instance| instance.knob.id == ADAPTIVE && !instance.at.contains('/'));
    switches
        .map(|switch| {
            let check = format!("adaptive moderation {}", switch.at);
            match switch.read(host) {
                Ok(value) if value == Value::from("on") => Finding::note(check, "on", why)
                    .remedy(format!("ethtool -C {} adaptive-rx off, or allow {ADAPTIVE} to the agent", switch.at)),
                Ok(value) => Finding::ok(check, value.to_string(), why),
                Err(error) => Finding::missing(check, &error, why),
            }
        })
        .collect()
}

/// Whether the interrupts of a device with several are spread over CPUs.
fn affinity(host: &Host, device: &str, irqs: &[u32]) -> Option<Finding> {
    let why = "queues whose interrupts share a CPU share its time; a moderation delay then acts on all of them at once";
    let mut cpus: Vec<String> = irqs
        .iter()
        .filter_map(|irq| {
            let file = |name| host.read(&format!("proc/irq/{irq}/{name}")).ok().filter(|cpus| !cpus.is_empty());
            file("effective_affinity_list").or_else(|| file("smp_affinity_list"))
        })
        .collect();
    let interrupts = cpus.len();
    if interrupts < 2 {
        return None;
    }
    cpus.sort();
    cpus.dedup();
    let check = format!("interrupt affinity {device}");
    let online = host.read(ONLINE).unwrap_or_default();
    Some(match cpus.as_slice() {
        [cpu] if online != "0" => Finding::note(check, format!("all {interrupts} interrupts on CPU {cpu}"), why)
            .remedy(format!("write one CPU for each to /proc/irq/{}/smp_affinity_list and its siblings", irqs[0])),
        cpus => Finding::ok(check, format!("{interrupts} interrupts on CPUs {}", cpus.join(" ")), why),
    })
}
