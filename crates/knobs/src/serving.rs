//! What a machine serves, and through which network device: what a first configuration is made from.

use std::fs;

use crate::host::Host;
use crate::sysfs::NET;

/// TCP_LISTEN in `/proc/net/tcp` (Documentation/networking/proc_net_tcp.rst).
const LISTEN: &str = "0A";

/// The servers that the load generator can speak to: a process's name and the port where it usually listens.
const SERVERS: [(&str, u16); 5] =
    [("memcached", 11211), ("redis-server", 6379), ("valkey-server", 6379), ("nginx", 80), ("apache2", 80)];

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Such as `eth0`.
    pub name: String,
    /// Its driver; none for a device without hardware.
    pub driver: Option<String>,
    /// Whether the default route leads through it, or through one that it is part of (a bond, a bridge, a VLAN).
    pub has_default_route: bool,
    /// The packets that it has received since it is up.
    pub rx_packets: u64,
}

/// A server that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its process's name, such as `memcached`.
    pub name: String,
    /// The TCP port on which it listens.
    pub port: u16,
}

/// The devices but the loopback: the one of the default route first, then by what they have received.
pub fn nics(host: &Host) -> Vec<Nic> {
    let routed = routed(host);
    let nic = |name: String| Nic {
        driver: host.driver(&name),
        has_default_route: routed.contains(&name),
        rx_packets: number(host, &format!("{NET}/{name}/statistics/rx_packets")),
        name,
    };
    let mut nics: Vec<Nic> = host.devices().into_iter().map(nic).collect();
    nics.sort_by_key(|nic| (!nic.has_default_route, nic.driver.is_none(), u64::MAX - nic.rx_packets));
    nics
}

/// The known servers that listen, each with its least port.
pub fn services(host: &Host) -> Vec<Service> {
    let listening = listening(host);
    let mut services = Vec::new();
    for pid in host.processes() {
        let Ok(comm) = host.read(&format!("proc/{pid}/comm")) else { continue };
        let Some((name, usual)) = SERVERS.iter().find(|(name, _)| *name == comm) else { continue };
        let sockets = sockets(host, &pid);
        let own = listening.iter().filter(|(_, inode)| sockets.contains(inode)).map(|(port, _)| *port).min();
        // Who may not look into the process can still see that somebody listens at its usual port.
        let usual = listening.iter().any(|(port, _)| port == usual).then_some(*usual);
        let found = own.or(usual).map(|port| Service { name: (*name).to_owned(), port });
        services.extend(found.filter(|service| !services.contains(service)));
    }
    services
}

/// The devices of the default route, IPv4 before IPv6; of one without hardware those that make it up.
fn routed(host: &Host) -> Vec<String> {
    let rows = |path: &str| -> Vec<Vec<String>> {
        let text = host.read(path).unwrap_or_default();
        text.lines().map(|line| line.split_ascii_whitespace().map(str::to_owned).collect()).collect()
    };
    let fourth =
        rows("proc/net/route").into_iter().filter(|row| row.len() > 7 && row[1] == "00000000" && row[7] == row[1]);
    let mut devices: Vec<String> = fourth.map(|row| row[0].clone()).collect();
    if devices.is_empty() {
        let sixth =
            rows("proc/net/ipv6_route").into_iter().filter(|row| row.len() > 9 && row[1] == "00" && row[9] != "lo");
        devices = sixth.map(|row| row[9].clone()).collect();
    }
    let parts = |device: &String| -> Vec<String> {
        let names = host.names(&format!("{NET}/{device}"));
        names.iter().filter_map(|name| name.strip_prefix("lower_").map(str::to_owned)).collect()
    };
    let mut at = 0;
    while at < devices.len() {
        if host.driver(&devices[at]).is_none() {
            let parts = parts(&devices[at]);
            devices.extend(parts.into_iter().filter(|part| !devices.contains(part)).collect::<Vec<_>>());
        }
        at += 1;
    }
    devices
}

/// The TCP ports on which somebody listens, with the sockets' inodes.
fn listening(host: &Host) -> Vec<(u16, String)> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, port) = words.get(1)?.rsplit_once(':')?;
        let inode = (words.get(3)? == &LISTEN).then(|| words.get(9)).flatten()?;
        Some((u16::from_str_radix(port, 16).ok()?, (*inode).to_owned()))
    };
    let texts = ["proc/net/tcp", "proc/net/tcp6"].map(|path| host.read(path).unwrap_or_default());
    texts.iter().flat_map(|text| text.lines().filter_map(row)).collect()
}

/// The inodes of a process's sockets; none where they may not be seen.
fn sockets(host: &Host, pid: &str) -> Vec<String> {
    let folder = format!("proc/{pid}/fd");
    let inode = |name: String| {
        let target = fs::read_link(host.path(&format!("{folder}/{name}"))).ok()?;
        Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    host.names(&folder).into_iter().filter_map(inode).collect()
}

fn number(host: &Host, path: &str) -> u64 {
    host.read(path).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::tree::unpack;

    const MACHINE: &str = "\
# source: made up for this test, in the formats of Documentation/networking/proc_net_tcp.rst and net/ipv4/fib_trie.c
=== proc/net/route
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth1	0000000A	00000000	0001	0	0	0	00FFFFFF	0	0	0
bond0	00000000	0100000A	0003	0	0	0	00000000	0	0	0
=== proc/net/tcp
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
   2: 0100007F:2BCC 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000000000000000 100 0 0 10 0
=== proc/71/comm
memcached
=== proc/71/fd/12 -> socket:[4711]
=== proc/72/comm
redis-server
=== proc/73/comm
nginx
=== sys/class/net/lo/type
772
=== sys/class/net/bond0/lower_eth0/uevent
=== sys/class/net/bond0/statistics/rx_packets
1000
=== sys/class/net/eth0/device/driver -> ../../../../bus/pci/drivers/ixgbe
=== sys/class/net/eth0/statistics/rx_packets
20
=== sys/class/net/eth1/device/driver -> ../../../../bus/pci/drivers/ixgbe
=== sys/class/net/eth1/statistics/rx_packets
30
";

    #[test]
    fn the_hardware_behind_the_default_route_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let nics = nics(&unpack(MACHINE, folder.path()).unwrap());
        let seen: Vec<_> = nics.iter().map(|nic| (nic.name.as_str(), nic.has_default_route, nic.rx_packets)).collect();
        assert_eq!(seen, [("eth0", true, 20), ("bond0", true, 1000), ("eth1", false, 30)]);
        assert_eq!(nics[0].driver.as_deref(), Some("ixgbe"));
    }

    #[test]
    fn servers_are_known_by_their_process_and_its_sockets_or_usual_port() {
        let folder = tempfile::tempdir().unwrap();
        let services = services(&unpack(MACHINE, folder.path()).unwrap());
        let service = |name: &str, port| Service { name: name.to_owned(), port };
        assert_eq!(services, [service("memcached", 0x2BCB), service("redis-server", 6379)], "nginx listens nowhere");
    }

    #[test]
    fn a_socket_of_this_process_is_among_those_that_listen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host = Host::live();
        let inode = listening(&host).into_iter().find(|(found, _)| *found == port).unwrap().1;
        assert!(sockets(&host, &std::process::id().to_string()).contains(&inode));
    }

    #[test]
    fn a_machine_that_shows_nothing_serves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::recorded(folder.path());
        assert!(nics(&host).is_empty() && services(&host).is_empty());
    }
}
