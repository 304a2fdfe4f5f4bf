//! Datagrams: each is served to its end, and nothing is kept of who sent it.

use super::{Config, PAYLOAD_START, Stack, write_headers};
use crate::device::{PartialChecksum, Transmit};
use crate::service::Service;
use crate::tcp::Peer;
use crate::wire::udp::{self, Datagram};
use crate::wire::{icmp, ipv4};

/// Below are ports of servers. What comes from there, or from a port like its own, may be an answer, and two servers
/// that answer each other never end.
const FIRST_CLIENT_PORT: u16 = 1024;

impl<S: Service> Stack<S> {
    /// Answers the datagram that a packet of ours carries behind its header.
    pub(super) fn receive_datagram(
        &mut self,
        now_us: u64,
        peer: Peer,
        packet: &[u8],
        datagram: &Datagram,
        transmit: &mut impl Transmit,
    ) {
        let Datagram { source_port, destination_port, payload } = *datagram;
        if source_port < FIRST_CLIENT_PORT || source_port == destination_port {
            return;
        }
        let config = &self.config;
        let mut answer = |payload: &[u8]| {
            let answer = Datagram { source_port: destination_port, destination_port: source_port, payload };
            send_datagram(config, peer, &answer, transmit);
        };
        if !self.service.serve_datagram(now_us, destination_port, payload, &mut answer) {
            // Hardly longer than what asked, so that nobody is flooded by way of us.
            let len = icmp::unreachable_len(packet);
            let _ = transmit.send(PAYLOAD_START + len, None, |frame| {
                write_headers(config, (peer.mac, peer.address), ipv4::ICMP, frame);
                icmp::write_port_unreachable(packet, &mut frame[PAYLOAD_START..]);
            });
        }
    }
}

fn send_datagram(config: &Config, peer: Peer, datagram: &Datagram, transmit: &mut impl Transmit) {
    assert!(datagram.payload.len() <= udp::MAX_PAYLOAD_LEN, "a datagram must fit into a frame");
    let device_completes = transmit.completes_checksums();
    let checksum = PartialChecksum { start: PAYLOAD_START, offset: udp::CHECKSUM_OFFSET, cut: None };
    let checksum = device_completes.then_some(checksum);
    // What there is no room for is lost, as datagrams are.
    let _ = transmit.send(PAYLOAD_START + udp::HEADER_LEN + datagram.payload.len(), checksum, |frame| {
        write_headers(config, (peer.mac, peer.address), ipv4::UDP, frame);
        udp::write(datagram, &mut frame[PAYLOAD_START..]);
        udp::write_checksum(&mut frame[PAYLOAD_START..], config.address, peer.address, device_completes);
    });
}
