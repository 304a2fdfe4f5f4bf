//! The closed loop of a profile: one connection on which one message goes back and forth.

use serde::{Deserialize, Serialize};

/// When a receiver acknowledges data by themselves, without an answer that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledgement {
    /// A read that has emptied the socket, or completed the message, acknowledges what it took if
    /// that is more than a segment (Linux: `tcp_cleanup_rbuf`).
    Reads,
    /// Every received packet is acknowledged at once unless the handler answers it. The server's
    /// handler sends the message back; the client's only wakes a thread that will, so the client
    /// acknowledges the last packet of a message, too (EbbRT: `TcpEntry::Output`).
    Packets,
}

/// Two equal machines, a wire between them, and one message (NetPIPE's ping-pong): whoever has
/// received all of it sends it back. Nothing else is ever under way, so load is not offered but
/// answered: the message size decides it. The delay is set on both machines, the frequency on
/// the server only: the client always runs at the greatest.
///
/// Of [`crate::profile::App`], a closed loop uses the costs of a message (`request_kcycles`,
/// `request_us`, once each way), `network_jitter_us`, the kiloinstructions, the powers and the
/// spare cores; the rest describes clients that it does not have.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Payload of a full frame (TCP's segment size).
    pub segment_bytes: f64,
    /// What a frame is on the wire beside its payload, preamble and gap included.
    pub overhead_bytes: f64,
    /// Rate of the wire.
    pub wire_mbit_s: f64,
    /// Rate at which the card fetches what it is to send. That completes a transmission: the card
    /// has room for more than a burst.
    pub bus_mbit_s: f64,
    /// From the end of a frame's transmission to the other card's receive event.
    pub wire_us: f64,
    /// Reading or writing a kibibyte: copies between application and kernel, checksums.
    pub copy_kcycles_per_kib: f64,
    /// Most that goes to the card at once (segmentation offload): its frames leave when all of it
    /// has been copied.
    pub burst_bytes: f64,
    /// Whether a last burst that is not full waits until the one before it has completed (Linux:
    /// `net.ipv4.tcp_autocorking`).
    pub autocorking: bool,
    /// When data are acknowledged by themselves.
    pub acknowledgement: Acknowledgement,
    /// The receiving card merges the frames of a message of at least this size ...
    pub merged_from_bytes: f64,
    /// ... up to this many bytes, when they come between two of its interrupts.
    pub merged_bytes: f64,
    /// Retired instructions per kibibyte received or sent.
    pub kinstructions_per_kib: f64,
    /// Retired instructions per received packet, of merged frames if the card merges.
    pub packet_kinstructions: f64,
}
