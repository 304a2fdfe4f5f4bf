"""How much risk a search takes, and how long it goes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caution:
    """What is safe enough for a trial, what may be held, and what is worth a trial.

    Safe is the probability of meeting the SLO (with its headroom), stable that the cores keep up with the load.

    Attributes:
        trial: A setting is tried only when it is safe with at least this probability.
        after_miss: Every trial that missed the SLO multiplies the risk of the next ones, 1 - `trial`, by this.
        overload: The least probability of stable cores, in any trial: an overloaded server does not miss its SLO by a
            little, and takes time to recover.
        overload_from: Utilization up to which cores keep up, as far as nobody knows better.
        overload_step: How much of the way from a utilization at which the SLO was met, to 1, the next trial may go.
        overload_at_most: Utilization up to which cores keep up, whatever was seen. Beyond it only that is tried which
            is expected to load them no more than what met the SLO.
        demand_step: Where utilization is not measured, and in ventures that do not surely leave the cores stable, no
            trial is expected to load them more, relative to what met the SLO.
        clear: The least probability of not lying beyond a cliff, in any trial.
        far: A setting whose expected latency is so many times that of any window that met the SLO ...
        sure: ... must be safe with this probability.
        small_steps: After so many trials, a problem with small steps takes steps of any size.
        step: A small step must stay with this probability below half of the way from the highest latency that was
            measured under the limit, to the limit. Where the model knows little, that leaves what is near.
        trust: A setting that met the SLO in a window of its own may be held when it is safe with this probability.
        worth: The least expected improvement, relative to the objective that is to be improved on, that is worth a
            trial. It counts what one noisy window can teach, and only as far as the setting could be trusted then.
        lesson_worth: When nothing safe is worth a trial, a lesson is, for a hope of so many times `worth`.
        lessons: At most so many detours are for what they teach about settings that are not safe enough yet ...
        lesson_share: ... and take away this share of the doubt about their latency, ...
        approach: ... or go this share of the way on to a setting that may lie beyond a cliff.
        venture_worth: When no lesson is worth a trial either, a venture is, for a promise of so many times `worth`.
        ventures: At most so many detours go where it is less safe than `trial`, when no small steps are asked for, ...
        venture_after: ... after so many trials, ...
        venture: ... where it is at least this safe, ...
        venture_stable: ... and the cores at least this surely stable.
        looks: At most so many trials look for a setting to trust while none is known and none is safe enough.
        polish: While a setting is held, another one is held instead only when it is safe with this probability, ...
        notch: ... its latency is no more than this share above what is held, ...
        bet: ... its expected objective no more than this share, ...
        polish_worth: ... and it promises this improvement, relative to the objective of what is held.
        hopeless: With no setting's probability of meeting the SLO above this after three trials, the search is over.
    """

    trial: float = 0.9
    after_miss: float = 0.5
    overload: float = 0.9
    overload_from: float = 0.85
    overload_step: float = 0.4
    overload_at_most: float = 0.93
    demand_step: float = 1.25
    clear: float = 0.75
    far: float = 2.0
    sure: float = 0.95
    small_steps: int = 3
    step: float = 0.95
    trust: float = 0.9
    worth: float = 0.0015
    lesson_worth: float = 3.0
    lessons: int = 6
    lesson_share: float = 0.15
    approach: float = 0.1
    venture_worth: float = 5.0
    ventures: int = 5
    venture_after: int = 2
    venture: float = 0.4
    venture_stable: float = 0.5
    looks: int = 6
    hopeless: float = 0.05
    polish: float = 0.97
    notch: float = 0.1
    bet: float = 0.01
    polish_worth: float = 0.0002
