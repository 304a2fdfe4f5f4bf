//! The words on the kernel's command line: `ip=10.0.2.15 app=memcached cores=1 memory=64 wait=interrupt
//! connections=65536`, of an e1000e `delay=0`, of memcached `udp=on`, and `agent=on`.

use core::fmt;

use libos_hal::cores::MOST_CORES;
use libos_runtime::policy::Wait;

/// Of an e1000e.
pub const MAX_DELAY_US: u32 = 16_000;

/// What to be.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Our address.
    pub address: [u8; 4],
    /// The service.
    pub app: App,
    /// How many cores there are.
    pub cores: usize,
    /// What memcached's items take at most.
    pub memory_mib: usize,
    /// What a core does that has nothing to do.
    pub wait: Wait,
    /// How many connections there are at most.
    pub connections: usize,
    /// The least time between two interrupts, in us, of a NIC that can be told.
    pub delay_us: Option<u32>,
    /// Whether memcached answers datagrams.
    pub has_udp: bool,
    /// Whether the agent's API is answered.
    pub has_agent: bool,
}

/// A service.
#[derive(Clone, Copy, Debug)]
pub enum App {
    /// memcached, on port 11211.
    Memcached,
    /// A web server that says hello, on port 80.
    Hello,
    /// Sends back what comes, on port 7.
    Echo,
    /// TPC-C, on port 11311.
    Tpcc,
}

/// A word that is not understood, and the rule for it.
#[derive(Clone, Copy, Debug)]
pub struct WordError {
    word: &'static str,
    rule: &'static str,
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, but got {:?}", self.rule, self.word)
    }
}

impl Words {
    /// Reads the command line.
    pub fn parse(line: &'static str) -> Result<Words, WordError> {
        let mut address = None;
        let mut words = Words {
            address: [0; 4],
            app: App::Memcached,
            cores: 1,
            memory_mib: 64,
            wait: Wait::Interrupt,
            connections: 65_536,
            delay_us: None,
            has_udp: false,
            has_agent: false,
        };
        for word in line.split_whitespace() {
            let wrong = |rule| WordError { word, rule };
            match word.split_once('=') {
                Some(("ip", text)) => {
                    address = Some(parse_address(text).ok_or(wrong("ip must be an IPv4 address"))?);
                }
                Some(("app", "memcached")) => words.app = App::Memcached,
                Some(("app", "hello")) => words.app = App::Hello,
                Some(("app", "echo")) => words.app = App::Echo,
                Some(("app", "tpcc")) => words.app = App::Tpcc,
                Some(("app", _)) => return Err(wrong("app must be memcached, hello, echo or tpcc")),
                Some(("cores", text)) => {
                    words.cores = parse_number(text, 1..=MOST_CORES).ok_or(wrong("cores must be 1 to 16"))?;
                }
                Some(("memory", text)) => {
                    words.memory_mib =
                        parse_number(text, 2..=1 << 16).ok_or(wrong("memory must be MiB, 2 to 65536"))?;
                }
                Some(("wait", "interrupt")) => words.wait = Wait::Interrupt,
                Some(("wait", "poll")) => words.wait = Wait::Poll,
                Some(("wait", "adaptive")) => words.wait = Wait::Adaptive,
                Some(("wait", _)) => return Err(wrong("wait must be interrupt, poll or adaptive")),
                Some(("connections", text)) => {
                    words.connections =
                        parse_number(text, 1..=1 << 24).ok_or(wrong("connections must be 1 to 16777216"))?;
                }
                Some(("delay", text)) => {
                    let delay_us =
                        parse_number(text, 0..=MAX_DELAY_US as usize).ok_or(wrong("delay must be us, 0 to 16000"))?;
                    words.delay_us = Some(delay_us as u32);
                }
                Some(("udp", "on")) => words.has_udp = true,
                Some(("udp", _)) => return Err(wrong("udp must be on, or left out")),
                Some(("agent", "on")) => words.has_agent = true,
                Some(("agent", _)) => return Err(wrong("agent must be on, or left out")),
                _ => {
                    return Err(wrong(
                        "a word must be ip=, app=, cores=, memory=, wait=, connections=, delay=, udp= or agent=",
                    ));
                }
            }
        }
        if words.has_udp && !matches!(words.app, App::Memcached) {
            return Err(WordError { word: "udp=on", rule: "udp must go with app=memcached" });
        }
        words.address = address.ok_or(WordError { word: line, rule: "ip=ADDRESS must be given" })?;
        Ok(words)
    }
}

fn parse_address(text: &str) -> Option<[u8; 4]> {
    text.parse::<core::net::Ipv4Addr>().ok().map(|address| address.octets())
}

fn parse_number(text: &str, range: core::ops::RangeInclusive<usize>) -> Option<usize> {
    text.parse().ok().filter(|number| range.contains(number))
}
