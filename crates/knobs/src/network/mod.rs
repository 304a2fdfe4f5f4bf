//! Interrupt coalescing, NAPI deferral and indirection tables of network devices: one seam, with the kernel behind it on
//! a live machine and files on a recorded one.

mod attribute;
pub(crate) mod device;
mod ethtool;
mod genetlink;
pub mod identity;
mod indirection;
mod ioctl;
mod live;
mod netdev;
pub(crate) mod recorded;

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use serde::{Deserialize, Serialize};

use bayop_core::{Error, Result};

pub(crate) use indirection::Indirection;
pub(crate) use live::Live;
pub(crate) use recorded::Recorded;

/// A parameter of interrupt coalescing that BayOp sets (ethtool(8), `--coalesce`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoalesceParameter {
    /// Microseconds from a received packet to its interrupt.
    RxUsecs,
    /// Received packets that raise an interrupt at once.
    RxFrames,
    /// Microseconds from a sent packet to its interrupt.
    TxUsecs,
    /// Whether the driver chooses the receive parameters itself.
    AdaptiveRx,
    /// Whether the driver chooses the transmit parameters itself.
    AdaptiveTx,
}

impl fmt::Display for CoalesceParameter {
    /// As the catalogue spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RxUsecs => "rx_usecs",
            Self::RxFrames => "rx_frames",
            Self::TxUsecs => "tx_usecs",
            Self::AdaptiveRx => "adaptive_rx",
            Self::AdaptiveTx => "adaptive_tx",
        })
    }
}

/// The coalescing parameters that a driver has, with their values; adaptive is 0 or 1.
pub(crate) type Coalescing = BTreeMap<CoalesceParameter, u32>;

/// A parameter of NAPI deferral (Documentation/netlink/specs/netdev.yaml, `napi`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NapiParameter {
    /// Empty polls before the interrupt is switched on again.
    DeferHardIrqs,
    /// Nanoseconds to the next poll while the interrupt is off.
    GroFlushTimeout,
    /// Nanoseconds for which busy polling may keep the interrupt off.
    IrqSuspendTimeout,
}

/// The NAPI instance of a receive queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Napi {
    /// The kernel's number for it, until the device is opened anew.
    pub id: u32,
    /// The parameters that the kernel has.
    #[serde(flatten)]
    pub parameters: BTreeMap<NapiParameter, u64>,
}

/// What network devices answer.
pub(crate) trait Network: Debug + Send + Sync {
    /// The coalescing of a device, or of one of its queues.
    fn coalescing(&self, device: &str, queue: Option<u32>) -> Result<Coalescing>;

    /// Sets one parameter and leaves the others.
    fn set_coalescing(&self, device: &str, queue: Option<u32>, parameter: CoalesceParameter, value: u32) -> Result<()>;

    /// The NAPI instances of a device, by receive queue.
    fn napis(&self, device: &str) -> Result<BTreeMap<u32, Napi>>;

    /// Sets one parameter of the NAPI instance of a receive queue.
    fn set_napi(&self, device: &str, queue: u32, parameter: NapiParameter, value: u64) -> Result<()>;

    /// The table by which a device spreads what it receives over its queues.
    fn indirection(&self, device: &str) -> Result<Indirection>;

    /// Replaces that table, and leaves the hash key and what other tables there are.
    fn set_indirection(&self, device: &str, table: &Indirection) -> Result<()>;

    /// How many receive queues a device has open.
    fn receive_queues(&self, device: &str) -> Result<u32>;

    /// The NAPI instance of a receive queue.
    fn napi(&self, device: &str, queue: u32) -> Result<Napi> {
        self.napis(device)?.remove(&queue).ok_or_else(|| {
            Error::unsupported(format!("{device}/rx-{queue} has no NAPI instance"))
                .rule("the device must be up and have the queue")
        })
    }
}

impl CoalesceParameter {
    /// Every parameter.
    pub const ALL: [Self; 5] = [Self::RxUsecs, Self::RxFrames, Self::TxUsecs, Self::AdaptiveRx, Self::AdaptiveTx];

    /// What ethtool calls it.
    pub fn ethtool_name(self) -> &'static str {
        match self {
            Self::RxUsecs => "rx-usecs",
            Self::RxFrames => "rx-frames",
            Self::TxUsecs => "tx-usecs",
            Self::AdaptiveRx => "adaptive-rx",
            Self::AdaptiveTx => "adaptive-tx",
        }
    }

    /// A value as ethtool writes it.
    pub(crate) fn text(self, value: u32) -> String {
        match (self.is_switch(), value) {
            (true, 0) => "off".to_owned(),
            (true, _) => "on".to_owned(),
            (false, _) => value.to_string(),
        }
    }

    /// The value that ethtool's text stands for.
    pub(crate) fn parse(self, text: &str) -> Result<u32> {
        match (self.is_switch(), text) {
            (true, "off") => Ok(0),
            (true, "on") => Ok(1),
            (true, _) => Err(Error::cannot_use(text, "the value must be on or off")),
            (false, _) => {
                text.parse().map_err(|_| Error::cannot_use(text, "the value must be a whole number below 2^32"))
            }
        }
    }

    fn is_switch(self) -> bool {
        matches!(self, Self::AdaptiveRx | Self::AdaptiveTx)
    }
}

impl NapiParameter {
    /// Every parameter.
    pub const ALL: [Self; 3] = [Self::DeferHardIrqs, Self::GroFlushTimeout, Self::IrqSuspendTimeout];

    /// What the netlink specification calls it.
    pub fn netlink_name(self) -> &'static str {
        match self {
            Self::DeferHardIrqs => "defer-hard-irqs",
            Self::GroFlushTimeout => "gro-flush-timeout",
            Self::IrqSuspendTimeout => "irq-suspend-timeout",
        }
    }
}
