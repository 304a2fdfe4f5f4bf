from __future__ import annotations

from collections import Counter

import pytest

from bayop.control.phase import phase_of, window_end_s


def test_a_phase_depends_on_the_name_alone_and_lies_within_a_window() -> None:
    assert phase_of("web", 60.0) == phase_of("web", 60.0) == pytest.approx(6 * phase_of("web", 10.0))
    assert phase_of("web", 60.0) != phase_of("db", 60.0)
    assert all(0.0 <= phase_of(f"s{number}", 60.0) < 60.0 for number in range(1000))


def test_the_windows_of_a_thousand_services_end_in_sixty_groups() -> None:
    groups = Counter(phase_of(f"s{number}", 60.0) for number in range(1000))
    assert sorted(groups) == pytest.approx(range(60))
    assert max(groups.values()) < 40


@pytest.mark.parametrize(
    ("now_s", "phase_s", "end_s"),
    [
        (0.0, 0.0, 60.0),
        (59.0, 0.0, 60.0),
        (60.0, 0.0, 120.0),
        (59.999_999_9, 0.0, 120.0),
        (0.0, 7.5, 7.5),
        (7.5, 7.5, 67.5),
        (1_700_000_000.0, 7.5, 1_700_000_047.5),
    ],
)
def test_a_window_ends_its_phase_after_a_multiple_of_its_length(now_s: float, phase_s: float, end_s: float) -> None:
    assert window_end_s(now_s, 60.0, phase_s) == pytest.approx(end_s, abs=1e-6)
