"""`bayop run`: every service of a file, the stop file, a file that is read anew, operators and the service manager."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from typing import Any, Final

from bayop.daemon.file import DaemonFile
from bayop.daemon.metrics.tally import Tally
from bayop.daemon.notices.sender import Sender
from bayop.daemon.notify import Notifier
from bayop.daemon.operator.listener import listening
from bayop.daemon.operator.wire import socket_of
from bayop.daemon.operator.words import Words
from bayop.daemon.report import Reporter
from bayop.daemon.services import Services
from bayop.daemon.web.feed import Feed
from bayop.daemon.web.server import serving
from bayop.daemon.web.view import View
from bayop.errors import BayopError, InputError, as_ours
from bayop.state.store import Store

_LOOK_S: Final = 0.2


class Daemon:
    """Looks after every service of a file until it is stopped. `stop` and `reload` may be called from anywhere.

    Args:
        file: What is to be done.
        store: What is known, and remembered.
        reporter: Who is told what happens.
        notifier: The service manager.
        holder: Who we are, as agents name us to others.
    """

    def __init__(self, file: DaemonFile, store: Store, reporter: Reporter, notifier: Notifier, *, holder: str) -> None:
        self._feed, self._tally = Feed(), Tally()
        if file.web is not None:
            reporter = reporter.heard_by(self._feed.put).heard_by(self._tally.hear)
        self._sender = None if file.notify is None else Sender(file.notify, self._say_lost)
        if self._sender is not None:
            reporter = reporter.heard_by(self._sender.hear)
        self._file, self._reporter, self._notifier, self._holder = file, reporter, notifier, holder
        self._stop = threading.Event()
        self._reloads: queue.SimpleQueue[Future[dict[str, object]]] = queue.SimpleQueue()
        self._reloading = threading.Thread()
        """Reads the file anew. That may wait for a machine that is let go of, and the stop file does not."""
        self._is_stopped = file.is_stopped
        store.on_damage = self._say_damaged
        self._services = Services(file.services, store, reporter, holder=holder, stopped=self._is_stopped)
        self._heard_s = 0.0

    def stop(self) -> None:
        """Ends `run`, which puts every machine's own settings back."""
        self._stop.set()

    def reload(self) -> Future[dict[str, object]]:
        """Has the file read anew; the event that tells what came of it, or why the file is not taken."""
        future: Future[dict[str, object]] = Future()
        self._reloads.put(future)
        return future

    def run(self) -> bool:
        """Looks after the services until `stop`; whether every machine has its own settings back.

        Raises:
            InputError: there can't be a socket for operators, or the page can't be served.
        """
        with self._sender.sending() if self._sender is not None else nullcontext():
            words = Words(self._services, lambda: self.reload().result())
            with listening(socket_of(self._file.state), words.answer), self._serving(words) as page_url:
                self._look_after(page_url)
            is_clean = self._services.end()
            self._reporter.say("stop", "ended" if is_clean else "ended; a lease runs out by itself", restored=is_clean)
        return is_clean

    def _say_lost(self, what: str, why: str) -> None:
        host = "" if self._file.notify is None else self._file.notify.host
        self._reporter.say("not-notified", f"{host} is not notified of {what}: {why}", of=what, why=why)

    def _say_damaged(self, error: BayopError) -> None:
        line = f"{error.message} (hint: {error.hint})"
        self._reporter.say("damaged", line, message=error.message, hint=error.hint)

    @contextmanager
    def _serving(self, words: Words) -> Iterator[str | None]:
        """Serves the page meanwhile, where the file asks for it; its address."""
        web = self._file.web
        if web is None:
            yield None
            return
        view = View(
            services=self._services,
            state=self._file.state,
            feed=self._feed,
            word=lambda verb, service, by: words.answer({"verb": verb, "service": service}, by),
            clock=self._reporter.clock,
            acts=web.token_file is not None,
            tally=self._tally,
        )
        toml = self._file.toml
        listen = "listen" if "listen" in toml.table("web") else None
        with ExitStack() as stack:
            port = toml.at("web", listen, lambda: stack.enter_context(serving(web, view)))
            yield web.url(port)

    def _look_after(self, page_url: str | None) -> None:
        file = self._file
        names = [service.name for service in file.services]
        begins = f"bayop run {file.path}: {', '.join(names)}; remembered in {file.state}"
        told: dict[str, Any] = {"file": str(file.path), "state": str(file.state), "services": names}
        self._reporter.say("start", begins, **told, holder=self._holder)
        if self._is_stopped:
            self._say_stopped()
        self._services.begin()
        if page_url is not None:
            self._reporter.say("page", f"the page is at {page_url}", url=page_url)  # which has all services from now on
        self._notifier.send("READY=1")
        while not self._stop.wait(_LOOK_S):
            self._heed_reloads()
            self._heed_stop_file()
            self._keep_watchdog()
        self._notifier.send("STOPPING=1")

    def _heed_reloads(self) -> None:
        if not self._reloading.is_alive() and not self._reloads.empty():
            self._reloading = threading.Thread(target=self._reload_all, name="bayop-reload", daemon=True)
            self._reloading.start()

    def _reload_all(self) -> None:
        while not self._reloads.empty():
            future = self._reloads.get()
            self._notifier.send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                future.set_result(self._read_anew())
            except Exception as failed:  # whatever is wrong with a file, the old one stays
                error = as_ours(failed)
                line = f"the file is not taken: {error.message}; the old one stays"
                self._reporter.say("not-reloaded", line, message=error.message, hint=error.hint)
                future.set_exception(error)
            self._notifier.send("READY=1")

    def _read_anew(self) -> dict[str, object]:
        old = self._file
        new = DaemonFile.read(old.path)
        if new.state != old.state:
            raise InputError(
                "the state must stay where it is while bayop runs",
                value=str(new.state),
                place=new.toml.place("", "state"),
                hint="restart it",
            )
        for name, before, now in (("web", old.web, new.web), ("notify", old.notify, new.notify)):
            if now != before:
                raise InputError(
                    f"[{name}] must stay as it is while bayop runs",
                    wrong="it has changed",
                    place=new.toml.place(name),
                    hint="restart it",
                )
        changes = self._services.take(new.services)
        self._file = new
        listed = (f"{', '.join(names) or 'none'} {what}" for what, names in asdict(changes).items())
        self._reporter.say("reloaded", f"the file was read anew: {', '.join(listed)}", **asdict(changes))
        return {"event": "reloaded", **asdict(changes)}

    def _heed_stop_file(self) -> None:
        path, is_there = self._file.stop_file, self._file.is_stopped
        if is_there == self._is_stopped:
            return
        self._is_stopped = is_there
        self._services.stop(so=is_there)
        if is_there:
            self._say_stopped()
        else:
            paused = ", ".join(self._services.paused)
            but = f", but for what an operator has paused: {paused}" if paused else ""
            self._reporter.say("resumed", f"{path} is gone: goes on{but}", file=str(path))

    def _say_stopped(self) -> None:
        path = self._file.stop_file
        line = f"{path} is there: every machine has its own settings, and nothing is searched"
        self._reporter.say("paused", line, file=str(path))

    def _keep_watchdog(self) -> None:
        every_s = self._notifier.watchdog_s
        if every_s is None or time.monotonic() - self._heard_s < every_s / 3:
            return
        if self._services.live():
            self._heard_s = time.monotonic()
            self._notifier.send("WATCHDOG=1")
