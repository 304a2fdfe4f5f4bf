//! Packets and bytes of each network device (Documentation/ABI/testing/sysfs-class-net-statistics).

use super::reading::{Quantity, Sample};
use super::text::number;
use crate::host::Host;
use crate::sysfs::NET;
use bayop_core::{Error, Kind, Result};

const STATISTICS: [(&str, Quantity); 4] = [
    ("rx_packets", Quantity::counter("nic_rx_packets", "1")),
    ("rx_bytes", Quantity::counter("nic_rx_bytes", "B")),
    ("tx_packets", Quantity::counter("nic_tx_packets", "1")),
    ("tx_bytes", Quantity::counter("nic_tx_bytes", "B")),
];

pub(super) fn sample(host: &Host, sample: &mut Sample) {
    for device in host.devices() {
        for (statistic, quantity) in STATISTICS {
            let file = format!("{NET}/{device}/statistics/{statistic}");
            if host.has(&file) {
                let value = host.read(&file).and_then(|text| number(text.as_bytes())).map(|count| count as f64);
                let value = value.map_err(|error| error.at(format!("/{file}")));
                sample.add(quantity, &device, format!("/{file}"), value);
            }
        }
    }
}

/// The packets that a network device has received so far.
///
/// # Errors
/// There is no such device, or it does not say.
pub fn received_packets(host: &Host, device: &str) -> Result<f64> {
    let devices = host.devices();
    if !devices.iter().any(|known| known == device) {
        return Err(Error::new(Kind::NotFound, format!("there is no network device {device}"))
            .value(device)
            .hint(format!("network devices: {}", devices.join(", "))));
    }
    let file = format!("{NET}/{device}/statistics/rx_packets");
    let packets = number(host.read(&file)?.as_bytes()).map_err(|error| error.at(format!("/{file}")))?;
    Ok(packets as f64)
}
