//! A map in which no name comes twice.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads values by name of which none comes twice: JSON leaves open which of the two would count (RFC 8259, section 4).
/// For `#[serde(deserialize_with)]`.
///
/// # Errors
/// A name comes twice, or it is no such map.
pub fn each_once<'a, D: Deserializer<'a>, V: Deserialize<'a>>(
    deserializer: D,
) -> core::result::Result<BTreeMap<String, V>, D::Error> {
    struct Names<V>(PhantomData<V>);
    impl<'a, V: Deserialize<'a>> Visitor<'a> for Names<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("values by knob")
        }

        fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> core::result::Result<Self::Value, M::Error> {
            let mut setting = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, V>()? {
                if setting.contains_key(&name) {
                    return Err(de::Error::custom(format_args!("{name:?} comes twice")));
                }
                setting.insert(name, value);
            }
            Ok(setting)
        }
    }
    deserializer.deserialize_map(Names(PhantomData))
}
