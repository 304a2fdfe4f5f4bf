from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.twin_studies import write_twin_study

from bayop.cli import main
from bayop.twin.profile_library import load_profile, read_profile

SMALL = ("--requests", "2000", "--threads", "2")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "study_memcached.csv"
    return write_twin_study(path, load_profile("ebbrt-memcached"), os="ebbrt", requests=5_000)


def json_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    captured = capsys.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def check_refusal(argv: list[str], capsys: pytest.CaptureFixture[str], message: str, hint: str | None = None) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) <= 2
    assert hint is None or hint in captured.err.splitlines()[1]


class TestRun:
    def test_json_has_a_line_for_every_setting(self, capsys: pytest.CaptureFixture[str]) -> None:
        settings = ["--setting", "auto", "--setting", "nic.rx_usecs=0.05ms, cpu.freq_mhz=2.1GHz"]
        settings += ["--setting", "cpu.freq_mhz=1300"]
        assert main(["twin", "run", "--load", "200kqps", *settings, *SMALL, "--json"]) == 0
        lines = json_lines(capsys)
        assert [line["setting"] for line in lines] == [
            {"nic.rx_usecs": "auto", "cpu.freq_mhz": "auto"},
            {"nic.rx_usecs": 50, "cpu.freq_mhz": 2100},
            {"nic.rx_usecs": "auto", "cpu.freq_mhz": 1300},
        ]
        assert all(line["qps_offered"] == 200_000.0 for line in lines)
        assert {"power_w", "p50_us", "p99_us", "utilization", "interrupts_per_s"} <= set(lines[0]["measured"])
        assert "meets_slo" not in lines[0]

    def test_other_knobs_are_set_when_they_are_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        settings = ["--setting", "auto", "--setting", "nic.combined_queues=4,idle.max_latency_us=10us"]
        assert main(["twin", "run", "--load", "100kqps", *settings, *SMALL, "--json"]) == 0
        default, few = json_lines(capsys)
        assert few["setting"] == {
            "nic.rx_usecs": "auto",
            "cpu.freq_mhz": "auto",
            "nic.combined_queues": 4,
            "idle.max_latency_us": 10,
        }
        assert default["setting"] == dict.fromkeys(few["setting"], "auto")
        assert few["measured"]["interrupts_per_s"] < default["measured"]["interrupts_per_s"]

    def test_repeats_on_any_number_of_threads(self, capsys: pytest.CaptureFixture[str]) -> None:
        outputs = []
        for threads in ("1", "2", "5"):
            argv = ["twin", "run", "--load", "100000", "--setting", "auto", "--setting", "nic.rx_usecs=10us"]
            assert main([*argv, "--requests", "2000", "--threads", threads, "--seed", "7", "--json"]) == 0
            outputs.append(json_lines(capsys))
        assert outputs[0] == outputs[1] == outputs[2]

    def test_an_slo_decides_the_exit_code(self, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "run", "--load", "200000", "--setting", "nic.rx_usecs=400us,cpu.freq_mhz=2.9GHz", *SMALL]
        assert main([*argv, "--slo", "p99<1ms", "--json"]) == 0
        assert main([*argv, "--slo", "p99<100us", "--json"]) == 1
        assert [line["meets_slo"] for line in json_lines(capsys)] == [True, False]

    def test_a_closed_loop_has_a_message(self, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "run", "--profile", "linux-netpipe", "--message", "64KB", "--requests", "200"]
        assert main([*argv, "--setting", "nic.rx_usecs=14us,cpu.freq_mhz=2.1GHz", "--json"]) == 0
        (line,) = json_lines(capsys)
        assert line["message_bytes"] == 65_536.0
        assert {"roundtrip_us", "goodput_mibit_s", "energy_j", "instructions"} <= set(line["measured"])
        assert main(argv) == 0
        assert "netpipe on Linux at 65536 B messages" in capsys.readouterr().out

    def test_the_load_fits_the_profile(self, capsys: pytest.CaptureFixture[str]) -> None:
        netpipe = ["twin", "run", "--profile", "linux-netpipe"]
        check_refusal(
            [*netpipe, "--load", "1kqps"],
            capsys,
            "cannot use 1000.0: the load of netpipe on Linux must be a message size in bytes (--load)",
        )
        check_refusal([*netpipe, "--message", "17MiB"], capsys, "from 1B to 16MiB")
        check_refusal([*netpipe, "--message", "1us"], capsys, "it must be a size")
        check_refusal(
            ["twin", "run", "--message", "64B"],
            capsys,
            "the load of memcached on Linux must be a number of requests/s (--message)",
        )
        check_refusal(
            ["twin", "run"],
            capsys,
            "no load is given; the load of memcached on Linux must be a number of requests/s (--load)",
        )
        check_refusal(
            netpipe,
            capsys,
            "no load is given; the load of netpipe on Linux must be a message size in bytes (--message)",
        )

    def test_polling_has_no_delay(self, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "run", "--polling", "--load", "200kqps", *SMALL]
        assert main([*argv, "--json"]) == 0
        (line,) = json_lines(capsys)
        assert line["setting"] == {"cpu.freq_mhz": "auto"}
        assert line["measured"]["interrupts_per_s"] == 0
        check_refusal(
            [*argv, "--setting", "nic.rx_usecs=10us"], capsys, "there is no knob 'nic.rx_usecs' here (--setting)"
        )

    def test_idle_governors_go_by_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "run", "--load", "20kqps", "--setting", "nic.rx_usecs=10us,cpu.freq_mhz=2.9GHz", *SMALL]
        power_w = {}
        for governor in ("menu", "menu-6.1", "teo", "yawn", "bayop", "shallowest"):
            assert main([*argv, "--idle-governor", governor, "--json"]) == 0
            (line,) = json_lines(capsys)
            power_w[governor] = line["measured"]["power_w"]
        assert len(set(power_w.values())) == len(power_w)
        assert max(power_w, key=lambda governor: power_w[governor]) == "shallowest"
        assert main([*argv, "--json"]) == 0
        assert json_lines(capsys)[0]["measured"]["power_w"] == power_w["menu"]
        message = "cannot use 'doze': it must be one of menu, menu-4.4, menu-6.1, teo, ladder, haltpoll, yawn, "
        check_refusal([*argv, "--idle-governor", "doze"], capsys, message)

    def test_a_wake_balancer_gathers_work(self, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "run", "--load", "20kqps", "--setting", "nic.rx_usecs=10us,cpu.freq_mhz=2.9GHz", *SMALL]
        utilization = {}
        for balancer in ("none", "yawn"):
            assert main([*argv, "--wake-balancer", balancer, "--json"]) == 0
            (line,) = json_lines(capsys)
            utilization[balancer] = line["measured"]["utilization"]
        assert utilization["yawn"] < utilization["none"]
        check_refusal(
            [*argv, "--wake-balancer", "even"],
            capsys,
            "cannot use 'even': it must be one of none, yawn (--wake-balancer)",
        )
        polling = ["twin", "run", "--polling", "--load", "20kqps", "--wake-balancer", "yawn", *SMALL]
        check_refusal(polling, capsys, "must have steered dispatch")

    def test_overload_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        for load, is_said in (("6M", True), ("100k", False)):
            assert main(["twin", "run", "--load", load, "--requests", "20000", "--threads", "2"]) == 0
            out = capsys.readouterr().out
            assert "served" in out
            assert ("Overloaded where less is served than offered" in out) == is_said

    def test_people_get_a_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["twin", "run", "--load", "200000", "--slo", "p99<500us", *SMALL]) == 0
        out = capsys.readouterr().out
        assert "memcached on Linux at 200000 requests/s" in out
        assert "met" in out

    @pytest.mark.parametrize(
        ("more", "message", "hint"),
        [
            (
                ["--setting", "fast"],
                "cannot use 'fast': a setting must be a list of KNOB=VALUE, or auto (--setting)",
                "nic.rx_usecs=50us",
            ),
            (
                ["--setting", "nic.rx_usec=50us"],
                "there is no knob 'nic.rx_usec' here (--setting)",
                "did you mean nic.rx_usecs?",
            ),
            (
                ["--setting", "idle.disable=C6"],
                "there is no knob 'idle.disable' here (--setting)",
                "nic.combined_queues, power.cap_w, idle.max_latency_us",
            ),
            (
                ["--setting", "nic.rx_usecs=51us"],
                "cannot use 51.0: nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto (--setting)",
                "nearest",
            ),
            (
                ["--setting", "nic.rx_usecs=2,nic.rx_usecs=4"],
                "cannot use 'nic.rx_usecs=2,nic.rx_usecs=4': a setting must name each knob once (--setting)",
                None,
            ),
            (["--slo", "p75<1ms"], "the twin does not measure p75_us (--slo)", "it shows p50_us"),
            (
                ["--setting", "cpu.freq_mhz=9GHz"],
                "cannot use 9000.0: cpu.freq_mhz must be 1200MHz to 2900MHz in steps of 100MHz, or auto (--setting)",
                "the nearest value",
            ),
            (["--setting", "cpu.freq_mhz=50us"], "cannot use '50us': it must be a frequency (cpu.freq_mhz)", None),
            (["--profile", "linux-mysql"], "there is no profile 'linux-mysql'", "built-in profiles: ebbrt-memcached"),
            (["--profile", "nowhere.toml"], "cannot read nowhere.toml: no such file", None),
            (["--slo", "p42<1ms"], "the twin does not measure p42_us (--slo)", "p99_us"),
            (["--requests", "0"], "cannot use '0': it must be a whole number from 1 to 1000000000 (--requests)", None),
            (["--threads", "0"], "cannot use '0': it must be a whole number from 1 to 1024 (--threads)", None),
        ],
    )
    def test_bad_usage(
        self, capsys: pytest.CaptureFixture[str], more: list[str], message: str, hint: str | None
    ) -> None:
        check_refusal(["twin", "run", "--load", "200000", *more], capsys, message, hint)

    @pytest.mark.parametrize(
        ("old", "new", "message", "hint"),
        [
            ("steer_us = ", "steer_ms = ", "there is no key steer_ms", "did you mean steer_us?"),
            ("steer_us = ", "sterr_us = ", "there is no key sterr_us", "did you mean steer_us?"),
            ("connections = 1280", "connections = -3", "it must be a whole number between 1 and 10000000", None),
            ("static_w = 0.0", 'static_w = "40 W"', "it must be a number (", None),
            ("[app]", "[app", "[app is not valid TOML", None),
        ],
    )
    def test_bad_profiles(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, old: str, new: str, message: str, hint: str | None
    ) -> None:
        text, _ = read_profile("linux-memcached")
        assert old in text
        path = tmp_path / "server.toml"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        check_refusal(["twin", "run", "--load", "200000", "--profile", str(path)], capsys, message, hint)


