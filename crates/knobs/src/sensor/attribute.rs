//! A kernel file that is read again and again.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::text::number;
use crate::host::Host;
use crate::refusal::refusal;
use bayop_core::Result;

/// More than a number in a kernel file takes: text that fills it is no number.
const LONGEST: usize = 64;

/// A kernel file that holds one number, kept open between reads.
///
/// Reading it costs one system call and no allocation. After a failure it is opened anew, so that a device that went
/// away and came back is found again.
#[derive(Debug)]
pub(super) struct Attribute {
    path: String,
    file: Option<File>,
}

impl Attribute {
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), file: None }
    }

    /// The path with its leading slash, as a person would type it.
    pub fn source(&self) -> String {
        format!("/{}", self.path)
    }

    /// The number that the file holds now.
    ///
    /// # Errors
    /// The file is absent or refuses, or what it holds is not a whole number.
    pub fn read(&mut self, host: &Host) -> Result<u64> {
        let mut bytes = [0; LONGEST];
        let length = self.read_at(host, &mut bytes, 0)?;
        let text = if length < LONGEST { &bytes[..length] } else { &b"(too long)"[..] };
        number(text).map_err(|error| error.at(self.source()))
    }

    /// The bytes from `offset` on: as many as the file has and `bytes` takes.
    ///
    /// # Errors
    /// The file is absent or refuses.
    pub fn read_at(&mut self, host: &Host, bytes: &mut [u8], offset: u64) -> Result<usize> {
        let file = match self.file.take() {
            Some(file) => file,
            None => host.reader(&self.path)?,
        };
        let length = file.read_at(bytes, offset).map_err(|error| refusal("read", &self.path, &error))?;
        self.file = Some(file);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_comes_back_is_read_again() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::recorded(root.path());
        let file = root.path().join("energy_uj");
        let mut attribute = Attribute::new("energy_uj");
        let absent = attribute.read(&host).unwrap_err();
        assert_eq!(absent.to_string(), "cannot read /energy_uj: no such file");
        fs::write(&file, "41\n").unwrap();
        assert_eq!(attribute.read(&host), Ok(41));
        fs::write(&file, "42\n").unwrap();
        assert_eq!(attribute.read(&host), Ok(42));
    }

    #[test]
    fn text_that_is_no_number_is_refused_with_its_place() {
        let root = tempfile::tempdir().unwrap();
        let host = Host::recorded(root.path());
        for bytes in
            [&b""[..], b"\xff\xfe", b"garbage", &[b' '; 100], &[b'1'; 5000], &[b" ".repeat(63), b"12".into()].concat()]
        {
            fs::write(root.path().join("energy_uj"), bytes).unwrap();
            let error = Attribute::new("energy_uj").read(&host).unwrap_err();
            assert_eq!(error.place.as_deref(), Some("/energy_uj"));
        }
    }
}
