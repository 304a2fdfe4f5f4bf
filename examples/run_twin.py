"""Runs the twin: what a longer interrupt delay does to a server's power and latency, at two frequencies."""

from bayop import TwinTarget

server = TwinTarget.from_profile("linux-memcached", qps=400_000, seed=0)
default = server.baseline()
print(f"{server.description}; its own policies: {default['power_w']:.1f} W, p99 {default['p99_us']:.0f} us")
print("delay      2900 MHz          1700 MHz")
for delay_us in (2, 50, 100, 200, 400):
    cells = []
    for freq_mhz in (2900, 1700):
        server.apply({"nic.rx_usecs": delay_us, "cpu.freq_mhz": freq_mhz})
        window = server.measure()
        cells.append(f"{window['power_w']:6.1f} W {window['p99_us']:5.0f} us")
    print(f"{delay_us:3} us  {'   '.join(cells)}")
server.restore()
