//! What an HTTP server is asked, as a plan has it.

use serde::{Deserialize, Serialize};

use crate::header::Header;
use bayop_core::Error;

/// A request. `{n}` in its path, or in the value of a header, is the number of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// The path, with its query.
    pub path: String,
    /// Headers beside, or instead of, those that the generator sends by itself.
    pub headers: Vec<Header>,
}

impl HttpRequest {
    /// Asks for a path.
    pub fn get(path: &str) -> Self {
        Self { path: path.to_owned(), headers: Vec::new() }
    }

    /// The host that the headers name, if they do.
    pub fn host(&self) -> Option<&str> {
        self.headers.iter().find(|header| header.is("host")).map(Header::value)
    }

    /// Checks what its parts alone don't show.
    ///
    /// # Errors
    /// The first rule that does not hold, with the field as its place.
    pub fn check(&self) -> Result<(), Error> {
        if !self.path.starts_with('/') || self.path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(Error::cannot_use(&self.path, "a path must start with / and have no spaces").at("path"));
        }
        // RFC 9112, section 3.2: a server has to refuse a request with two of them.
        if let Some(second) = self.headers.iter().filter(|header| header.is("host")).nth(1) {
            return Err(Error::cannot_use(second, "a request must name one host").at("headers"));
        }
        Ok(())
    }
}
