//! One connection to a server: its bytes in both directions, and the requests under way.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};

use crate::http2::{self, ALPN, NotHttp2};
use crate::input::Input;
use crate::login::{Login, TlsRequest};
use crate::protocol::Kind;
use crate::received::{self, Received};
use crate::server::Server;
use crate::tls::Session;

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// When it was meant to be sent.
    pub intended_ns: u64,
    /// When it was handed to the kernel.
    pub sent_ns: u64,
    /// What it does.
    pub kind: Kind,
    /// Which of a mix it is.
    pub way: usize,
    /// What its answer bears, where the protocol says that.
    pub mark: u64,
    /// It had to wait for room or for a connection, which is not the generator's lateness.
    pub queued: bool,
}

/// A non-blocking connection.
pub struct Connection {
    stream: TcpStream,
    /// Before TLS, where the protocol begins it on request.
    tls_request: Option<TlsRequest>,
    /// Between the socket and the buffers, where TLS is spoken.
    session: Option<Box<Session>>,
    /// Between them and what is asked, where HTTP/2 is spoken.
    http2: Option<Box<http2::Session>>,
    /// Before the first request, where the protocol begins with one.
    login: Option<Login>,
    out: Vec<u8>,
    written: usize,
    input: Input,
    /// How far the input was searched for the end of its first reply.
    pub seen: usize,
    /// Requests that have no reply yet, in the order in which they were encoded.
    pub under_way: VecDeque<Request>,
    /// How many of the newest were encoded since the last write.
    pub unsent: usize,
}

impl Connection {
    /// Begins to connect; the socket becomes writable when it is decided.
    ///
    /// # Errors
    /// The machine has no socket left, or the address can't be reached.
    pub fn begin(server: &Server) -> io::Result<Self> {
        let address = server.address;
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => {}
            Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        received::ask_for_timestamps(&stream);
        let mut out = Vec::new();
        let session = server.client()?.map(|client| Box::new(Session::new(client)));
        Ok(Self {
            stream,
            tls_request: (session.is_some() && server.who.is_some()).then(TlsRequest::default),
            session,
            http2: server.templates.clone().map(http2::Session::begin).transpose()?.map(Box::new),
            login: server.who.clone().map(|who| Login::begin(who, &mut out)).transpose()?,
            out,
            written: 0,
            input: Input::new(),
            seen: 0,
            under_way: VecDeque::new(),
            unsent: 0,
        })
    }

    /// Goes on with connecting, once the socket is writable or there is something to read; false when the server's
    /// next word is awaited. Reads once at most in each handshake: a server that never falls silent does not
    /// keep the thread from its clock.
    ///
    /// # Errors
    /// It failed.
    pub fn connected(&mut self) -> io::Result<bool> {
        self.stream.take_error()?.map_or(Ok(()), Err)?;
        if let Some(request) = &mut self.tls_request {
            if !request.go_on(&mut self.stream)? {
                return Ok(false);
            }
            self.tls_request = None;
        }
        if let Some(session) = &mut self.session {
            // What the server says first may come with the end of its handshake.
            let is_done = match &self.http2 {
                Some(http2) => http2.fill(|input| session.shake_hands(&mut self.stream, input))?,
                None => session.shake_hands(&mut self.stream, &mut self.input)?,
            };
            if !is_done {
                return Ok(false);
            }
        }
        if self.http2.is_some() {
            return self.settled();
        }
        let Some(mut login) = self.login.take() else { return Ok(true) };
        self.write()?;
        self.read()?;
        if login.go_on(&mut self.input, &mut self.out)? {
            return Ok(true);
        }
        self.login = Some(login);
        self.write()?;
        Ok(false)
    }

    /// Goes on until the server's HTTP/2 has said what it allows; false when its next word is awaited.
    fn settled(&mut self) -> io::Result<bool> {
        if self.session.as_ref().is_some_and(|session| session.application() != Some(ALPN)) {
            return Err(io::Error::other(NotHttp2("it has not chosen it for this connection".to_owned())));
        }
        let is_open = |connection: &Self| connection.http2.as_ref().is_some_and(|http2| http2.is_open());
        self.write()?;
        if !is_open(self) {
            self.read()?;
            self.write()?;
        }
        Ok(is_open(self))
    }

