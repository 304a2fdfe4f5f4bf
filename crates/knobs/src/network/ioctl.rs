//! The SIOCETHTOOL ioctl (include/uapi/linux/ethtool.h). Coalescing: the only way to one queue, and to a device on
//! kernels before 5.6. The indirection table: the only way to set it on kernels before 6.17.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use super::{CoalesceParameter, Coalescing};

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_SCOALESCE: u32 = 0x0f;
const ETHTOOL_PERQUEUE: u32 = 0x4b;
const ETHTOOL_GRXRINGS: u32 = 0x2d;
const ETHTOOL_GRXFHINDIR: u32 = 0x38;
const ETHTOOL_SRXFHINDIR: u32 = 0x39;

/// Queues that one call can name (MAX_NUM_QUEUE), in bits of 32-bit words.
const QUEUES: u32 = 4096;
const MASK_WORDS: usize = (QUEUES / u32::BITS) as usize;

/// `struct ethtool_coalesce`: its command and 22 parameters.
const COALESCE_WORDS: usize = 23;

/// `struct ethtool_per_queue_op`: command, command for each queue, mask, and here the parameters of one queue.
#[repr(C)]
struct PerQueue {
    command: u32,
    queue_command: u32,
    mask: [u32; MASK_WORDS],
    coalesce: Words,
}

type Words = [u32; COALESCE_WORDS];

/// `struct ethtool_rxfh_indir` before its entries: its command and how many there are.
const INDIRECTION_HEAD: usize = 2;

/// `struct ethtool_rxnfc`, of which the number of receive queues takes the first three fields.
#[repr(C)]
struct RxNfc {
    command: u32,
    flow_type: u32,
    data: u64,
    rest: [u64; RXNFC_REST],
}

/// `struct ethtool_rx_flow_spec` and what follows it, in 64-bit words.
const RXNFC_REST: usize = 22;

/// Where a parameter stands in `struct ethtool_coalesce`.
fn position(parameter: CoalesceParameter) -> usize {
    match parameter {
        CoalesceParameter::RxUsecs => 1,
        CoalesceParameter::RxFrames => 2,
        CoalesceParameter::TxUsecs => 5,
        CoalesceParameter::AdaptiveRx => 10,
        CoalesceParameter::AdaptiveTx => 11,
    }
}

/// The coalescing of a device or queue. The call does not tell which parameters the driver has: the others are 0.
pub(super) fn coalescing(device: &str, queue: Option<u32>) -> io::Result<Coalescing> {
    let words = get(device, queue)?;
    Ok(CoalesceParameter::ALL.into_iter().map(|parameter| (parameter, words[position(parameter)])).collect())
}

/// Sets one parameter and hands the others back as they are.
pub(super) fn set_coalescing(
    device: &str,
    queue: Option<u32>,
    parameter: CoalesceParameter,
    value: u32,
) -> io::Result<()> {
    let mut words = get(device, queue)?;
    words[position(parameter)] = value;
    call_coalesce(device, queue, ETHTOOL_SCOALESCE, words).map(|_| ())
}

fn get(device: &str, queue: Option<u32>) -> io::Result<Words> {
    call_coalesce(device, queue, ETHTOOL_GCOALESCE, [0; COALESCE_WORDS])
}

fn call_coalesce(device: &str, queue: Option<u32>, command: u32, mut words: Words) -> io::Result<Words> {
    words[0] = command;
    let Some(queue) = queue else {
        call(device, &mut words)?;
        return Ok(words);
    };
    if queue >= QUEUES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there are {QUEUES} queues at most")));
    }
    let mut mask = [0; MASK_WORDS];
    mask[(queue / u32::BITS) as usize] = 1 << (queue % u32::BITS);
    let mut request = PerQueue { command: ETHTOOL_PERQUEUE, queue_command: command, mask, coalesce: words };
    call(device, &mut request)?;
    Ok(request.coalesce)
}

