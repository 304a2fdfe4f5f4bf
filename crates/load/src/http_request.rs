//! What an HTTP server is asked, as a plan has it.

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::header::Header;
use bayop_core::Error;

/// What a request does (RFC 9110, section 9.3; RFC 5789).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Asks for what is there.
    Get,
    /// Has the server do something with the body.
    Post,
    /// Stores the body.
    Put,
    /// Changes what is there as the body says.
    Patch,
    /// Removes what is there.
    Delete,
}

impl Method {
    /// As it is sent.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether a body has a meaning; without one, its length of 0 is told.
    pub fn takes_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// A request. `{n}` in its path, or in the value of a header, is the number of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRequest {
    /// What it is called in the report of a mix.
    pub name: String,
    /// How often it is sent, relative to the plan's others.
    pub weight: f64,
    /// The method.
    pub method: Method,
    /// The path, with its query.
    pub path: String,
    /// Headers beside, or instead of, those that the generator sends by itself.
    pub headers: Vec<Header>,
    /// Bodies: record n is sent with number n modulo how many there are.
    pub bodies: Vec<Body>,
}

impl HttpRequest {
    /// Asks for a path.
    pub fn get(path: &str) -> Self {
        Self {
            name: String::new(),
            weight: 1.0,
            method: Method::Get,
            path: path.to_owned(),
            headers: Vec::new(),
            bodies: Vec::new(),
        }
    }

    /// The host that the headers name, if they do.
    pub fn host(&self) -> Option<&str> {
        self.headers.iter().find(|header| header.is("host")).map(Header::value)
    }

    /// Checks what makes it a call of gRPC.
    ///
    /// # Errors
    /// The first rule that does not hold, with the field as its place.
    pub fn check_call(&self) -> Result<(), Error> {
        if self.method != Method::Post {
            return Err(Error::cannot_use(self.method.name(), "the method of a call must be POST").at("method"));
        }
        let parts: Vec<&str> = self.path.split('/').collect();
        if !matches!(parts[..], ["", service, method] if !service.is_empty() && !method.is_empty()) {
            let rule = "the path of a call must be /package.Service/Method";
            return Err(Error::cannot_use(&self.path, rule).at("path"));
        }
        Ok(())
    }

    /// Checks what its parts alone don't show.
    ///
    /// # Errors
    /// The first rule that does not hold, with the field as its place.
    pub fn check(&self) -> Result<(), Error> {
        if !self.path.starts_with('/') || self.path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(Error::cannot_use(&self.path, "a path must start with / and have no spaces").at("path"));
        }
        if !self.bodies.is_empty() && !self.method.takes_body() {
            let rule = "the method of a request with a body must be POST, PUT or PATCH";
            return Err(Error::cannot_use(self.method.name(), rule).at("method"));
        }
        // RFC 9112, section 3.2: a server has to refuse a request with two of them.
        if let Some(second) = self.headers.iter().filter(|header| header.is("host")).nth(1) {
            return Err(Error::cannot_use(second, "a request must name one host").at("headers"));
        }
        Ok(())
    }
}
