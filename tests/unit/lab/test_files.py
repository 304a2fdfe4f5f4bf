from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.files import Files, libraries, parse_ldd


@pytest.mark.needs("cpio")
def test_an_archive_holds_files_links_and_folders(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("from the host", encoding="utf-8")
    files = Files(links={"/bin/sh": "/bin/busybox"}, folders=["/proc"])
    files.add("/etc/start", "#!/bin/sh\n", mode=0o755).add("/etc/copy", source)
    files.write_archive(tmp_path / "archive")
    with (tmp_path / "archive").open("rb") as archive:
        subprocess.run(["cpio", "-id", "--quiet"], stdin=archive, cwd=tmp_path, check=True)
    assert (tmp_path / "etc/start").read_text(encoding="utf-8") == "#!/bin/sh\n"
    assert (tmp_path / "etc/start").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "etc/copy").read_text(encoding="utf-8") == "from the host"
    assert (tmp_path / "bin/sh").readlink() == Path("/bin/busybox")
    assert (tmp_path / "proc").is_dir()


def test_a_place_in_the_guest_is_absolute() -> None:
    with pytest.raises(LabError, match="a file's place in the guest must be an absolute path"):
        Files().add("etc/start", "")


def test_ldd_names_libraries_and_the_loader() -> None:
    text = """\
\tlinux-vdso.so.1 (0x00007f6f48aab000)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f6f48924000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f6f48aad000)
"""
    assert parse_ldd(text, place="ethtool") == {
        "libm.so.6": Path("/lib/x86_64-linux-gnu/libm.so.6"),
        "ld-linux-x86-64.so.2": Path("/lib64/ld-linux-x86-64.so.2"),
    }


def test_a_library_that_is_not_there_is_named_with_its_program() -> None:
    with pytest.raises(LabError, match=r"the library libevent-2\.1\.so\.7 is missing"):
        parse_ldd("\tlibevent-2.1.so.7 => not found\n", place="memcached")


def test_a_real_program_needs_the_c_library() -> None:
    assert "libc.so.6" in libraries(Path(sys.executable).resolve())
