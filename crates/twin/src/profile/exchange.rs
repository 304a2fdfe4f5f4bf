//! The closed loop of a profile: one connection on which one message goes back and forth.

use serde::{Deserialize, Serialize};

/// Two equal machines, a wire between them, and one message (NetPIPE's ping-pong): whoever has
/// received all of it sends it back. Nothing else is ever under way, so load is not offered but
/// answered: the message size decides it.
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
    /// From the end of a frame's transmission to the other card's receive event.
    pub wire_us: f64,
    /// Reading or writing a kibibyte: copies between application and kernel, checksums.
    pub copy_kcycles_per_kib: f64,
    /// The application reads and writes pieces of this size; a written piece goes to the card
    /// whole (segmentation offload), and interrupts come between pieces.
    pub piece_bytes: f64,
    /// A bare acknowledgement leaves when an interrupt has found so many data frames since the last.
    pub ack_every_bytes: f64,
    /// Retired instructions per kibibyte received or sent.
    pub kinstructions_per_kib: f64,
}
