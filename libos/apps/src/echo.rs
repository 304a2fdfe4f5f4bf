//! Whatever comes goes back (RFC 862): the other side of NetPIPE's ping-pong.

use libos_net::service::{OUTPUT_LIMIT, Output, Served, Service};
use libos_net::wire::ipv4::Address;

/// Where it listens.
pub const PORT: u16 = 7;

/// Sends back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl Service for Echo {
    type Session = ();

    fn accept(&self, _peer: Address, port: u16) -> Option<()> {
        (port == PORT).then_some(())
    }

    fn serve(&mut self, _now_us: u64, (): &mut (), input: &[u8], output: &mut Output) -> Served {
        let taken = input.len().min(OUTPUT_LIMIT.saturating_sub(output.len()));
        output.write(&input[..taken]);
        Served { taken, close: false }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use libos_net::tcp::Queue;

    use super::*;

    fn served(queue: &mut Queue, input: &[u8]) -> usize {
        let served = Echo.serve(0, &mut (), input, &mut Output::new(queue));
        assert!(!served.close);
        served.taken
    }

    #[test]
    fn what_comes_goes_back_in_order() {
        let mut queue = Queue::default();
        assert_eq!(served(&mut queue, b"first "), 6);
        assert_eq!(served(&mut queue, b"second"), 6);
        assert_eq!(queue.bytes().to_vec(), b"first second");
    }

    #[test]
    fn who_does_not_read_is_not_read_any_further() {
        let mut queue = Queue::default();
        let input: Vec<u8> = vec![7; OUTPUT_LIMIT + 100];
        assert_eq!(served(&mut queue, &input), OUTPUT_LIMIT);
        assert_eq!(served(&mut queue, &input), 0);
    }
}
