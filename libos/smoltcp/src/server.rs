//! The loop of a core, and smoltcp's sockets with a service behind them.

use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::task::Waker;

use libos_net::device::{Receive, Transmit};
use libos_net::service::{Output, Served, Service};
use libos_net::tcp::{INPUT_LIMIT, NEVER, Queue};
use libos_net::wire::ethernet::MacAddress;
use libos_runtime::{BUDGET, Core};
use smoltcp::iface::{Config, Interface, PollIngressSingleResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use spin::Mutex;

use crate::nic::Nic;

/// Of a socket in each direction. An answer of Facebook's ETC fits as a whole, but for one in a hundred thousand.
const BUFFER_LEN: usize = 32 << 10;

/// A core that serves.
pub struct Server<C, R, T, S: Service> {
    core: C,
    nic: Nic<R, T>,
    interface: Interface,
    sockets: SocketSet<'static>,
    port: u16,
    service: S,
    /// By their places.
    connections: Vec<Option<Connection<S::Session>>>,
    free: Vec<usize>,
    /// Where the next connection comes to be. There is always one, since each that is taken is replaced before the
    /// next frame is looked at, and no more, since smoltcp looks at every one.
    listener: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

/// A socket, and what the service has and has not said and heard.
struct Connection<Session> {
    socket: SocketHandle,
    waker: Waker,
    /// None until it is open.
    session: Option<Session>,
    input: Queue,
    output: Queue,
    is_closing: bool,
}

/// Whose place is noted when its socket has changed.
struct Note {
    place: usize,
    woken: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        self.woken.lock().push(self.place);
    }
}

impl<C: Core, R: Receive, T: Transmit, S: Service> Server<C, R, T, S> {
    /// One that listens on a port of an address, whose net is as that of our stack.
    pub fn new(
        core: C,
        mut nic: Nic<R, T>,
        mac: MacAddress,
        address: Ipv4Addr,
        port: u16,
        service: S,
        seed: u64,
    ) -> Self {
        let mut config = Config::new(EthernetAddress(mac).into());
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut nic, instant(core.now_us()));
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(address.into(), 24)).expect("there is room for one");
        });
        let mut server = Server {
            core,
            nic,
            interface,
            sockets: SocketSet::new(Vec::new()),
            port,
            service,
            connections: Vec::new(),
            free: Vec::new(),
            listener: 0,
            woken: Arc::default(),
        };
        server.listen();
        server
    }

    /// Serves for ever.
    pub fn run(mut self) -> ! {
        loop {
            self.turn();
        }
    }

    /// As a turn of our runtime. Whatever smoltcp does it does for all sockets, so it is asked for no more than it must:
    /// whose a frame is, what is to be sent if something was served, and before a sleep when the next of them is due.
    fn turn(&mut self) {
        let now_us = self.core.now_us();
        let now = instant(now_us);
        let (mut frames, mut has_served) = (0, false);
        while frames < BUDGET
            && self.interface.poll_ingress_single(now, &mut self.nic, &mut self.sockets)
                != PollIngressSingleResult::None
        {
            has_served |= self.serve_woken(now_us);
            frames += 1;
        }
        let due_us = if has_served { now_us } else { self.next_us(now) };
        if due_us <= now_us {
            self.interface.poll_egress(now, &mut self.nic, &mut self.sockets);
            self.serve_woken(now_us);
        }
        self.nic.transmit.flush();
        self.nic.receive.flush();
        if due_us > now_us {
            self.nic.receive.set_interrupts(true);
            if !self.nic.receive.has_frame() {
                self.core.sleep(0, due_us);
            }
            self.nic.receive.set_interrupts(false);
        }
    }

    fn next_us(&mut self, now: Instant) -> u64 {
        self.interface.poll_at(now, &self.sockets).map_or(NEVER, |due| due.total_micros() as u64)
    }

    fn listen(&mut self) {
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER_LEN]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        // An answer leaves at once, and takes the acknowledgment along; so does ours.
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        socket.listen(self.port).expect("a new socket is closed, and the port not 0");
        let place = self.free.pop().unwrap_or(self.connections.len());
        let waker = Waker::from(Arc::new(Note { place, woken: self.woken.clone() }));
        socket.register_recv_waker(&waker);
        let socket = self.sockets.add(socket);
        let (input, output) = Default::default();
        let connection = Some(Connection { socket, waker, session: None, input, output, is_closing: false });
        match self.connections.get_mut(place) {
            Some(free) => *free = connection,
            None => self.connections.push(connection),
        }
        self.listener = place;
    }

    /// Serves those that have changed; false: none has.
    fn serve_woken(&mut self, now_us: u64) -> bool {
        let mut has_served = false;
        loop {
            let Some(place) = self.woken.lock().pop() else { return has_served };
            self.serve(now_us, place);
            has_served = true;
        }
    }

    fn serve(&mut self, now_us: u64, place: usize) {
        let Some(connection) = &mut self.connections[place] else { return };
        let socket = self.sockets.get_mut::<tcp::Socket>(connection.socket);
        match socket.state() {
            tcp::State::Listen => socket.register_recv_waker(&connection.waker),
            tcp::State::SynReceived => {
                socket.register_recv_waker(&connection.waker);
                if place == self.listener {
                    self.listen();
                }
            }
            tcp::State::Closed => {
                self.sockets.remove(connection.socket);
                let session = connection.session.take();
                self.connections[place] = None;
                self.free.push(place);
                if let Some(session) = session {
                    self.service.closed(session);
                }
            }
            _ => connection.serve(now_us, self.port, &mut self.service, socket),
        }
    }
}

