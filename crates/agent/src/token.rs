//! Secrets that nobody can guess.

use bayop_core::{Error, Result};

/// 128 random bits from the kernel, in hexadecimal.
///
/// # Errors
/// The kernel gives no randomness.
pub fn new() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unsupported(format!("the kernel gives no random bytes: {error}")))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn tokens_are_128_bits_and_differ() {
        let (one, other) = (super::new().unwrap(), super::new().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