class TestValidate:
    def test_json_has_a_line_for_every_load(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["twin", "validate", "--data", str(study), *SMALL, "--json"]) == 0
        lines = json_lines(capsys)
        assert [(r["app"], r["os"], r["load"], r["cells"]) for r in lines] == [
            ("memcached", "ebbrt", 200_000.0, 6),
            ("memcached", "ebbrt", 500_000.0, 6),
        ]
        for line in lines:
            assert list(line["mape_pct"]) == ["power_w", "p99_us", "p50_us", "utilization", "interrupts_per_s"]
            assert 0.0 < line["mape_pct"]["p99_us"] < 20.0
            assert set(line["default_error_pct"]) == set(line["mape_pct"])

    def test_loads_and_profile_can_be_chosen(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        choices = ["--loads", "500kqps", "--os", "ebbrt", "--profile", "linux-memcached", "--app", "cache"]
        assert main(["twin", "validate", "--data", str(study), *choices, *SMALL, "--json"]) == 0
        (line,) = json_lines(capsys)
        assert (line["app"], line["load"]) == ("cache", 500_000.0)
        assert line["mape_pct"]["utilization"] > 10.0, "another system is another server"

    def test_repeats_on_any_number_of_threads(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        outputs = []
        for threads in ("1", "3"):
            argv = ["twin", "validate", "--data", str(study), "--requests", "1000", "--threads", threads, "--json"]
            assert main(argv) == 0
            outputs.append(json_lines(capsys))
        assert outputs[0] == outputs[1]

    def test_people_get_a_table(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["twin", "validate", "--data", str(study), *SMALL]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert "The twin of memcached against study_memcached.csv" in captured.out
        assert "below 0.85 utilization" in captured.out

    @pytest.mark.parametrize(
        ("more", "message", "hint"),
        [
            (
                ["--loads", "300000"],
                "cannot use '300000': a load must be one that was measured (--loads)",
                "200000, 500000",
            ),
            (
                ["--loads", "200000,,"],
                "cannot use '': a quantity must be a number and a unit such as 50qps (--loads)",
                None,
            ),
            (["--os", "bsd"], "the study has no trials of bsd (--os)", "it has ebbrt"),
            (["--app", "mysql"], "there is no profile for ebbrt-mysql, which was measured", "--profile"),
            (["--profile", "ebbrt-mysql"], "there is no profile 'ebbrt-mysql'", "built-in"),
            (["--data", "nowhere.csv"], "cannot read nowhere.csv: no such file", None),
        ],
    )
    def test_bad_usage(
        self, study: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str, hint: str | None
    ) -> None:
        check_refusal(["twin", "validate", "--data", str(study), *more], capsys, message, hint)

    def test_a_file_name_that_says_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write_twin_study(tmp_path / "sweep.csv", load_profile("ebbrt-memcached"), os="ebbrt", requests=500)
        message = "neither the study nor its file's name says which application was measured: sweep.csv"
        check_refusal(["twin", "validate", "--data", str(path)], capsys, message, "say --app (img-dnn, memcached, ")
        assert main(["twin", "validate", "--data", str(path), "--app", "memcached", *SMALL]) == 0

    def test_a_profile_is_of_one_system(self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        text = study.read_text(encoding="utf-8")
        both = tmp_path / "study_memcached.csv"
        both.write_text(text + text.partition("\n")[2].replace("ebbrt", "linux"), encoding="utf-8")
        argv = ["twin", "validate", "--data", str(both), "--profile", "linux-memcached"]
        check_refusal(
            argv,
            capsys,
            "cannot use 'linux-memcached': a profile must be of one operating system (--profile)",
            "--os (ebbrt, linux)",
        )


class TestFit:
    def test_writes_a_profile_that_fits_better(
        self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        start, out = tmp_path / "start.toml", tmp_path / "fitted.toml"
        text, _ = read_profile("ebbrt-memcached")
        line = next(line for line in text.splitlines() if line.startswith("after_response_kcycles"))
        start.write_text(text.replace(line, "after_response_kcycles = 9.0 # kept"), encoding="utf-8")
        argv = ["twin", "fit", "--data", str(study), "--profile", str(start), "--os", "ebbrt", "--loads", "500000"]
        argv += ["--parameters", "app.after_response_kcycles,app.network_us", "--sweeps", "12", *SMALL]
        assert main([*argv, "--out", str(out), "--json"]) == 0
        fit, *errors = json_lines(capsys)
        truth = load_profile("ebbrt-memcached").values()["app.after_response_kcycles"]
        assert fit["event"] == "fit"
        assert fit["parameters"]["app.after_response_kcycles"]["before"] == 9.0
        fitted = fit["parameters"]["app.after_response_kcycles"]["after"]
        assert fitted == pytest.approx(truth, rel=0.2)
        assert load_profile(str(out)).values()["app.after_response_kcycles"] == pytest.approx(fitted, rel=1e-4)
        assert "# kept" in out.read_text(encoding="utf-8")
        assert [(e["event"], e["load"], e["fitted"]) for e in errors] == [
            ("before", 200_000.0, False),
            ("before", 500_000.0, True),
            ("after", 200_000.0, False),
            ("after", 500_000.0, True),
        ]
        assert errors[3]["mape_pct"]["utilization"] < errors[1]["mape_pct"]["utilization"]

    def test_reads_its_data_once(self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """So that the data can come from a pipe."""
        pipe = tmp_path / "pipe.csv"
        os.mkfifo(pipe)

        def write() -> None:
            pipe.write_text(study.read_text(encoding="utf-8"), encoding="utf-8")
            pipe.unlink()

        threading.Thread(target=write, daemon=True).start()
        argv = ["twin", "fit", "--data", str(pipe), "--profile", "ebbrt-memcached", "--loads", "500000"]
        argv += ["--parameters", "app.network_us", "--sweeps", "4", "--out", str(tmp_path / "p.toml")]
        assert main([*argv, *SMALL]) == 0, capsys.readouterr().err

    def test_people_get_tables(self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "fit", "--data", str(study), "--profile", "ebbrt-memcached", "--parameters", "app.network_us"]
        assert main([*argv, "--sweeps", "4", "--out", str(tmp_path / "p.toml"), *SMALL]) == 0
        out = capsys.readouterr().out
        assert "app.network_us" in out
        assert "Written:" in out

    @pytest.mark.parametrize(
        ("more", "message", "hint"),
        [
            (
                ["--parameters", "app.request_kcycle"],
                "a parameter must be the dotted key of a number in the profile, or a group (--parameters)",
                "did you mean app.request_kcycles?",
            ),
            (
                ["--parameters", "machine.cores"],
                "a parameter must move in small steps, and this one is a count (--parameters)",
                "one by one",
            ),
            (["--parameters", "application,"], "the dotted key of a number", None),
            (["--loads", "1"], "cannot use '1': a load must be one that was measured (--loads)", "200000"),
            (["--sweeps", "0"], "cannot use '0': it must be a whole number from 1 to 1000000000 (--sweeps)", None),
            (["--profile", "linux-memcached"], "the study has no trials of linux (--os)", "it has ebbrt"),
        ],
    )
    def test_bad_usage(
        self,
        study: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        *,
        more: list[str],
        message: str,
        hint: str | None,
    ) -> None:
        argv = ["twin", "fit", "--data", str(study), "--profile", "ebbrt-memcached", "--out", str(tmp_path / "x.toml")]
        check_refusal([*argv, *more], capsys, message, hint)

    def test_the_name_of_a_file_says_no_system(
        self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        own = tmp_path / "own-server.toml"
        own.write_text(read_profile("ebbrt-memcached")[0], encoding="utf-8")
        argv = ["twin", "fit", "--data", str(study), "--profile", str(own), "--parameters", "app.network_us"]
        assert main([*argv, "--sweeps", "4", "--out", str(tmp_path / "p.toml"), *SMALL]) == 0
        assert capsys.readouterr().err == ""

    def test_overwrites_nothing(self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        own = tmp_path / "own.toml"
        own.write_text(text := read_profile("ebbrt-memcached")[0], encoding="utf-8")
        argv = ["twin", "fit", "--data", str(study), "--profile", str(own), "--out", str(own)]
        check_refusal(argv, capsys, f"{own} is there already; a file must not be overwritten (--out)")
        assert own.read_text(encoding="utf-8") == text

    def test_a_row_is_too_little_for_many_parameters(
        self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        few, out = tmp_path / "few.csv", tmp_path / "p.toml"
        header, *rows = study.read_text(encoding="utf-8").splitlines()
        few.write_text("\n".join([header, next(row for row in rows if "static" in row)]), encoding="utf-8")
        argv = ["twin", "fit", "--data", str(few), "--profile", "ebbrt-memcached", "--out", str(out), *SMALL]
        check_refusal(
            [*argv, "--parameters", "application,system,power"],
            capsys,
            "numbers in all measured cells; a fit must have a measured number for every parameter at least",
            "name fewer parameters",
        )
        assert not out.exists()

    @pytest.mark.parametrize(("out", "why"), [("missing/p.toml", "there is no folder"), (".", "it is a folder")])
    def test_a_file_that_can_not_be_written_is_found_before_the_work(
        self, study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, why: str
    ) -> None:
        argv = ["twin", "fit", "--data", str(study), "--profile", "ebbrt-memcached", "--out", str(tmp_path / out)]
        check_refusal(argv, capsys, f"cannot write {tmp_path / out}: {why}")


class TestCrossvalidate:
    def test_predicts_every_load_from_the_others(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "crossvalidate", "--data", str(study), "--profile", "ebbrt-memcached", "--sweeps", "4"]
        assert main([*argv, "--parameters", "app.network_us", *SMALL, "--json"]) == 0
        lines = json_lines(capsys)
        assert [(r["load"], r["fitted_on"]) for r in lines] == [(200_000.0, [500_000.0]), (500_000.0, [200_000.0])]
        assert main([*argv, "--parameters", "app.network_us", *SMALL]) == 0
        assert "fitted on the other loads, predicted at this one" in capsys.readouterr().out

    @pytest.mark.parametrize(("sweeps", "complete"), [("4", False), ("60", True)])
    def test_says_whether_the_budget_ended_a_fit(
        self, study: Path, capsys: pytest.CaptureFixture[str], sweeps: str, *, complete: bool
    ) -> None:
        argv = ["twin", "crossvalidate", "--data", str(study), "--profile", "ebbrt-memcached", "--sweeps", sweeps]
        argv += ["--parameters", "app.network_us", *SMALL]
        assert main([*argv, "--json"]) == 0
        assert [line["complete"] for line in json_lines(capsys)] == [complete] * 2
        assert main(argv) == 0
        assert ("The budget ended before the fit did" in capsys.readouterr().out) != complete

    def test_another_application_on_the_machine_helps(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "crossvalidate", "--data", str(study), "--profile", "ebbrt-memcached", "--sweeps", "4"]
        argv += ["--parameters", "machine.power.static_w", *SMALL, "--with"]
        assert main([*argv, f"ebbrt-memcached={study}", "--json"]) == 0
        assert len(json_lines(capsys)) == 2
        check_refusal([*argv, "ebbrt-silo"], capsys, "it must be a profile and a study (--with)")
        check_refusal([*argv, f"linux-silo={study}"], capsys, f"{study} has no trials of linux")
        check_refusal([*argv, "ebbrt-silo=nope.csv"], capsys, "nope.csv: no such file")

    def test_leaves_out_busy_cells(self, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
        argv = ["twin", "crossvalidate", "--data", str(study), "--profile", "ebbrt-memcached", *SMALL]
        check_refusal([*argv, "--max-utilization", "0"], capsys, "the cells are of 0 load")
        check_refusal([*argv, "--max-utilization", "2"], capsys, "a share must lie between 0 and 1")

    def test_needs_two_loads(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        profile = load_profile("ebbrt-memcached")
        path = write_twin_study(tmp_path / "s.csv", profile, os="ebbrt", loads=(200_000.0,), requests=500)
        argv = ["twin", "crossvalidate", "--data", str(path), "--profile", "ebbrt-memcached"]
        check_refusal(argv, capsys, "the cells are of 1 load; a cross-validation must have cells at two loads or more")
        check_refusal([*argv, "--scatter", "2"], capsys, "a share must lie between 0 and 1 (--scatter)")


@pytest.mark.parametrize("argv", [["twin"], ["twin", "fly"], ["twin", "fit", "--data", "x.csv"]])
def test_incomplete_commands(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    check_refusal(argv, capsys, "error: ", "--help")


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for action in ("run", "validate", "fit", "crossvalidate"):
        with pytest.raises(SystemExit) as end:
            main(["twin", action, "--help"])
        assert end.value.code == 0
        assert f"bayop twin {action}" in capsys.readouterr().out.partition("examples:")[2]
