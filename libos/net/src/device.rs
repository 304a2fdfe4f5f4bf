//! What the stack asks of a NIC: two halves, so that an answer can be written while its question is read.

/// A frame that came.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From the Ethernet header on, without the checksum at its end.
    pub bytes: &'a [u8],
    /// The device has looked at the checksums of IP and TCP or UDP, or they never left the machine.
    pub checksum_is_right: bool,
}

/// A checksum of TCP or UDP that the device completes.
#[derive(Clone, Copy, Debug)]
pub struct PartialChecksum {
    /// Where in the frame to begin to sum.
    pub start: usize,
    /// Where to put the sum, from `start`.
    pub offset: usize,
}

/// The half that receives.
pub trait Receive {
    /// The next frame; the one before is given back.
    fn next(&mut self) -> Option<Frame<'_>>;

    /// Whether a frame waits.
    fn has_frame(&self) -> bool;

    /// Gives the last frame back, and tells the device where it finds room again.
    fn flush(&mut self);

    /// Whether a frame that comes may interrupt. Whoever allows it looks once more before it sleeps.
    fn set_interrupts(&mut self, on: bool);
}

/// The half that sends.
pub trait Transmit {
    /// Whether it completes checksums.
    fn completes_checksums(&self) -> bool;

    /// Sends a frame of `len` bytes, which `write` fills; they hold anything before. The frame leaves at the latest
    /// when
    /// `flush` is called. False, and nothing is written: there is no room now.
    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool;

    /// Tells the device that there are frames.
    fn flush(&mut self);
}
