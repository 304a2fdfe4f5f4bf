/*
 * The parts of a server that QEMU does not have: P-states, C-states and a power meter.
 *
 * QEMU's device pc-testdev keeps what is written to its I/O ports 0xE0 to 0xE3. Here port 0xE0 + n is the P-state
 * register of CPU n, in units of 100 MHz, so that the kernel's acpi-cpufreq driver writes and reads back a real
 * register and the power meter reads the same one. ACPI 6.5: sections 8.4.1 (_CST), 8.4.5 (_PCT, _PSS, _PPC, _PSD)
 * and 10.4 (power meter). QEMU's own DSDT declares the CPUs as \_SB.CPUS.C000 and \_SB.CPUS.C001.
 */
DefinitionBlock ("", "SSDT", 2, "BAYOP", "LAB", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)

    OperationRegion (PREG, SystemIO, 0xE0, 2)
    Field (PREG, ByteAcc, NoLock, Preserve)
    {
        PST0, 8,
        PST1, 8
    }

    /* MHz, mW, transition latency us, bus master latency us, control value, status value; the fastest first. */
    Name (PSTS, Package ()
    {
        Package () { 2900, 23025, 10, 10, 29, 29 },
        Package () { 2700, 20225, 10, 10, 27, 27 },
        Package () { 2500, 17625, 10, 10, 25, 25 },
        Package () { 2300, 15225, 10, 10, 23, 23 },
        Package () { 2100, 13025, 10, 10, 21, 21 },
        Package () { 1900, 11025, 10, 10, 19, 19 },
        Package () { 1700,  9225, 10, 10, 17, 17 },
        Package () { 1500,  7625, 10, 10, 15, 15 },
        Package () { 1300,  6225, 10, 10, 13, 13 }
    })

    /*
     * C1, C2 and C3 for the operating system: register, ACPI type, exit latency us, mW. Each is a FFixedHW register
     * of ACPI type 1 and really halts the emulated CPU; SystemIO registers would make it spin.
     */
    Name (CSTS, Package ()
    {
        3,
        Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1,   2, 1000 },
        Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1,  50,  500 },
        Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0, 0) }, 1, 400,  100 }
    })

    Scope (\_SB.CPUS.C000)
    {
        Name (_PCT, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xE0) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xE0) }
        })
        Method (_PSS) { Return (\PSTS) }
        Name (_PPC, 0)
        /* Domain 0, of this CPU alone: each CPU has a cpufreq policy of its own. */
        Name (_PSD, Package () { Package () { 5, 0, 0, 0xFD, 1 } })
        Method (_CST) { Return (\CSTS) }
    }

    Scope (\_SB.CPUS.C001)
    {
        Name (_PCT, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xE1) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xE1) }
        })
        Method (_PSS) { Return (\PSTS) }
        Name (_PPC, 0)
        Name (_PSD, Package () { Package () { 5, 0, 1, 0xFD, 1 } })
        Method (_CST) { Return (\CSTS) }
    }

    Scope (\_SB)
    {
        Device (PMTR)
        {
            Name (_HID, "ACPI000D")

            /* Firmware hands the CPUs over at their highest P-state. */
            Method (_INI)
            {
                PST0 = 29
                PST1 = 29
            }

            Method (_STA) { Return (0x0F) }

            /*
             * Capabilities: 1 = it measures; unit mW; input power; accuracy 100.000 %; sampling every 100 ms;
             * 1000 ms of averaging at least and at most; no hysteresis, no limit; model, serial number, manufacturer.
             */
            Method (_PMC)
            {
                Return (Package () { 1, 0, 0, 100000, 100, 1000, 1000, 0, 0, 0, 0, "lab meter", "1", "BayOp" })
            }

            /* The measured devices: none is named, the meter measures the whole machine. */
            Method (_PMD) { Return (Package () {}) }

            /* Power in mW: 20 W + 2.5 W/GHz^2 * (f0^2 + f1^2); the law stands in lab/README.md. */
            Method (_PMM)
            {
                Local0 = PST0 * PST0
                Local1 = PST1 * PST1
                Return (20000 + 25 * (Local0 + Local1))
            }

            /* Averaging interval in ms: fixed. */
            Method (_GAI) { Return (1000) }
            Method (_PAI, 1) { Return (1) }
        }
    }
}
