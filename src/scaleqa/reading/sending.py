"""Sending exported requests to a backend that answers at once."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from scaleqa.backends import Backend, Request, Stop, StoppedError
from scaleqa.backends.batchfile import Asked, answer_line, read_answers, read_requests
from scaleqa.backends.itemdir import append_line, held, mend
from scaleqa.errors import DataError
from tsim import private


def send_batch(
    prompts: Path,
    backend: Backend,
    out: Path,
    *,
    workers: int = 1,
    stop: Stop | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Asks for all that has no answer yet; returns how many answers there are.

    Args:
        prompts: The file that was exported.
        backend: What answers.
        out: The file for the answers, which is continued.
        workers: Requests that are sent at once.
        stop: Ends sending; the backend was opened with it.
        progress: Called with requests answered and in all.

    Raises:
        DataError: A file is none of ours, or the backend answers without a language model.
        RemoteError: The backend failed, after any retries; answers so far are kept.
    """
    if backend.stand_in:
        raise DataError(f"{backend.identity} does not read prompts; use it with: scaleqa run")
    asked = read_requests(prompts)
    with held(private.create(out), f"another process writes to {out}"):
        mend(out)
        known = read_answers([out], {*asked})
        other = next((one.reader for one in known.values() if one.reader != backend.identity), None)
        if other:
            raise DataError(f"{out} has answers of {other:.80}; name another file")
        missing = {key: one for key, one in asked.items() if key not in known}
        done = len(known)
        writing = threading.Lock()

        def send(key: str, one: Asked) -> None:
            nonlocal done
            request = Request(
                prompt=one.prompt,
                context="",
                question="",
                options=None,
                most_tokens=one.most_tokens,
            )
            line = answer_line(key, backend.reply(request), backend.identity)
            with writing:
                append_line(out, line)
                done += 1
                if progress:
                    progress(done, len(asked))

        _send_all(missing, send, workers, stop or Stop())
    return done


def _send_all(
    missing: Mapping[str, Asked], send: Callable[[str, Asked], None], workers: int, stop: Stop
) -> None:
    """Sends until all is answered or one fails; what is in flight is waited for."""

    def guarded(key: str, one: Asked) -> None:
        stop.check()
        try:
            send(key, one)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(workers) as pool:
        sent = [pool.submit(guarded, key, one) for key, one in missing.items()]
        try:
            wait(sent)
        except KeyboardInterrupt:
            stop.set()
            stop.tell("interrupted; waiting for the calls in flight")
            raise
    failed = [error for one in sent if (error := one.exception())]
    for error in sorted(failed, key=lambda one: isinstance(one, StoppedError)):
        raise error
