from __future__ import annotations

import pytest

from lab.errors import LabError
from lab.modules import built_in, module_name, modules_of, parse_list, with_dependencies

MODULES_DEP = """\
kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko kernel/fs/mbcache.ko
kernel/fs/jbd2/jbd2.ko:
kernel/fs/mbcache.ko:
kernel/drivers/cpufreq/acpi-cpufreq.ko.xz:
"""


def test_dependencies_come_along_once() -> None:
    files = with_dependencies(["ext4", "jbd2", "acpi_cpufreq"], modules_dep=MODULES_DEP)
    assert files == [
        "kernel/drivers/cpufreq/acpi-cpufreq.ko.xz",
        "kernel/fs/ext4/ext4.ko",
        "kernel/fs/jbd2/jbd2.ko",
        "kernel/fs/mbcache.ko",
    ]


def test_a_module_that_the_kernel_lacks_is_named() -> None:
    with pytest.raises(LabError, match="the guest's kernel has no module e1000x"):
        with_dependencies(["e1000x"], modules_dep=MODULES_DEP)


@pytest.mark.parametrize("path", ["a/acpi-cpufreq.ko", "acpi_cpufreq.ko.xz", "x/acpi-cpufreq.ko.zst"])
def test_a_module_has_one_name_however_its_file_is_called(path: str) -> None:
    assert module_name(path) == "acpi_cpufreq"


def test_what_the_kernel_has_inside_is_no_file() -> None:
    assert built_in("kernel/drivers/virtio/virtio-pci.ko\nkernel/fs/ext4/ext4.ko\n") == {"virtio_pci", "ext4"}


def test_the_list_has_comments_and_two_kinds_of_modules() -> None:
    assert parse_list("# why\nboot ext4\n\ndemand veth\n", has=()) == [("boot", "ext4"), ("demand", "veth")]


def test_what_is_optional_is_left_out_of_a_kernel_without_it() -> None:
    listed = "boot ext4\nboot acpi-cpufreq optional\nboot crc32c optional\n"
    assert parse_list(listed, has=modules_of(MODULES_DEP)) == [("boot", "ext4"), ("boot", "acpi-cpufreq")]
