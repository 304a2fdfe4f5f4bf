//! A request but for the number of its record.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, TE};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};

use crate::header::Header;
use crate::http_request::{self, HttpRequest};
use crate::plan::{Dialect, Plan};
use crate::protocol::numbered::{Numbered, value};
use bayop_core::Error;

/// Headers that say what is no longer a header's to say (RFC 9113, section 8.2.2), beside those that no request may have.
const REFUSED: [&str; 3] = ["keep-alive", "proxy-connection", "upgrade"];

/// What differs by the number of the record is put in its place; the rest is ready.
#[derive(Debug)]
pub(crate) struct Template {
    /// The request for the record 0.
    head: Parts,
    /// The path, where it has the number.
    path: Option<Numbered>,
    /// The headers that have it.
    headers: Vec<(HeaderName, Numbered)>,
    /// Bodies in turn by the number; none where there is none to send.
    bodies: Vec<Bytes>,
    /// Whether it is a call of gRPC, whose status comes after the answer.
    pub(crate) is_grpc: bool,
}

/// Those of a plan in HTTP/2, in the order of its requests; none where another protocol is spoken.
///
/// # Errors
/// A path or a header can't be sent in HTTP/2.
pub(crate) fn templates(plan: &Plan) -> Result<Option<Arc<[Template]>>, Error> {
    let is_grpc = match plan.dialect {
        Dialect::Http2 => false,
        Dialect::Grpc => true,
        _ => return Ok(None),
    };
    let scheme = if plan.tls.is_some() { Scheme::HTTPS } else { Scheme::HTTP };
    let template = |request| Template::new(&scheme, &plan.servers[0], request, is_grpc);
    plan.workload.http.iter().map(template).collect::<Result<_, _>>().map(Some)
}

impl Template {
    /// Asks `server`, which is the authority unless the request names another host.
    ///
    /// # Errors
    /// The path or a header can't be sent.
    pub(super) fn new(scheme: &Scheme, server: &str, request: &HttpRequest, is_grpc: bool) -> Result<Self, Error> {
        let mut head = Request::new(()).into_parts().0;
        head.version = Version::HTTP_2;
        head.method = method(request.method);
        let host = request.host().unwrap_or(server);
        let authority = Authority::try_from(host).map_err(|_| refuse(host, "a host must be a name", "headers"))?;
        let path = Numbered::new(&request.path, b"");
        head.uri = uri(scheme.clone(), authority, &path.with(b"0"))
            .map_err(|_| refuse(&request.path, "a path must have only what a URI may have", "path"))?;
        let mut headers = Vec::new();
        for header in request.headers.iter().filter(|header| !header.is("host")) {
            let text = Numbered::new(header.value(), b"");
            let (name, first) = field(header, &text)?;
            head.headers.append(&name, first);
            if text.differs() {
                headers.push((name, text));
            }
        }
        if headers.iter().any(|(name, _)| head.headers.get_all(name).iter().count() > 1) {
            let rule = "a header with {n} must be the only one of its name in HTTP/2";
            return Err(Error::input("cannot tell two headers apart").rule(rule).at("headers"));
        }
        let bodies = request.bodies.iter().map(|body| body.bytes());
        let bodies = if is_grpc {
            head.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/grpc"));
            head.headers.insert(TE, HeaderValue::from_static("trailers"));
            let messages: Vec<_> = bodies.map(message).collect();
            if messages.is_empty() { vec![message(b"")] } else { messages }
        } else {
            bodies.map(Bytes::copy_from_slice).collect()
        };
        let mut template = Self { head, path: Some(path).filter(Numbered::differs), headers, bodies, is_grpc };
        if !is_grpc && request.method.takes_body() && template.bodies.len() < 2 {
            let length = template.bodies.first().map_or(0, Bytes::len);
            template.head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        Ok(template)
    }

    /// The request for a record, and the body that goes with it.
    pub(super) fn request(&self, number: &[u8]) -> (Request<()>, Option<Bytes>) {
        let mut parts = self.head.clone();
        if let Some(path) = &self.path {
            let old = parts.uri.into_parts();
            let (scheme, authority) = old.scheme.zip(old.authority).expect("both are in every head");
            parts.uri = uri(scheme, authority, &path.with(number)).expect("digits are like the 0 that was checked");
        }
        for (name, text) in &self.headers {
            let text = HeaderValue::from_maybe_shared(Bytes::from(text.with(number)));
            parts.headers.insert(name, text.expect("digits are like the 0 that was checked"));
        }
        let body = match &self.bodies[..] {
            [] => None,
            bodies => Some(bodies[value(number) % bodies.len()].clone()),
        };
        if let (Some(body), true) = (&body, self.bodies.len() > 1 && !self.is_grpc) {
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        (Request::from_parts(parts, ()), body.filter(|body| !body.is_empty()))
    }
}

fn refuse(text: &str, rule: &str, place: &'static str) -> Error {
    Error::cannot_use(text, rule).at(place)
}

fn method(method: http_request::Method) -> Method {
    match method {
        http_request::Method::Get => Method::GET,
        http_request::Method::Post => Method::POST,
        http_request::Method::Put => Method::PUT,
        http_request::Method::Patch => Method::PATCH,
        http_request::Method::Delete => Method::DELETE,
    }
}

fn uri(scheme: Scheme, authority: Authority, path: &[u8]) -> Result<Uri, http::Error> {
    let path = PathAndQuery::try_from(path)?;
    Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build()
}

/// A header's name and its value for the record 0.
fn field(header: &Header, text: &Numbered) -> Result<(HeaderName, HeaderValue), Error> {
    if let Some(name) = REFUSED.iter().find(|name| header.is(name)) {
        return Err(refuse(name, "a header must not be one of HTTP/1.1's connection", "headers"));
    }
    if header.is("te") && header.value() != "trailers" {
        return Err(refuse(header.value(), "the header TE must be trailers in HTTP/2", "headers"));
    }
    let unsound = |_| refuse(header.value(), "the value of a header must have no control characters", "headers");
    let name = HeaderName::try_from(header.name())
        .map_err(|_| refuse(header.name(), "a header must have a name", "headers"))?;
    Ok((name, HeaderValue::from_bytes(&text.with(b"0")).map_err(unsound)?))
}

/// A message of gRPC (its HTTP/2 transport, "Length-Prefixed-Message"), which is not compressed.
fn message(body: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(5 + body.len());
    framed.put_u8(0);
    framed.put_u32(body.len() as u32);
    framed.put_slice(body);
    framed.freeze()
}
