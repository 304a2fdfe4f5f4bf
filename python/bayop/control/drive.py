"""Drives a controller through virtual time: whatever it decides is done to a plant, whose windows are the clock."""

from __future__ import annotations

from bayop.control.actions import Answer, Applied, Apply, Done, Watch
from bayop.control.controller import Controller
from bayop.target.base import put
from bayop.target.plant import Plant


def drive(controller: Controller, plant: Plant, start_s: float) -> bool:
    """Controls a plant from `start_s` until the controller is done; the last setting held stays in effect.

    Ctrl-C ends the run early and leaves the plant the same way (a search's incumbent, or the default); any other error
    puts the default back before it is passed on.

    Args:
        controller: What decides; at its start.
        plant: What it is done to; in its default.
        start_s: The time at which it begins.

    Returns:
        Whether the end was reached; False after Ctrl-C.
    """
    now_s, answer = start_s, None
    try:
        try:
            while not isinstance(action := controller.poll(now_s, plant.load_at(now_s), answer), Done):
                now_s, answer = _do(plant, action, now_s)
        except KeyboardInterrupt:
            if isinstance(action := controller.interrupt(now_s), Apply):
                put(plant, action.setting)
            return False
    except BaseException:
        plant.restore()
        raise
    return True


def _do(plant: Plant, action: Apply | Watch, now_s: float) -> tuple[float, Answer]:
    """Does it; the time when it is done, and what was seen."""
    if isinstance(action, Apply):
        return now_s, Applied(put(plant, action.setting))
    measurement = plant.measure(now_s, action.until_s - now_s)
    return (now_s + measurement["duration_s"] if measurement.censored else action.until_s), measurement
