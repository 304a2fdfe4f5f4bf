//! Coalescing by the SIOCETHTOOL ioctl (include/uapi/linux/ethtool.h): the only way to one queue, and to a device on
//! kernels before 5.6.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use super::{CoalesceParameter, Coalescing};

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_SCOALESCE: u32 = 0x0f;
const ETHTOOL_PERQUEUE: u32 = 0x4b;

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
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a queue is below {QUEUES}")));
    }
    let mut mask = [0; MASK_WORDS];
    mask[(queue / u32::BITS) as usize] = 1 << (queue % u32::BITS);
    let mut request = PerQueue { command: ETHTOOL_PERQUEUE, queue_command: command, mask, coalesce: words };
    call(device, &mut request)?;
    Ok(request.coalesce)
}

/// Calls SIOCETHTOOL with an ethtool command's structure, which the kernel reads and overwrites.
fn call<T>(device: &str, data: &mut T) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data, for which all bytes zero are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name has at most 15 bytes"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: the request outlives the call and points to `data`, whose layout is that of the command in its first
    // word: the kernel reads and writes no more than the structure of that command.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, std::ptr::from_mut(&mut request)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
