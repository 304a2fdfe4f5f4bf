"""The image and its start."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.pages.blocks import ROOT, blocks_of
from tests.support.needs import need, program, require
from tests.support.servers import load, result_of

from bayop.errors import InputError
from bayop.experiments.rig.veth import Namespace
from lab.libos import NICS, LibraryOs, image

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]


@pytest.mark.alone
def test_it_serves_within_a_second() -> None:
    def boot_s() -> float:
        with LibraryOs() as machine:
            return machine.boot_s

    # The best of three: a busy machine is slow.
    assert min(boot_s() for _ in range(3)) < 1


def test_the_image_is_small() -> None:
    assert image().stat().st_size < 4 << 20


def test_the_same_sources_give_the_same_image_elsewhere_and_to_others(tmp_path: Path) -> None:
    command = ["git", "ls-files", "Makefile", "libos", "crates/core", "crates/idle", "crates/tpcc"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name, follow_symlinks=False)
    (tmp_path / "cargo").symlink_to(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    elsewhere = {"CARGO_HOME": str(tmp_path / "cargo"), "CARGO_TARGET_DIR": str(tmp_path / "target")}
    subprocess.run(["make", "libos"], cwd=tmp_path, env=os.environ | elsewhere, check=True)
    assert (tmp_path / "target/libos/release/libos").read_bytes() == image().read_bytes()


def test_grub_boots_it_by_multiboot2(tmp_path: Path) -> None:
    """With the menu of docs/libos.md. The words come whole, and all memory behind the image is there to be used."""
    modules = Path("/usr/lib/grub/i386-pc")
    is_there = program("grub-mkrescue") and program("xorriso") and modules.is_dir()
    require(bool(is_there), "grub-pc-bin or xorriso is not installed", "lab/install-packages")
    (menu,) = [block.text for block in blocks_of(ROOT / "docs" / "libos.md") if block.file == "grub.cfg"]
    folder, disc = tmp_path / "disc", tmp_path / "libos.iso"
    (folder / "boot" / "grub").mkdir(parents=True)
    (folder / "boot" / "grub" / "grub.cfg").write_text(menu, encoding="utf-8")
    shutil.copy2(image(), folder / "boot" / "libos")
    subprocess.run(["grub-mkrescue", "-d", modules, "-o", disc, folder], capture_output=True, check=True)
    with LibraryOs(kernel=("-cdrom", str(disc))) as machine:
        host, port = machine.address(11211).split(":")
        with socket.create_connection((host, int(port)), timeout=10) as client, client.makefile("rb") as answers:
            client.sendall(b"set key 0 0 5\r\nvalue\r\nget key\r\nstats\r\n")
            said = [answers.readline() for _ in range(4)]
            assert said == [b"STORED\r\n", b"VALUE key 0 5\r\n", b"value\r\n", b"END\r\n"]
            assert b"STAT limit_maxbytes %d\r\n" % (128 << 20) in iter(answers.readline, b"END\r\n")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("app=nginx", "cannot use 'app=nginx': app must be memcached, hello, echo or tpcc"),
        ("memory=1", "memory must be MiB, 2 to 65536"),
        ("wait", "a word must be ip=, app=, cores=, memory=, wait=, connections=, delay=, udp= or agent="),
        ("delay=16001", "delay must be us, 0 to 16000"),
        ("udp=off", "udp must be on, or left out"),
        ("udp=on app=hello", "udp must go with app=memcached"),
        ("agent=off", "agent must be on, or left out"),
        ("delay=5", "delay must go with an e1000e and not with virtio-net"),
    ],
)
def test_a_word_that_it_does_not_know_is_refused(words: str, rule: str) -> None:
    with pytest.raises(InputError) as caught, LibraryOs(words):
        pass
    assert rule in caught.value.message


@pytest.mark.parametrize("nic", NICS)
@pytest.mark.parametrize("wait", ["interrupt", "poll", "adaptive"])
def test_it_serves_however_it_waits(wait: str, nic: str) -> None:
    with LibraryOs(f"app=hello wait={wait}", nic=nic) as machine:
        url = f"http://{machine.address(80)}/any"
        for _ in range(20):
            with urllib.request.urlopen(url, timeout=10) as answer:
                assert (answer.status, answer.read()) == (200, b"hello\n")
        run = load("-s", machine.address(80), "--protocol", "http", "-q", "500", "-t", "1s", "-w", "0.2s", "--json")
        counts = result_of(run)["counts"]
        assert counts["answered"] == counts["intended"] > 300


def test_interrupts_of_an_e1000e_are_so_far_apart_as_it_is_told() -> None:
    """A request waits for its interrupt, and half of them longer than a quarter of the delay."""

    def p50_us(delay_us: int) -> float:
        with LibraryOs(f"delay={delay_us}", nic="e1000e") as machine:
            words = ["-s", machine.address(11211), "-q", "500", "-t", "1s", "-w", "0.2s", "-r", "100", "--json"]
            latency = result_of(load(*words))["latency"]
        return next(float(row["value_us"]) for row in latency if row["quantile"] == 0.5)

    assert p50_us(0) < 4000 < p50_us(16_000) < 16_000


@pytest.mark.needs("namespaces")
@pytest.mark.parametrize("nic", NICS)
def test_a_thousand_connections_through_a_tap_device_which_completes_checksums(nic: str) -> None:
    """QEMU's own network accepts only one connection at a time, and completes no checksums."""
    need("ip")
    namespace = Namespace()
    try:
        with LibraryOs(nic=nic, inside=namespace.command([])) as machine:
            words = [
                "-s",
                machine.address(11211),
                "--workload",
                "etc",
                "-q",
                "1000",
                "-t",
                "2s",
                "-c",
                "1000",
                "--json",
            ]
            run = subprocess.run(
                namespace.command([sys.executable, "-m", "bayop", "load", *words]),
                capture_output=True,
                text=True,
                check=False,
            )
            result = result_of(run)
            assert result["counts"]["answered"] == result["counts"]["intended"], run.stderr
    finally:
        namespace.close()
