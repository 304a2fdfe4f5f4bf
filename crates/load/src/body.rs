//! The body of an HTTP request.

use serde::{Deserialize, Serialize};

use bayop_core::Error;

/// Bytes; in JSON a string whose characters are they, U+0000 to U+00FF (ISO 8859-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Body(Vec<u8>);

impl Body {
    /// What is sent.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for Body {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        let byte = |character: char| {
            u8::try_from(character).map_err(|_| {
                Error::cannot_use(character, "the characters of a body must be U+0000 to U+00FF").at("bodies")
            })
        };
        text.chars().map(byte).collect::<Result<_, _>>().map(Self)
    }
}

impl From<Body> for String {
    fn from(body: Body) -> Self {
        body.0.into_iter().map(char::from).collect()
    }
}
