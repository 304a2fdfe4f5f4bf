//! What the device is told while it runs (section 5.1.6.5): how many pairs of queues are in use.

use libos_hal::dma::Dma;

use super::queue::{DEVICE_WRITES, Queue, followed_by};

const CLASS_PAIRS: u8 = 4;
const COMMAND_SET: u8 = 0;
const OK: u8 = 0;

/// Has the device use so many pairs. Says whether it does.
pub(super) fn use_pairs(queue: &mut Queue, pairs: u16) -> bool {
    const COMMAND_LEN: usize = 4;
    let [low, high] = pairs.to_le_bytes();
    let mut memory = Dma::new(COMMAND_LEN + 1);
    memory.bytes_mut(0, COMMAND_LEN + 1).copy_from_slice(&[CLASS_PAIRS, COMMAND_SET, low, high, !OK]);
    queue.describe(0, memory.address(0), COMMAND_LEN as u32, followed_by(1));
    queue.describe(1, memory.address(COMMAND_LEN), 1, DEVICE_WRITES);
    queue.offer(0);
    queue.notify();
    while queue.take_used().is_none() {}
    memory.bytes(COMMAND_LEN, 1) == [OK]
}
