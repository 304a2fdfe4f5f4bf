from __future__ import annotations

from pathlib import Path

import pytest

from bayop.study import open_study, trusted


@pytest.mark.parametrize(
    ("name", "rows", "suspect"),
    [
        ("study_memcached", 2053, 12),
        ("study_silo", 1285, 349),
        ("study_netpipe", 2249, 0),
        ("systor_memcached", 117, 0),
        ("systor_silo", 53, 0),
        ("yawn_trace_by_minute", 270, 0),
    ],
)
def test_every_published_file_of_trials_is_a_study(data: Path, name: str, rows: int, suspect: int) -> None:
    frame = open_study(data / f"{name}.csv")
    assert frame.height == rows
    assert rows - trusted(frame).height == suspect
    assert frame["target"].unique().to_list() == ["published"]
    assert frame["source"][0] == f"{name}.csv:2"
    assert frame["app"].unique().to_list() == ["memcached" if "yawn" in name else name.partition("_")[2]]
