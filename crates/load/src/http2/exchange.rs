//! A request that was sent on a stream of its own, until its answer is complete.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};

use h2::client::ResponseFuture;
use h2::{Error, RecvStream};
use http::{HeaderMap, StatusCode};

use crate::protocol::Outcome;
use crate::protocol::http::outcome_of;
use crate::protocol::http2::Answer;

/// gRPC's codes (its documentation, "Status codes and their use in gRPC") that are no errors.
const GRPC_OK: &str = "0";
const GRPC_NOT_FOUND: &str = "5";

/// What a message begins with: whether it is compressed, and its length (gRPC over HTTP/2, "Length-Prefixed-Message").
const PREFIX_BYTES: usize = 5;

/// How much has come of a call's message.
#[derive(Default)]
struct Message {
    prefix: [u8; PREFIX_BYTES],
    bytes: usize,
}

impl Message {
    fn take(&mut self, data: &[u8]) {
        let missing = self.prefix.iter_mut().skip(self.bytes);
        missing.zip(data).for_each(|(place, byte)| *place = *byte);
        self.bytes += data.len();
    }

    fn is_whole(&self) -> bool {
        let [_, length @ ..] = self.prefix;
        self.bytes >= PREFIX_BYTES + u32::from_be_bytes(length) as usize
    }
}

/// Where it stands.
enum Stage {
    Asked(ResponseFuture),
    Answering(StatusCode, HeaderMap, RecvStream, Message),
    /// The server has gone away without looking at it (RFC 9113, section 6.8).
    Unprocessed,
}

pub(super) struct Exchange {
    stage: Stage,
    is_grpc: bool,
    /// Set when there is something new on the stream.
    news: Arc<News>,
    waker: Waker,
}

struct News(AtomicBool);

impl Wake for News {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Exchange {
    /// One that was sent.
    pub(super) fn new(answer: ResponseFuture, is_grpc: bool) -> Self {
        Self::at(Stage::Asked(answer), is_grpc)
    }

    /// One that there was no stream for.
    pub(super) fn unprocessed() -> Self {
        Self::at(Stage::Unprocessed, false)
    }

    fn at(stage: Stage, is_grpc: bool) -> Self {
        let news = Arc::new(News(AtomicBool::new(true)));
        Self { stage, is_grpc, waker: news.clone().into(), news }
    }

    /// Whether the server has not looked at it.
    pub(super) fn is_unprocessed(&self) -> bool {
        matches!(self.stage, Stage::Unprocessed)
    }

    /// The answer, once it is complete.
    pub(super) fn answer(&mut self) -> Option<Answer> {
        if !self.news.0.swap(false, Ordering::Relaxed) {
            return None;
        }
        let waker = self.waker.clone();
        match self.go_on(&mut Context::from_waker(&waker)) {
            Poll::Pending => None,
            Poll::Ready(Ok(answer)) => Some(answer),
            Poll::Ready(Err(error)) if error.is_go_away() && error.is_remote() => {
                self.stage = Stage::Unprocessed;
                None
            }
            Poll::Ready(Err(error)) => {
                Some(Answer { status: None, outcome: Outcome::Refused, text: error.to_string() })
            }
        }
    }

    fn go_on(&mut self, context: &mut Context<'_>) -> Poll<Result<Answer, Error>> {
        loop {
            match &mut self.stage {
                Stage::Unprocessed => return Poll::Pending,
                Stage::Asked(answer) => {
                    let (head, body) = ready!(Pin::new(answer).poll(context))?.into_parts();
                    self.stage = Stage::Answering(head.status, head.headers, body, Message::default());
                }
                Stage::Answering(status, headers, body, message) => {
                    match ready!(body.poll_data(context)).transpose()? {
                        Some(data) => {
                            message.take(&data);
                            body.flow_control().release_capacity(data.len())?;
                        }
                        None if self.is_grpc => {
                            let trailers = ready!(body.poll_trailers(context))?;
                            let last = trailers.as_ref().unwrap_or(headers);
                            return Poll::Ready(Ok(of_call(*status, last, message.is_whole())));
                        }
                        None => return Poll::Ready(Ok(of_request(*status))),
                    }
                }
            }
        }
    }
}

fn of_request(status: StatusCode) -> Answer {
    let outcome = outcome_of(status.as_u16());
    let text = if outcome == Outcome::Refused { format!("HTTP/2 {status}") } else { String::new() };
    Answer { status: Some(status.as_u16()), outcome, text }
}

/// A call's status stands in the trailers, or in the headers where there is nothing else.
fn of_call(status: StatusCode, last: &HeaderMap, has_message: bool) -> Answer {
    let text = |name: &str| last.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let (outcome, text) = match text("grpc-status").as_deref() {
        Some(GRPC_OK) if has_message => (Outcome::Hit, String::new()),
        Some(GRPC_OK) => (Outcome::Refused, format!("grpc-status {GRPC_OK} without its message")),
        Some(GRPC_NOT_FOUND) => (Outcome::Miss, String::new()),
        Some(code) => (Outcome::Refused, format!("grpc-status {code}: {}", text("grpc-message").unwrap_or_default())),
        None => (Outcome::Refused, format!("HTTP/2 {status} without a grpc-status")),
    };
    Answer { status: Some(status.as_u16()), outcome, text }
}
