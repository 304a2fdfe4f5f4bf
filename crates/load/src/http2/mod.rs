//! HTTP/2 on the client's side (RFC 9113, by h2), without a clock or a socket: orders become frames, frames answers.

mod exchange;
mod pipe;
mod session;
mod template;

use std::{error, fmt};

pub(crate) use session::Session;
pub(crate) use template::{Template, templates};

/// How TLS names it (RFC 9113, section 3.2).
pub(crate) const ALPN: &[u8] = b"h2";

/// A server that speaks something else.
#[derive(Debug)]
pub(crate) struct NotHttp2(pub(crate) String);

impl fmt::Display for NotHttp2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it does not speak HTTP/2: {}", self.0)
    }
}

impl error::Error for NotHttp2 {}
