//! Against another TCP (smoltcp), through a network that loses, repeats and reorders.

#[path = "support/joined.rs"]
mod joined;
mod support;

use std::collections::VecDeque;

use proptest::prelude::*;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

use joined::joined;
use libos_net::stack::Stack;
use support::{ADDRESS, Echo, PORT, Sent, receive, stack};

/// Shares of the frames that a network treats badly, in percent.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    lost: u64,
    repeated: u64,
    /// Comes up to 20 ms later than it would.
    late: u64,
}

/// Frames on their way in one direction.
struct Link {
    trouble: Trouble,
    random: u64,
    frames: VecDeque<(u64, Vec<u8>)>,
}

impl Link {
    fn percent(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % 100
    }

    fn carry(&mut self, now_us: u64, frame: &[u8]) {
        let copies = if self.percent() < self.trouble.repeated { 2 } else { 1 };
        for _ in 0..copies {
            if self.percent() < self.trouble.lost {
                continue;
            }
            let late_us = if self.percent() < self.trouble.late { self.percent() * 200 } else { 0 };
            self.frames.push_back((now_us + 100 + late_us, frame.to_vec()));
        }
    }

    fn arrived(&mut self, now_us: u64) -> Vec<Vec<u8>> {
        let (arrived, on_their_way) = self.frames.drain(..).partition(|(at_us, _)| *at_us <= now_us);
        self.frames = on_their_way;
        let mut arrived: Vec<_> = Vec::from(arrived);
        arrived.sort_by_key(|(at_us, _)| *at_us);
        arrived.into_iter().map(|(_, frame)| frame).collect()
    }
}

#[derive(Default)]
struct Nic {
    received: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sending<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut frame = vec![0; len];
        let result = write(&mut frame);
        self.0.push(frame);
        result
    }
}

impl Device for Nic {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        self.received.pop_front().map(|frame| (Received(frame), Sending(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

const SEGMENTS_A_STEP: usize = 8;

/// Both sides and the network between them, on one clock.
struct World {
    now_us: u64,
    stack: Stack<Echo>,
    sent: Sent,
    nic: Nic,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: smoltcp::iface::SocketHandle,
    to_stack: Link,
    to_client: Link,
    joins: bool,
}

impl World {
    /// `offloads`: the stack's device cuts segments and joins them.
    fn new(trouble: Trouble, seed: u64, offloads: bool) -> World {
        let mut nic = Nic::default();
        let mac = EthernetAddress([2, 0, 0, 0, 0, 2]);
        let mut interface = Interface::new(Config::new(mac.into()), &mut nic, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::v4(10, 0, 0, 2), 24)).unwrap();
        });
        let mut sockets = SocketSet::new(Vec::new());
        let buffer = || tcp::SocketBuffer::new(vec![0; 100_000]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        let remote = (IpAddress::from(core::net::Ipv4Addr::from(ADDRESS)), PORT);
        socket.connect(interface.context(), remote, 50_000).unwrap();
        let socket = sockets.add(socket);
        let link = |random| Link { trouble, random, frames: VecDeque::new() };
        World {
            now_us: 0,
            stack: stack(),
            sent: Sent { max_cut_len: if offloads { 16_000 } else { 0 }, ..Sent::default() },
            nic,
            interface,
            sockets,
            socket,
            to_stack: link(seed),
            to_client: link(!seed),
            joins: offloads,
        }
    }

    /// Lets half a millisecond pass.
    fn step(&mut self) {
        self.now_us += 500;
        let arrived = self.to_stack.arrived(self.now_us);
        for frame in if self.joins { joined(arrived) } else { arrived } {
            receive(&mut self.stack, self.now_us, &frame, &mut self.sent);
        }
        self.stack.expire(self.now_us, &mut self.sent);
        for frame in self.sent.frames.drain(..) {
            self.to_client.carry(self.now_us, &frame);
        }
        self.nic.received.extend(self.to_client.arrived(self.now_us));
        // Each time it sends one segment.
        let now = Instant::from_micros(self.now_us as i64);
        for _ in 0..SEGMENTS_A_STEP {
            self.interface.poll(now, &mut self.nic, &mut self.sockets);
        }
        for frame in self.nic.sent.drain(..) {
            self.to_stack.carry(self.now_us, &frame);
        }
    }

    fn client(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Sends bytes, and takes what comes back from `reads_from_us` on. Returns it.
    fn echo(&mut self, bytes: &[u8], reads_from_us: u64) -> Vec<u8> {
        let (mut sent, mut echoed) = (0, Vec::new());
        let deadline_us = self.now_us + 600_000_000;
        while echoed.len() < bytes.len() && self.now_us < deadline_us {
            self.step();
            let reads = self.now_us >= reads_from_us;
            let client = self.client();
            if client.can_send() {
                sent += client.send_slice(&bytes[sent..]).unwrap();
            }
            if reads && client.can_recv() {
                client.recv(|bytes| (bytes.len(), echoed.extend_from_slice(bytes))).unwrap();
            }
        }
        echoed
    }
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 251 + at * 7) as u8).map(|byte| if byte == b'!' { b'?' } else { byte }).collect()
}

#[test]
fn a_megabyte_comes_back_without_trouble() {
    for offloads in [false, true] {
        let mut world = World::new(Trouble::default(), 1, offloads);
        let bytes = data(1 << 20);
        assert!(world.echo(&bytes, 0) == bytes);
        assert!(world.now_us < 5_000_000, "{} us", world.now_us);
        assert_eq!(world.sent.cut > 0, offloads);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn bytes_come_back_whatever_the_network_does(
        seed: u64, lost in 0u64..15, repeated in 0u64..10, late in 0u64..40, offloads: bool,
    ) {
        let mut world = World::new(Trouble { lost, repeated, late }, seed, offloads);
        let bytes = data(150_000);
        prop_assert!(world.echo(&bytes, 0) == bytes, "after {} us", world.now_us);
        world.client().close();
        for _ in 0..400_000 {
            world.step();
        }
        prop_assert_eq!(world.stack.connections(), 0);
        prop_assert_eq!(world.stack.service().open, 0);
    }
}

#[test]
fn a_client_that_does_not_read_is_waited_for() {
    let mut world = World::new(Trouble::default(), 3, true);
    let bytes = data(500_000);
    // Both windows and the service's output are full long before; only probes pass then.
    assert!(world.echo(&bytes, 90_000_000) == bytes);
    assert!((90_000_000..160_000_000).contains(&world.now_us), "{} us", world.now_us);
}

#[test]
fn the_last_answer_comes_before_the_end() {
    let mut world = World::new(Trouble { lost: 5, repeated: 5, late: 20 }, 5, true);
    let mut bytes = data(30_000);
    bytes.push(b'!');
    assert!(world.echo(&bytes, 0) == bytes);
    while world.client().may_recv() {
        world.step();
        assert!(world.now_us < 200_000_000);
    }
    world.client().close();
    while world.stack.connections() > 0 {
        world.step();
        assert!(world.now_us < 400_000_000);
    }
}
