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
    /// How the device cuts the frame into segments of TCP, each with its own checksum; none: it is one.
    pub cut: Option<Cut>,
}

/// How a frame becomes segments. Each begins with its headers, in which lengths and numbers are made right; FIN and PSH
/// are the last one's.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// How long the headers are, from that of Ethernet on.
    pub header_len: usize,
    /// How many bytes behind them a segment has, but for the last.
    pub payload_len: usize,
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

    /// How long a frame may be that it cuts into segments of TCP; 0: it cuts none.
    fn max_cut_len(&self) -> usize {
        0
    }

    /// Sends a frame of `len` bytes, which `write` fills; they hold anything before. The frame leaves at the latest when
    /// `flush` is called. False, and nothing is written: there is no room now.
    fn send(&mut self, len: usize, checksum: Option<PartialChecksum>, write: impl FnOnce(&mut [u8])) -> bool;

    /// Tells the device that there are frames.
    fn flush(&mut self);
}
