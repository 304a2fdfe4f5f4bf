//! One connection's HTTP/2.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};

use super::exchange::Exchange;
use super::pipe::Pipe;
use super::{NotHttp2, Template};
use crate::input::Input;
use crate::protocol::http2::Orders;

/// The largest window that there is (RFC 9113, section 6.9.1): what is received is read at once, whatever it is.
const WINDOW_BYTES: u32 = (1 << 31) - 1;
/// Most bytes of an answer's headers, as of HTTP/1.1's.
const MOST_HEADER_BYTES: u32 = 64 * 1024;
/// What a frame begins with: its length, kind, flags and stream (RFC 9113, section 4.1).
const FRAME_HEADER_BYTES: usize = 9;
/// Kinds of frames that make up a request (RFC 9113, sections 6.1, 6.2 and 6.10).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
/// Most bytes of answers to the server's frames, such as PING, that wait for it to read them.
const MOST_UNREAD_BYTES: usize = 4 << 20;

/// A connection's state: what it is asked, and the exchanges under way.
pub(crate) struct Session {
    templates: Arc<[Template]>,
    pipe: Pipe,
    client: SendRequest<Bytes>,
    connection: Connection<Pipe, Bytes>,
    /// What is to be asked.
    pub(crate) orders: Orders,
    /// What is under way, in the order in which it was asked.
    exchanges: VecDeque<Exchange>,
    /// Most of them at once, as the server says; none before it has said so.
    most_streams: usize,
    /// The server takes no further requests on this connection (RFC 9113, section 6.8).
    is_leaving: bool,
    /// The error for which it does so.
    why: Option<h2::Error>,
    has_answered: bool,
    /// It had taken requests when it said so, and may yet take them back.
    is_left: bool,
    /// Bytes of frames beside requests since the server had last read everything.
    unread: usize,
}

impl Session {
    /// Begins with the preface.
    ///
    /// # Errors
    /// h2 does not begin.
    pub(crate) fn begin(templates: Arc<[Template]>) -> io::Result<Self> {
        let pipe = Pipe::new();
        let handshake = Builder::new()
            .enable_push(false)
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(MOST_HEADER_BYTES)
            .initial_max_send_streams(0)
            .handshake(pipe.clone());
        let Poll::Ready(begun) = pin!(handshake).poll(&mut Context::from_waker(Waker::noop())) else {
            return Err(io::Error::other("the preface was not taken"));
        };
        let (client, connection) = begun.map_err(io::Error::other)?;
        Ok(Self {
            templates,
            pipe,
            client,
            connection,
            orders: Orders::default(),
            exchanges: VecDeque::new(),
            most_streams: 0,
            is_leaving: false,
            why: None,
            has_answered: false,
            is_left: false,
            unread: 0,
        })
    }

    /// Whether the server has said what it allows, so that it speaks HTTP/2.
    pub(crate) fn is_open(&self) -> bool {
        self.most_streams > 0
    }

    /// Most requests that may be under way.
    pub(crate) fn most_under_way(&self) -> usize {
        if self.is_leaving { 0 } else { self.most_streams }
    }

    /// Whether the server takes no further requests.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Forgets what a leaving server will not look at, and takes that out of what is under way, the oldest first.
    pub(crate) fn take_back<T>(&mut self, under_way: &mut VecDeque<T>) -> Vec<T> {
        let (mut back, mut position) = (Vec::new(), 0);
        while let Some(exchange) = self.exchanges.get(position) {
            if exchange.is_unprocessed() {
                self.exchanges.remove(position);
                back.extend(under_way.remove(position));
            } else {
                position += 1;
            }
        }
        self.is_left |= !self.exchanges.is_empty();
        back
    }

    /// Sends what was ordered: appends the frames to `out`.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn send(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let mut orders = mem::take(&mut self.orders);
        for (way, number) in orders.iter() {
            let exchange = self.ask(way, number);
            self.exchanges.push_back(exchange);
        }
        orders.0.clear();
        self.orders = orders;
        self.go_on()?;
        self.take_written(out);
        Ok(())
    }

    fn ask(&mut self, way: usize, number: &[u8]) -> Exchange {
        let template = &self.templates[way];
        let (request, body) = template.request(number);
        let sent = self.client.send_request(request, body.is_none()).and_then(|(answer, mut stream)| {
            body.map_or(Ok(()), |body| stream.send_data(body, true))?;
            Ok(answer)
        });
        match sent {
            Ok(answer) => Exchange::new(answer, template.is_grpc),
            Err(_) => {
                self.is_leaving = true;
                Exchange::unprocessed()
            }
        }
    }

    /// Has the socket read to where it belongs, before [`Session::receive`].
    pub(crate) fn fill<T>(&self, read: impl FnOnce(&mut Input) -> T) -> T {
        read(&mut self.pipe.bytes().received)
    }

    /// Takes what was received: appends the answers that are complete to `input`, and what there is to say to `out`.
    /// `has_output` says whether the server has yet to read something that was said before.
    ///
    /// # Errors
    /// The server breaks the protocol, wants no request at all, or asks without end and never reads.
    pub(crate) fn receive(&mut self, input: &mut Input, out: &mut Vec<u8>, has_output: bool) -> io::Result<()> {
        self.go_on()?;
        let mut position = 0;
        while let Some(exchange) = self.exchanges.get_mut(position) {
            match exchange.answer() {
                Some(answer) => {
                    self.exchanges.remove(position);
                    self.has_answered = true;
                    answer.write(position, input);
                }
                None => position += 1,
            }
        }
        // What was read of the answers makes room for more of them, which the server is told.
        self.go_on()?;
        self.unread = bytes_beside_requests(&self.pipe.bytes().written) + if has_output { self.unread } else { 0 };
        self.take_written(out);
        if self.unread > MOST_UNREAD_BYTES {
            return Err(io::Error::other("the server does not read the answers to its frames"));
        }
        let has_served = self.has_answered || self.is_left;
        if self.is_leaving && !has_served && self.exchanges.iter().all(Exchange::is_unprocessed) {
            let why = self.why.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            return Err(io::Error::other(format!("the server takes no requests on a new connection{why}")));
        }
        Ok(())
    }

    fn go_on(&mut self) -> io::Result<()> {
        let context = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(ended) = Pin::new(&mut self.connection).poll(context) {
            self.is_leaving = true;
            match ended {
                Ok(()) => {}
                // What the server has not looked at can be asked elsewhere, whatever it leaves for.
                Err(error) if error.is_go_away() && error.is_remote() => self.why = Some(error),
                Err(error) => return Err(self.failure(error)),
            }
        }
        // A connection that is being left has no stream to be ready for.
        self.is_leaving |= matches!(self.client.poll_ready(context), Poll::Ready(Err(_)));
        self.most_streams = self.client.current_max_send_streams();
        Ok(())
    }

    fn failure(&self, error: h2::Error) -> io::Error {
        if self.is_open() { io::Error::other(error) } else { io::Error::other(NotHttp2(error.to_string())) }
    }

    fn take_written(&self, out: &mut Vec<u8>) {
        let written = &mut self.pipe.bytes().written;
        if out.is_empty() {
            mem::swap(out, written);
        } else {
            out.append(written);
        }
    }
}

