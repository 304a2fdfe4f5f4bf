//! What will arrive: what no policy knows, and a bound does.

use crate::engine::vector::Packet;

/// The packets that one receive queue will still receive.
type Stream = Box<dyn Iterator<Item = Packet>>;

/// The requests that have not been handed to a core yet, if anybody can say to which they will be.
#[derive(Default)]
pub struct Foresight {
    streams: Vec<std::iter::Peekable<Stream>>,
    /// For each core, when the packets of its requests arrive, ascending.
    coming: Vec<Vec<f64>>,
}

impl Foresight {
    /// Looks at the receive queues anew.
    pub fn renew(&mut self, streams: impl Iterator<Item = Stream>) {
        self.streams = streams.map(Iterator::peekable).collect();
        self.coming = vec![Vec::new(); self.streams.len()];
    }

    /// Looks ahead until `until_us`, when `core_of` says whose a packet's request is.
    pub fn look(&mut self, until_us: f64, core_of: impl Fn(&Packet) -> usize) {
        for stream in &mut self.streams {
            while let Some(packet) = stream.next_if(|packet| packet.arrived_us < until_us) {
                let coming = &mut self.coming[core_of(&packet)];
                let at = coming.partition_point(|&arrived_us| arrived_us <= packet.arrived_us);
                coming.insert(at, packet.arrived_us);
            }
        }
    }

    /// A request was handed to `core`.
    pub fn forget(&mut self, core: usize, arrived_us: f64) {
        if let Some(coming) = self.coming.get_mut(core) {
            coming.retain(|&other_us| other_us != arrived_us);
        }
    }

    /// When the packets of the requests of `core` arrive that were seen ahead, in order.
    pub fn coming(&self, core: usize) -> impl Iterator<Item = f64> {
        self.coming.get(core).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_seen_in_order_until_the_horizon_and_forgotten_when_handed_over() {
        let stream = |arrivals: &'static [f64]| {
            let packet = |&arrived_us: &f64| Packet { arrived_us, choice: 0, poll: 0 };
            Box::new(arrivals.iter().map(packet)) as Stream
        };
        let mut foresight = Foresight::default();
        assert_eq!(foresight.coming(1).count(), 0);
        foresight.renew([stream(&[1.0, 5.0, 9.0]), stream(&[2.0, 4.0])].into_iter());
        foresight.look(6.0, |_| 1);
        foresight.forget(1, 2.0);
        assert_eq!(foresight.coming(1).collect::<Vec<_>>(), [1.0, 4.0, 5.0]);
        foresight.look(10.0, |_| 0);
        assert_eq!(foresight.coming(0).collect::<Vec<_>>(), [9.0]);
    }
}
