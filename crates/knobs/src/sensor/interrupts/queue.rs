//! Which queue an interrupt serves, by the name that the driver gave it.

/// One interrupt, on all CPUs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interrupt<'a> {
    pub irq: u32,
    pub count: u64,
    /// The names that its drivers registered; one, unless the interrupt is shared.
    pub name: &'a str,
}

/// The words before a queue's number, and the queue. An interrupt that serves both directions goes by its receive queue,
/// because rx_usecs spaces it.
const WORDS: &[(&str, &str)] = &[
    ("tx-rx", "rx"),      // ena: eth0-Tx-Rx-3
    ("txrx", "rx"),       // ixgbe, i40e, ice, igb, bnxt_en: i40e-eth0-TxRx-3
    ("rxtx", "rx"),       // vmxnet3, nfp: eth0-rxtx-3
    ("rx", "rx"),         // e1000e, igb, virtio: eth0-rx-0
    ("tx", "tx"),         // e1000e, igb: eth0-tx-0
    ("input", "rx"),      // virtio_net: virtio2-input.0
    ("output", "tx"),     // virtio_net: virtio2-output.0
    ("comp", "rx"),       // mlx5_core: mlx5_comp3@pci:0000:3b:00.0
    ("fp", "rx"),         // qede, bnx2x: eth0-fp-3
    ("queue", "rx"),      // cxgb4: eth0 (queue 3)
    ("ntfy-block", "rx"), // gve: eth0-ntfy-block.3
    ("ntfy-blk", "rx"),   // gve: gve-ntfy-blk3@pci:0000:00:04.0
    ("q", "rx"),          // be2net, mana: eth0-q3, mana_q3@pci:7870:00:00.0
];

/// Where each interrupt of a device belongs: `eth0/rx-3`, or `eth0/irq-97` when the name tells no queue or two names
/// tell the same.
pub(super) fn places(device: &str, interrupts: &[&Interrupt]) -> Vec<String> {
    let queues: Vec<Option<String>> = interrupts.iter().map(|interrupt| queue(device, interrupt.name)).collect();
    let is_unique = |queue: &Option<String>| queues.iter().filter(|other| *other == queue).count() == 1;
    let place = |(interrupt, queue): (&&Interrupt, &Option<String>)| match queue {
        Some(name) if is_unique(queue) => format!("{device}/{name}"),
        _ => format!("{device}/irq-{}", interrupt.irq),
    };
    interrupts.iter().zip(&queues).map(place).collect()
}

/// The queue in a name such as `eth0-TxRx-3`: `rx-3`.
fn queue(device: &str, name: &str) -> Option<String> {
    let name = name.split('@').next()?.trim_end_matches(')');
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let index: u32 = name[stem.len()..].parse().ok()?;
    // sfc numbers its channels after the device's name alone: eth0-3.
    if stem.strip_suffix('-') == Some(device) {
        return Some(format!("rx-{index}"));
    }
    let stem = stem.trim_end_matches(['-', '.', ' ', '_']).to_ascii_lowercase();
    let (_, queue) = WORDS.iter().find(|(word, _)| {
        stem.strip_suffix(word).is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()))
    })?;
    Some(format!("{queue}-{index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drivers_name_tells_its_queue() {
        for (name, expected) in [
            ("eth0-TxRx-3", Some("rx-3")),
            ("i40e-eth0-TxRx-12", Some("rx-12")),
            ("ice-eth0-TxRx-7", Some("rx-7")),
            ("eth0-rx-0", Some("rx-0")),
            ("eth0-tx-0", Some("tx-0")),
            ("eth0-Tx-Rx-5", Some("rx-5")),
            ("eth0-rxtx-2", Some("rx-2")),
            ("eth0-fp-1", Some("rx-1")),
            ("eth0-q4", Some("rx-4")),
            ("eth0 (queue 6)", Some("rx-6")),
            ("eth0-ntfy-block.8", Some("rx-8")),
            ("gve-ntfy-blk9@pci:0000:00:04.0", Some("rx-9")),
            ("mana_q3@pci:7870:00:00.0", Some("rx-3")),
            ("mlx5_comp3@pci:0000:3b:00.0", Some("rx-3")),
            ("virtio2-input.0", Some("rx-0")),
            ("virtio2-output.1", Some("tx-1")),
            ("hns3-0000:7d:00.0-TxRx-3", Some("rx-3")),
            ("eth0-3", Some("rx-3")),
            ("eth0", None),
            ("virtio2-config", None),
            ("mlx5_async0@pci:0000:3b:00.0", None),
            ("mlx5_pages_eq@pci:0000:3b:00.0", None),
            ("ena-mgmnt@pci:0000:00:05.0", None),
            ("i40e-0000:18:00.0:misc", None),
            ("eth0-event-8", None),
            ("eth0-rx-99999999999", None),
            ("", None),
        ] {
            assert_eq!(queue("eth0", name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn names_that_tell_the_same_queue_fall_back_to_the_interrupt() {
        let interrupt = |irq, name| Interrupt { irq, count: 1, name };
        let [rx, again, tx] = [interrupt(40, "a-rx-0"), interrupt(41, "b-rx-0"), interrupt(42, "a-tx-0")];
        assert_eq!(places("eth0", &[&rx, &again, &tx]), ["eth0/irq-40", "eth0/irq-41", "eth0/tx-0"]);
    }
}