/// Bytes of the frames that are no part of a request (RFC 9113, section 6).
fn bytes_beside_requests(mut frames: &[u8]) -> usize {
    let mut bytes = 0;
    while let Some(&[l0, l1, l2, kind, ..]) = frames.first_chunk::<FRAME_HEADER_BYTES>() {
        let length = FRAME_HEADER_BYTES + u32::from_be_bytes([0, l0, l1, l2]) as usize;
        // What a connection begins with is no frame.
        let Some(after) = frames.get(length..) else { break };
        if !matches!(kind, DATA | HEADERS | CONTINUATION) {
            bytes += length;
        }
        frames = after;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::http_request::HttpRequest;
    use crate::protocol::http2::Http2;
    use crate::protocol::{Kind, Protocol as _};

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    fn receive(session: &mut Session, bytes: &[u8], input: &mut Input) -> io::Result<()> {
        session.fill(|received| {
            received.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
            received.filled(bytes.len());
        });
        session.receive(input, &mut Vec::new(), false)
    }

    #[test]
    fn a_server_that_never_reads_is_not_answered_for_ever() {
        const PINGS: usize = 1000;
        let mut session = Session::begin(Arc::new([])).unwrap();
        let mut out = Vec::new();
        session.send(&mut out).unwrap();
        let mut ask = |reads: bool| {
            let pings = frame(6, 0, 0, &[7; 8]).repeat(PINGS);
            session.fill(|received| {
                received.room(pings.len())[..pings.len()].copy_from_slice(&pings);
                received.filled(pings.len());
            });
            if reads {
                out.clear();
            }
            let is_unread = !out.is_empty();
            session.receive(&mut Input::new(), &mut out, is_unread).map(|()| out.len())
        };
        let most = 2 * MOST_UNREAD_BYTES / (PINGS * 17);
        let answered = (0..most).map(|_| ask(true).unwrap()).min();
        assert_eq!(answered, Some(PINGS * 17), "who reads is answered");
        let error = (0..most).find_map(|_| ask(false).err()).unwrap();
        assert!(error.to_string().contains("does not read"), "{error}");
    }

    fn frames() -> impl Strategy<Value = Vec<u8>> {
        // Complete headers of `:status: 200` are what answers begin with; the rest is anything.
        let head = (0_u8..2, 0_u32..4).prop_map(|(end, stream)| frame(1, 4 | end, 2 * stream + 1, &[0x88]));
        let other = (0_u8..11, any::<u8>(), 0_u32..10, prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
        prop_oneof![head, other, prop::collection::vec(any::<u8>(), 0..40)]
    }

    proptest! {
        /// No panic, no loop without end, and no answer to what is not under way.
        #[test]
        fn a_server_may_send_anything(frames in prop::collection::vec(frames(), 0..12)) {
            let template = Template::new(&http::uri::Scheme::HTTP, "h:80", &HttpRequest::get("/{n}"), false).unwrap();
            let mut session = Session::begin(Arc::new([template])).unwrap();
            let mut input = Input::new();
            receive(&mut session, &frame(4, 0, 0, &[]), &mut input).unwrap();
            prop_assert!(session.is_open());
            let way = Http2::new(0);
            let mut under_way = 4;
            (0..under_way).for_each(|_| way.encode(Kind::Get, b"07", b"", 0, &mut session.orders.0));
            session.send(&mut Vec::new()).unwrap();
            for frame in frames {
                let broken = receive(&mut session, &frame, &mut input).is_err();
                while let Some(reply) = way.parse(Kind::Get, input.bytes()).unwrap() {
                    prop_assert!(reply.position < under_way);
                    under_way -= 1;
                    let len = reply.len;
                    input.consume(len);
                }
                prop_assert_eq!(session.exchanges.len(), under_way);
                if broken {
                    break;
                }
            }
        }
    }
}
