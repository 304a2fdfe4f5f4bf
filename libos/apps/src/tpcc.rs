//! TPC-C behind memcached's binary protocol, as `bayop-tpcc` serves it on Linux.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::spin_loop;

use bayop_tpcc::Scale;
use bayop_tpcc::service::{Answered, Counts, Service as Transactions, answer, populate};
use libos_net::service::{Output, Served, Service};
use libos_net::wire::ipv4::Address;

/// Where it listens.
pub const PORT: u16 = 11311;

/// Runs a transaction for each GET.
pub struct Tpcc {
    transactions: Transactions<'static>,
    /// When the service began to count time, in us since 1970.
    start_us: u64,
}

impl Tpcc {
    /// A new database of the specification's size, which stays until the machine ends, with a warehouse for each core;
    /// and the service of each.
    pub fn of_cores(cores: u8, seed: u64, start_us: u64) -> Vec<Self> {
        Self::of_scale(Scale::standard(cores.into()), cores, seed, start_us)
    }

    fn of_scale(scale: Scale, cores: u8, seed: u64, start_us: u64) -> Vec<Self> {
        let (database, terminals) = populate(scale, cores, seed, start_us);
        let (database, counts): (&_, &_) = (Box::leak(Box::new(database)), Box::leak(Box::<Counts>::default()));
        let service = |(core, terminals)| Transactions::new(database, core, terminals, counts, spin_loop);
        let services = (0..).zip(terminals).map(service);
        services.map(|transactions| Self { transactions, start_us }).collect()
    }
}

impl Service for Tpcc {
    type Session = ();

    fn accept(&self, _peer: Address, port: u16) -> Option<()> {
        (port == PORT).then_some(())
    }

    fn serve(&mut self, now_us: u64, (): &mut (), input: &[u8], output: &mut Output) -> Served {
        let mut taken = 0;
        while !output.is_full() {
            let date_us = self.start_us + now_us;
            match answer(&input[taken..], &mut self.transactions, date_us, |bytes| output.write(bytes)) {
                Answered::Request(len) => taken += len,
                Answered::Nothing => break,
                Answered::Last => return Served { taken: input.len(), close: true },
            }
        }
        Served { taken, close: false }
    }
}

#[cfg(test)]
mod tests {
    use libos_net::tcp::{INPUT_LIMIT, Queue};

    use super::*;

    const HEADER_BYTES: usize = 24;
    const SCALE: Scale = Scale { warehouses: 1, customers: 1_000, items: 1_000 };

    /// A request, or the beginning of one, whose body has so many bytes.
    fn header(opcode: u8, key_bytes: u8, body_bytes: u32) -> Vec<u8> {
        let mut bytes = [0; HEADER_BYTES];
        (bytes[0], bytes[1], bytes[3]) = (0x80, opcode, key_bytes);
        bytes[8..12].copy_from_slice(&body_bytes.to_be_bytes());
        bytes.to_vec()
    }

    fn get() -> Vec<u8> {
        [header(0, 1, 1), b"k".to_vec()].concat()
    }

    /// What is taken of some input, whether the connection ends, and how many answers there are.
    fn served(service: &mut Tpcc, input: &[u8]) -> (Served, usize) {
        let mut queue = Queue::default();
        let served = service.serve(0, &mut (), input, &mut Output::new(&mut queue));
        let answers = queue.bytes().windows(3).filter(|each| each == &[0x81, 0, 0]).count();
        (served, answers)
    }

    #[test]
    fn whole_requests_are_answered_until_one_ends_the_connection() {
        let mut service = Tpcc::of_scale(SCALE, 1, 1, 0).remove(0);
        let two = [get(), get()].concat();
        assert_eq!(served(&mut service, &[&two[..], &get()[..20]].concat()), (Served { taken: 50, close: false }, 2));
        assert!(served(&mut service, &[get(), b"get k\r\n".to_vec()].concat()).0.close);
    }

    #[test]
    fn whoever_sends_as_much_as_is_kept_is_answered_or_closed() {
        let mut service = Tpcc::of_scale(SCALE, 1, 1, 0).remove(0);
        for body_bytes in [0, 64 << 10, (64 << 10) + 1, u32::MAX] {
            let mut input = header(1, 0, body_bytes);
            input.resize(INPUT_LIMIT, 0x80);
            let (done, _) = served(&mut service, &input);
            assert!(done.close || done.taken > 0, "{body_bytes}");
        }
    }
}