impl<Session> Connection<Session> {
    /// Hands the service what has come, and the socket what that answers.
    fn serve<S: Service<Session = Session>>(
        &mut self,
        now_us: u64,
        port: u16,
        service: &mut S,
        socket: &mut tcp::Socket,
    ) {
        if self.session.is_none() {
            let Some(IpAddress::Ipv4(peer)) = socket.remote_endpoint().map(|peer| peer.addr) else { return };
            self.session = service.accept(peer.octets(), port);
            let Some(session) = &self.session else { return socket.abort() };
            self.is_closing = !service.opened(session, &mut Output::new(&mut self.output));
        }
        loop {
            self.hear(now_us, service, socket);
            let sent = socket.send_slice(self.output.bytes()).unwrap_or(0);
            self.output.take(sent);
            if sent == 0 || self.input.is_empty() && !socket.can_recv() {
                break;
            }
        }
        // Who has said his last gets the answers to it.
        if self.output.is_empty() && (self.is_closing || !socket.may_recv()) {
            socket.close();
        }
        socket.register_recv_waker(&self.waker);
        if !self.output.is_empty() {
            socket.register_send_waker(&self.waker);
        }
    }

    fn hear<S: Service<Session = Session>>(&mut self, now_us: u64, service: &mut S, socket: &mut tcp::Socket) {
        let Connection { session: Some(session), input, output, is_closing, .. } = self else { return };
        while !*is_closing && !Output::new(output).is_full() {
            let mut serve = |bytes: &[u8]| {
                let Served { taken, close } = service.serve(now_us, session, bytes, &mut Output::new(output));
                *is_closing = close;
                taken
            };
            if !input.is_empty() {
                while socket.can_recv() && input.len() < INPUT_LIMIT {
                    let room = INPUT_LIMIT - input.len();
                    let _ = socket.recv(|bytes| {
                        let len = bytes.len().min(room);
                        (len, input.push(&bytes[..len]))
                    });
                }
                let taken = serve(input.bytes());
                input.take(taken);
                if taken == 0 {
                    return;
                }
            } else if socket.can_recv() {
                let _ = socket.recv(|bytes| {
                    let taken = serve(bytes);
                    (bytes.len(), input.push(&bytes[taken..]))
                });
            } else {
                return;
            }
        }
    }
}

fn instant(now_us: u64) -> Instant {
    Instant::from_micros(now_us as i64)
}