    /// Most requests that the server has under way on a connection.
    pub fn most_under_way(&self) -> usize {
        self.http2.as_ref().map_or(usize::MAX, |http2| http2.most_under_way())
    }

    /// Whether the server has announced the end of the connection by itself, and not with an answer.
    pub fn is_leaving(&self) -> bool {
        self.http2.as_ref().is_some_and(|http2| http2.is_leaving())
    }

    /// Takes back, of a connection whose end the server has announced, the requests that it will not look at, the oldest
    /// first: all that are under way, but for those of HTTP/2 that it still answers.
    pub fn take_back(&mut self) -> Vec<Request> {
        match &mut self.http2 {
            Some(http2) => http2.take_back(&mut self.under_way),
            None => self.under_way.drain(..).collect(),
        }
    }

    /// Where a request is encoded.
    #[inline]
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.http2.as_mut().map_or(&mut self.out, |http2| &mut http2.orders.0)
    }

    /// Writes what is left to write; true when everything is written.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn write(&mut self) -> io::Result<(usize, bool)> {
        if let Some(http2) = &mut self.http2 {
            http2.send(&mut self.out)?;
        }
        if let Some(session) = &mut self.session {
            return session.send(&mut self.stream, &mut self.out);
        }
        let before = self.written;
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let bytes = self.written - before;
                    self.forget_written();
                    return Ok((bytes, false));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let bytes = self.written - before;
        self.out.clear();
        self.written = 0;
        Ok((bytes, true))
    }

    /// Frees what is written where that is half of the buffer or more: a server that never takes all that there is does
    /// not make it grow, and each byte is moved once on average.
    fn forget_written(&mut self) {
        if 2 * self.written >= self.out.len() {
            self.out.drain(..self.written);
            self.written = 0;
        }
    }

    /// Whether bytes wait to be written, and not for the server's word.
    pub fn has_output(&self) -> bool {
        if self.tls_request.is_some() {
            return false;
        }
        !self.out.is_empty() || self.session.as_ref().is_some_and(|session| session.has_output())
    }

    /// Reads once.
    ///
    /// # Errors
    /// The server closed the connection (`UnexpectedEof`), or it is broken.
    pub fn read(&mut self) -> io::Result<Received> {
        let has_output = self.has_output();
        let Some(http2) = &mut self.http2 else {
            return receive(&mut self.stream, self.session.as_deref_mut(), &mut self.input);
        };
        let received = http2.fill(|input| receive(&mut self.stream, self.session.as_deref_mut(), input))?;
        http2.receive(&mut self.input, &mut self.out, has_output)?;
        Ok(received)
    }

    /// What was received and not yet consumed.
    #[inline]
    pub fn input(&self) -> &[u8] {
        self.input.bytes()
    }

    /// Forgets the first bytes of the input.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.seen = 0;
    }
}

/// Reads once into `input`.
fn receive(stream: &mut TcpStream, session: Option<&mut Session>, input: &mut Input) -> io::Result<Received> {
    if let Some(session) = session {
        return session.receive(stream, input);
    }
    let received = received::read(stream, input.room(1))?;
    input.filled(received.bytes);
    Ok(received)
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_that_never_takes_all_does_not_make_the_buffer_grow() {
        const CHUNK_BYTES: usize = 64 * 1024;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = Connection::begin(&Server::plain(listener.local_addr().unwrap())).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut sent = 0_u8;
        let mut send = |connection: &mut Connection| {
            connection.out().extend([sent; CHUNK_BYTES]);
            sent = sent.wrapping_add(1);
            connection.write().unwrap().1
        };
        while send(&mut connection) {}
        // What no kernel holds beside us, so that there is always something left to write.
        (0..256).for_each(|_| assert!(!send(&mut connection)));
        let most = connection.out.len();
        let mut chunk = [0; CHUNK_BYTES];
        for received in 0..2_000 {
            server.read_exact(&mut chunk).unwrap();
            assert!(chunk.iter().all(|&byte| byte == received as u8), "nothing is lost, repeated or out of order");
            send(&mut connection);
        }
        assert!(connection.out.len() <= 2 * most + CHUNK_BYTES, "{} after {most}", connection.out.len());
    }
}