/// The queue of each entry of a device's indirection table: of the one that all traffic goes by for which nobody made
/// another (an RSS context).
pub(super) fn indirection(device: &str) -> io::Result<Vec<u32>> {
    // A request without room for entries is told how many there are.
    let mut request = vec![ETHTOOL_GRXFHINDIR, 0];
    call(device, &mut request[..])?;
    let size = request[1];
    request.resize(INDIRECTION_HEAD + size as usize, 0);
    call(device, &mut request[..])?;
    if request[1] != size {
        return Err(io::Error::other(format!("its table had {size} entries, and has {} now", request[1])));
    }
    Ok(request.split_off(INDIRECTION_HEAD))
}

/// Sets that table: the hash key and the other tables stay (net/ethtool/ioctl.c, ethtool_set_rxfh_indir).
pub(super) fn set_indirection(device: &str, queues: &[u32]) -> io::Result<()> {
    let head = [ETHTOOL_SRXFHINDIR, queues.len() as u32];
    call(device, &mut [&head[..], queues].concat()[..])
}

/// How many receive queues a device has open.
pub(super) fn receive_queues(device: &str) -> io::Result<u32> {
    let mut request = RxNfc { command: ETHTOOL_GRXRINGS, flow_type: 0, data: 0, rest: [0; RXNFC_REST] };
    call(device, &mut request)?;
    u32::try_from(request.data).map_err(|_| io::Error::other(format!("it says it has {} receive queues", request.data)))
}

/// Calls SIOCETHTOOL with an ethtool command's structure, which the kernel reads and overwrites.
fn call<T: ?Sized>(device: &str, data: &mut T) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data, for which all bytes zero are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the device's name has more than 15 bytes"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: the request outlives the call and points to `data`, whose layout is that of the command in its first
    // word, with as many entries as it says: the kernel reads and writes no more than the structure of that command.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, std::ptr::from_mut(&mut request)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
#[path = "../../tests/needs/mod.rs"]
mod needs;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::network::{Live, Network};

    /// Set in the process that runs inside its own network namespace.
    const INSIDE: &str = "BAYOP_TEST_IN_NAMESPACE";
    const TEST: &str = "network::ioctl::tests::the_call_and_netlink_tell_the_same";

    /// On a tap device, whose driver takes rx-frames (drivers/net/tun.c).
    #[test]
    fn the_call_and_netlink_tell_the_same() {
        if std::env::var_os(INSIDE).is_some() {
            for (frames, shown) in [(8, 8), (1000, 64), (0, 0)] {
                set_coalescing("tap0", None, CoalesceParameter::RxFrames, frames).unwrap();
                let by_netlink = Live.coalescing("tap0", None).unwrap();
                assert_eq!(by_netlink, Coalescing::from([(CoalesceParameter::RxFrames, shown)]));
                assert_eq!(coalescing("tap0", None).unwrap()[&CoalesceParameter::RxFrames], shown);
            }
            return;
        }
        if !needs::has_root() || !needs::has_programs(&["unshare", "ip"]) {
            return;
        }
        let create = "ip tuntap add dev tap0 mode tap && exec \"$@\"";
        let this = std::env::current_exe().unwrap();
        let mut inside = Command::new("unshare");
        inside.args(["--net", "sh", "-c", create, "sh"]).arg(this).args(["--exact", TEST]).env(INSIDE, "1");
        let output = inside.output().unwrap();
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
    }

    #[test]
    fn the_kernels_structures_have_their_sizes() {
        // include/uapi/linux/ethtool.h: 23 words, and behind 130 words of a request for a queue.
        assert_eq!((size_of::<Words>(), size_of::<PerQueue>()), (23 * 4, (130 + 23) * 4));
        // The number of receive queues behind two words, in a structure of 192 bytes.
        assert_eq!((std::mem::offset_of!(RxNfc, data), size_of::<RxNfc>()), (8, 192));
    }
}
