from __future__ import annotations

import json

import pytest

from bayop.papers.claims.claim import PAPERS, Finding, Verdict


def test_a_verdict_is_its_words_in_a_record_and_back() -> None:
    words = json.loads(json.dumps(list(Verdict)))
    assert words == ["reproduced", "as a ratio only", "partly", "not", "not testable"]
    assert [Verdict(word) for word in words] == list(Verdict)


def test_what_can_not_speak_to_a_claim_has_no_numbers() -> None:
    finding = Finding(Verdict.NOT_TESTABLE, "why")
    assert (dict(finding.data), dict(finding.twin)) == ({}, {})


def test_the_papers_are_four_and_stay_as_they_are() -> None:
    assert set(PAPERS) == {"D", "Q", "Y", "C"}
    with pytest.raises(TypeError):
        PAPERS["D"] = "another"  # type: ignore[index]
