//! A header field of an HTTP request, as the user gives it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use bayop_core::Error;

/// `Name: value` (RFC 9110, section 5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Header {
    name: String,
    value: String,
}

/// Names that would make server and generator disagree on where a message ends, and what they have to leave.
const REFUSED: [(&str, &str); 4] = [
    ("connection", "a header must leave it to the generator which connections are kept"),
    ("content-length", "a header must leave the length of the body to the generator"),
    ("expect", "a header must not ask for an interim response, which would be taken for the answer"),
    ("transfer-encoding", "a header must leave the length of the body to the generator"),
];

impl Header {
    /// Whether it has this name, whose case means nothing.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Whether a name may have this character (`tchar` of RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl FromStr for Header {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |rule: &str| Error::cannot_use(text, rule).at("headers").hint("such as 'Accept: text/html'");
        let (name, value) =
            text.split_once(':').ok_or_else(|| refuse("a header must be a name, a colon and a value"))?;
        let value = value.trim_matches([' ', '\t']);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(refuse("the name of a header must be letters, digits and any of !#$%&'*+-.^_`|~"));
        }
        if value.chars().any(|character| character.is_control() && character != '\t') {
            return Err(refuse("the value of a header must have no line breaks and no other control characters"));
        }
        match REFUSED.iter().find(|(refused, _)| name.eq_ignore_ascii_case(refused)) {
            Some((_, rule)) => Err(Error::cannot_use(text, *rule).at("headers")),
            None => Ok(Self { name: name.to_owned(), value: value.to_owned() }),
        }
    }
}

impl TryFrom<String> for Header {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Header> for String {
    fn from(header: Header) -> Self {
        header.to_string()
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}
