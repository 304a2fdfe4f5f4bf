//! Who has signed a list of revoked certificates (RFC 5280, section 5.1). rustls looks at that with each client, and
//! only where the client's authority has the name of the list's.

use rustls::crypto::ring::default_provider;
use rustls::pki_types::TrustAnchor;

/// Tags of DER (X.690, section 8.1.2).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// Who has signed a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signer {
    /// One of the authorities.
    Authority,
    /// Somebody who has the name of one, and not its key.
    Namesake,
    /// Somebody of another name, such as an intermediate authority that clients send.
    Other,
    /// Nobody can tell: the signature is of a kind that is not known.
    Unknown,
}

impl Signer {
    /// Of a list, in DER.
    pub fn of(list: &[u8], authorities: &[TrustAnchor<'_>]) -> Self {
        let known = default_provider().signature_verification_algorithms.all;
        let Some(list) = List::parse(list) else { return Self::Unknown };
        if !known.iter().any(|known| known.signature_alg_id().as_ref() == list.algorithm) {
            return Self::Unknown;
        }
        let mut namesakes = authorities.iter().filter(|each| each.subject.as_ref() == list.issuer).peekable();
        if namesakes.peek().is_none() {
            return Self::Other;
        }
        let has_signed = |key: Key<'_>| {
            let mut fitting = known.iter().filter(|known| {
                known.signature_alg_id().as_ref() == list.algorithm
                    && known.public_key_alg_id().as_ref() == key.algorithm
            });
            fitting.any(|fitting| fitting.verify_signature(key.bytes, list.signed, list.signature).is_ok())
        };
        if namesakes.filter_map(Key::parse).any(has_signed) { Self::Authority } else { Self::Namesake }
    }
}

/// What verifies.
struct Key<'a> {
    algorithm: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Key<'a> {
    fn parse(authority: &'a TrustAnchor<'a>) -> Option<Self> {
        let (algorithm, rest) = value(SEQUENCE, &authority.subject_public_key_info)?;
        let (&[0, ref bytes @ ..], _) = value(BIT_STRING, rest)? else { return None };
        Some(Self { algorithm, bytes })
    }
}

/// What there is to verify of a list.
struct List<'a> {
    signed: &'a [u8],
    issuer: &'a [u8],
    algorithm: &'a [u8],
    signature: &'a [u8],
}

impl<'a> List<'a> {
    fn parse(list: &'a [u8]) -> Option<Self> {
        let (list, _) = value(SEQUENCE, list)?;
        let (content, rest) = value(SEQUENCE, list)?;
        let signed = &list[..list.len() - rest.len()];
        let (algorithm, rest) = value(SEQUENCE, rest)?;
        // A signature has no unused bits.
        let (&[0, ref signature @ ..], _) = value(BIT_STRING, rest)? else { return None };
        // Before the issuer stand the version and the algorithm once more.
        let (_version, rest) = value(INTEGER, content)?;
        let (_algorithm, rest) = value(SEQUENCE, rest)?;
        let (issuer, _) = value(SEQUENCE, rest)?;
        Some(Self { signed, issuer, algorithm, signature })
    }
}

/// The value behind a tag, and what follows it.
fn value(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        _ => {
            // The length's own, big-endian.
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let digits = (digits.len() <= 4).then_some(digits)?;
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        }
    };
    (found == tag).then(|| rest.split_at_checked(length))?
}
