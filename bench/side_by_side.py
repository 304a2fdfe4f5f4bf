"""Many independent runs of a benchmark, some at a time, watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Plan = TypeVar("Plan")
Result = TypeVar("Result")


def run_side_by_side(
    run: Callable[[Plan], Result],
    plans: Sequence[Plan],
    jobs: int,
    console: Console,
    *,
    label: str,
    describe: Callable[[Plan], str],
    on_result: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Runs every plan and gives the results in the order of the plans.

    Args:
        run: What makes a result of a plan; both go from process to process.
        plans: What to run.
        jobs: How many at a time.
        console: Where the progress is shown.
        label: What is counted, until the first one has ended.
        describe: A plan that has ended, for people.
        on_result: Called with each result as it comes.
    """
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    results: dict[int, Result] = {}
    # Fresh processes: PyTorch does not survive a fork.
    with progress, ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        task = progress.add_task(label, total=len(plans))
        waiting = {pool.submit(run, plan): i for i, plan in enumerate(plans)}
        for future in as_completed(waiting):
            i = waiting[future]
            results[i] = future.result()
            progress.update(task, advance=1, description=describe(plans[i]))
            on_result(results[i])
    return [results[i] for i in range(len(plans))]
