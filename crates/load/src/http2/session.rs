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
    has_answered: bool,
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
            has_answered: false,
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

    /// Whether what is left under way has to be asked elsewhere.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_leaving && self.exchanges.iter().all(Exchange::is_unprocessed)
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
    ///
    /// # Errors
    /// The server breaks the protocol, or wants no request at all.
    pub(crate) fn receive(&mut self, input: &mut Input, out: &mut Vec<u8>) -> io::Result<()> {
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
        self.take_written(out);
        if self.is_spent() && !self.has_answered {
            return Err(io::Error::other("the server takes no requests on a new connection"));
        }
        Ok(())
    }

    fn go_on(&mut self) -> io::Result<()> {
        let context = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(ended) = Pin::new(&mut self.connection).poll(context) {
            self.is_leaving = true;
            ended.map_err(|error| self.failure(error))?;
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
        session.receive(input, &mut Vec::new())
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
            (0..under_way).for_each(|_| way.encode(Kind::Get, b"07", b"", &mut session.orders.0));
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
