"""Which kernel modules the guest gets, and what they depend on (modules.dep(5))."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from lab.errors import LabError


def parse_list(text: str, *, has: Collection[str]) -> Sequence[tuple[str, str]]:
    """When each module of `guest/modules` is loaded, and its name: `boot` and `e1000e`.

    Args:
        text: What the file says.
        has: The kernel's names of all modules that it has. What is optional is left out when it is not among them.
    """
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [(when, name) for when, name, *optional in rows if not optional or module_name(name) in has]


def module_name(path: str) -> str:
    """The kernel's name of a module's file: `kernel/drivers/cpufreq/acpi-cpufreq.ko.xz` is `acpi_cpufreq`."""
    return PurePosixPath(path).name.partition(".ko")[0].replace("-", "_")


def built_in(modules_builtin: str) -> frozenset[str]:
    """The kernel's names of what it has inside, by its file `modules.builtin`."""
    return frozenset(map(module_name, modules_builtin.split()))


def modules_of(modules_dep: str) -> frozenset[str]:
    """The kernel's names of what it has as files, by what depmod(8) wrote."""
    return frozenset(module_name(line.partition(":")[0]) for line in modules_dep.splitlines())


def with_dependencies(names: Iterable[str], *, modules_dep: str) -> Sequence[str]:
    """The files of some modules and of all that they need, each once, sorted.

    Args:
        names: Module names, `-` and `_` alike.
        modules_dep: What depmod(8) wrote: a line per module, `file: dependency dependency`, with indirect ones too.
    """
    lines = (line.partition(":") for line in modules_dep.splitlines())
    needs = {module_name(file): [file, *dependencies.split()] for file, _, dependencies in lines}
    files = set()
    for name in names:
        key = name.replace("-", "_")
        if key not in needs:
            raise LabError(wrong=f"the guest's kernel has no module {name}", value=name)
        files.update(needs[key])
    return sorted(files)
