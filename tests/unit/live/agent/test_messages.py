"""The agent's answers as data, and each message against the agent's description of itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from bayop.domains import Choices, Steps
from bayop.errors import UnsupportedError
from bayop.latency.base import Latency, Vantage
from bayop.live.agent import messages
from bayop.live.agent.address import UnixAddress
from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import Transport

ROOT = Path(__file__).resolve().parents[4]
DESCRIPTION = json.loads((ROOT / "docs" / "reference" / "agent-openapi.json").read_text(encoding="utf-8"))


def test_a_place_tells_what_it_takes_and_why_it_is_silent() -> None:
    parts = {"rule": None, "value": None, "hint": None, "kind": "unsupported"}
    error = {"wrong": "no driver has it", "place": "/sys/x", **parts}
    reserved = [{"low": 1, "high": 9, "meaning": "the driver moderates adaptively"}]
    steps = {"steps": {"low": 0, "high": 1000, "step": 1, "reserved": reserved}}
    places = [
        {"at": "eth0", "domain": steps, "allowed": None, "effective": 3, "error": None},
        {"at": "eth1", "domain": steps, "allowed": {"choices": [1, 2]}, "effective": None, "error": error},
    ]
    answer = {
        "knobs": [{"id": "nic.rx_usecs", "summary": "S", "unit": "us", "safest": "low", "places": places}],
        "missing": [{"id": "power.cap_w", "error": error}, {"id": "cpu.epp", "error": {**error, "place": None}}],
        "since": "a later version",
    }
    machine = messages.decode("/v1/knobs", json.dumps(answer).encode(), messages.MachineKnobs)
    first, second = machine.knobs[0].places
    assert (first.domain.values, first.allowed, first.effective) == (Steps(0, 1000, 1, ((1, 9),)), None, 3)
    assert second.allowed is not None
    assert (second.allowed.values, str(second.error)) == (Choices((1, 2)), "no driver has it (/sys/x)")
    assert machine.why_missing == {"power.cap_w": "no driver has it (/sys/x)", "cpu.epp": "no driver has it"}


@pytest.mark.parametrize("answer", [b"null", b"[]", b"{}", b'{"knobs":3,"missing":[]}', b'{"knobs":[{}],"missing":[]}'])
def test_another_versions_answer_is_refused_and_not_guessed_at(answer: bytes) -> None:
    with pytest.raises(UnsupportedError, match="cannot read the agent's answer to /v1/knobs") as caught:
        messages.decode("/v1/knobs", answer, messages.MachineKnobs)
    assert "same version" in str(caught.value.hint)


def test_a_domain_is_one_of_the_two() -> None:
    for domain in (b"{}", b'{"steps":{"low":0,"high":1,"step":1,"reserved":[]},"choices":[1]}'):
        with pytest.raises(UnsupportedError, match="either steps or choices"):
            messages.decode("/v1/knobs", domain, messages.Domain)


class Asked(Exception):  # noqa: N818 -- it is none
    """A request, with what its answer is read as."""


class Recorder(Transport):
    """Sends nothing."""

    def request(self, method: str, path: str, answer: type, body: object = None, **_: float) -> Any:
        raise Asked(method.lower(), path, answer, body)


REQUESTS: dict[str, Callable[[AgentClient], object]] = {
    "status": AgentClient.status,
    "knobs": AgentClient.knobs,
    "sensors": AgentClient.sensors,
    "doctor": AgentClient.doctor,
    "idle_stays": AgentClient.idle_stays,
    "acquire": lambda client: client.acquire("me", 5.0),
    "renew": lambda client: client.renew("a secret", timeout_s=1.0),
    "apply": lambda client: client.apply({"nic.rx_usecs": 10, "cpu.epp": "power"}, lease="a secret"),
    "preview": lambda client: client.preview({"nic.rx_usecs": "auto"}),
    "hold": lambda client: client.hold(
        {"nic.rx_usecs": 10},
        fall_back={},
        conditions=messages.Conditions(
            messages.LatencyLimit("p99_us", 500.0, 5.0), messages.LoadBand("eth0", 1.0, 2.0), longest_s=60.0
        ),
        lease="a secret",
    ),
    "holding": AgentClient.holding,
    "push": lambda client: client.push(Latency({"p99_us": 310.5, "qps": 1000.0}, Vantage.CLIENT)),
    "release": lambda client: client.release("a secret", keep=True),
    "restore": AgentClient.restore,
    "store_calibration": lambda client: client.store_calibration("eth0", [(10.0, 20.0)], holder="test"),
    "calibrated": AgentClient.calibrated,
}
"""One of each that a client makes."""


def test_every_request_of_the_client_is_here() -> None:
    only_on_the_library_os = {"interrupts"}
    names = {name for name in vars(AgentClient) if not name.startswith("_")}
    assert names == {*REQUESTS, "at", "address"} | only_on_the_library_os


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_and_answers_are_those_of_the_agents_description(name: str) -> None:
    with pytest.raises(Asked) as asked:
        REQUESTS[name](AgentClient(Recorder(UnixAddress("/nobody"))))
    method, path, answer, body = asked.value.args
    described = DESCRIPTION["paths"][path][method]
    if body is None:
        assert "requestBody" not in described
    else:
        Draft202012Validator(DESCRIPTION | shape_of(described["requestBody"])).validate(body)
    (success,) = (response for status, response in described["responses"].items() if status.startswith("2"))
    check_reads(answer, shape_of(success))


def test_a_renewal_names_a_length_only_to_change_it() -> None:
    client = AgentClient(Recorder(UnixAddress("/nobody")))
    for ttl_s, body in ((None, {"lease": "a secret"}), (300.0, {"lease": "a secret", "ttl_s": 300.0})):
        with pytest.raises(Asked) as asked:
            client.renew("a secret", timeout_s=1.0, ttl_s=ttl_s)
        assert asked.value.args[3] == body


def test_a_refusal_is_the_agents_failure() -> None:
    check_reads(messages.Failure, {"$ref": "#/components/schemas/Failure"})


@pytest.mark.parametrize(
    ("field", "described"),
    [
        ("a: float", {"properties": {"a": {"type": "string"}}, "required": ["a"]}),
        ("a: float", {"properties": {"a": {"type": ["number", "null"]}}, "required": ["a"]}),
        ("a: float", {"properties": {"a": {"type": "number"}}, "required": []}),
        ("a: float", {"properties": {"b": {"type": "number"}}, "required": ["b"]}),
        ("a: list[float]", {"properties": {"a": {"type": "array", "items": {"type": "string"}}}, "required": ["a"]}),
    ],
)
def test_a_drift_is_found(field: str, described: dict[str, Any]) -> None:
    name, _, kind = field.partition(": ")
    struct = msgspec.defstruct("Struct", [(name, {"float": float, "list[float]": list[float]}[kind])])
    with pytest.raises(AssertionError):
        check_reads(struct, {"type": "object"} | described)


def shape_of(content: Any) -> Any:
    return content["content"]["application/json"]["schema"]


def check_reads(struct: type, described: Any) -> None:
    """Every field that the brain reads is described, and with the same type."""
    schema = msgspec.json.schema(struct)
    check_alike(kinds(schema, schema), kinds(described, DESCRIPTION), struct.__name__)


def check_alike(read: dict[str, Any], described: dict[str, Any], where: str) -> None:
    assert read.keys() == described.keys(), where
    assert read.get("string") == described.get("string"), where
    for part in ("items", "values"):
        if read.get(part):
            check_alike(read[part], described[part], f"{where}: {part}")
    for name, (field, is_needed) in read.get("fields", {}).items():
        assert name in described["fields"], f"{where}.{name}"
        theirs, is_given = described["fields"][name]
        assert is_needed == is_given, f"{where}.{name}"
        check_alike(field, theirs, f"{where}.{name}")


def kinds(shape: Any, document: Any) -> dict[str, Any]:
    """What a JSON value may be: its types, the words that a text is one of, the parts of a list or an object."""
    if "$ref" in shape:
        return kinds(reduce(getitem, shape["$ref"].split("/")[1:], document), document)
    if several := shape.get("oneOf") or shape.get("anyOf"):
        return reduce(either, (kinds(each, document) for each in several))
    if "enum" in shape:
        return {"string": set(shape["enum"])}
    found: dict[str, Any] = dict.fromkeys([shape["type"]] if isinstance(shape["type"], str) else shape["type"])
    if "prefixItems" in shape:
        found["fields"] = {place: (kinds(item, document), True) for place, item in enumerate(shape["prefixItems"])}
    elif "array" in found:
        found["items"] = kinds(shape["items"], document)
    if "object" in found:
        fields, sure = shape.get("properties", {}), shape.get("required", ())
        found["fields"] = {name: (kinds(field, document), name in sure) for name, field in fields.items()}
        found["values"] = kinds(shape["additionalProperties"], document) if shape.get("additionalProperties") else None
    return found


def either(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """One or the other; of two objects all fields, none of which is sure to be there."""
    both = first | second
    if "object" in first and "object" in second:
        both["fields"] = {name: (field, False) for name, (field, _) in (first["fields"] | second["fields"]).items()}
    return both
