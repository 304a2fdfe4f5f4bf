from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main
from bayop.prior_file import PriorFile
from bayop.study import open_study, write_study

SEARCH = ["tune", "--target", "study", "--data", "example:silo", "--load", "200kqps", "--json"]


def learned(path: Path, *studies: str) -> int:
    return main(["fit", "--prior", *studies, "--out", str(path), "--json"])


def test_the_studies_of_several_services_become_one_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "caches.prior.toml"
    assert learned(path, "example:memcached", "example:silo") == 0
    event = json.loads(capsys.readouterr().out)
    file = PriorFile.read(path)
    assert (event["event"], event["file"], event["servers"]) == ("prior", str(path), file.servers)
    assert event["studies"] == list(file.studies) == ["memcached.csv.gz", "silo.csv.gz"]
    assert set(event["parameters"]) == set(file.server_class.shapes)


def test_people_see_it_beside_what_holds_for_any_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my.prior.toml"
    assert main(["fit", "--prior", "example:memcached", "--out", str(path)]) == 0
    output = capsys.readouterr().out
    for part in ("learned from 2", "any server", "logit y"):
        assert part in output


def test_a_search_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my.prior.toml"
    learned(path, "example:memcached")
    capsys.readouterr()
    results = []
    for more in ([], ["--prior", str(path)]):
        assert main([*SEARCH, *more]) == 0
        *_, result = (json.loads(line) for line in capsys.readouterr().out.splitlines())
        results.append(result)
    assert results[0]["predicted"] != results[1]["predicted"]
    assert results[1]["predicted"]["power_w"] < results[1]["default"]["power_w"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["fit", "--prior", "example:silo"], "there is no --out; --prior must have a file to write"),
        (
            ["fit", "--prior", "example:silo", "--out", "/nowhere/x.toml"],
            "cannot write /nowhere/x.toml: there is no folder /nowhere (--out)",
        ),
        (
            ["fit", "--prior", "example:silo", "--out", "FILE"],
            "is there already; a file must not be overwritten (--out)",
        ),
        (
            ["fit", "--prior", "example:silo", "example:silo", "--out", "NEW"],
            "example:silo has the trials of example:silo; a class must be learned from each study once (STUDY)",
        ),
        (
            ["fit", "--prior", "example:silo", "--slo", "p99<1us", "--out", "NEW"],
            "meets p99<1us (example:silo, --slo)",
        ),
        (["fit", "--prior", "example:silo", "--model", "published"], "must be of the search's own model (--model)"),
        (
            ["fit", "example:silo", "example:memcached"],
            "cannot use 'example:memcached': a fit must be of one study (STUDY)",
        ),
        ([*SEARCH, "--prior", "/nowhere/x.toml"], "cannot read /nowhere/x.toml: no such file"),
        (
            [*SEARCH, "--prior", "FILE", "--optimizer", "grid"],
            "what has a prior must be the model of grey-box (--prior)",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    path = tmp_path / "my.prior.toml"
    learned(path, "example:memcached")
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        raise SystemExit(main([{"FILE": str(path), "NEW": f"{path}.new"}.get(part, part) for part in argv]))
    assert caught.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_copy_of_a_study_teaches_nothing_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, out = tmp_path / "copy.parquet", tmp_path / "my.prior.toml"
    write_study(open_study("example:silo"), copy)
    assert main(["fit", "--prior", "example:silo", str(copy), "--out", str(out)]) == 2
    assert f"{copy} has the trials of example:silo" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = tmp_path / "study.csv"
    study.write_text("mine", encoding="utf-8")
    assert learned(study, "example:silo") == 2
    assert study.read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [study]
    assert "hint: --out FILE for another" in capsys.readouterr().err
