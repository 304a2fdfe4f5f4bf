//! A time that may be infinite, which a profile spells `"never"`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The word.
pub const NEVER: &str = "never";

#[derive(Deserialize, Serialize)]
#[serde(untagged, expecting = "it must be a number of us, or \"never\"")]
enum Time {
    Us(f64),
    Never(Word),
}

#[derive(Deserialize, Serialize)]
enum Word {
    #[serde(rename = "never")]
    Never,
}

/// Reads a number or the word.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(match Time::deserialize(deserializer)? {
        Time::Us(us) => us,
        Time::Never(Word::Never) => f64::INFINITY,
    })
}

/// Writes a number, or the word for an infinite one.
pub fn serialize<S: Serializer>(us: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let time = if us.is_infinite() { Time::Never(Word::Never) } else { Time::Us(*us) };
    time.serialize(serializer)
}
