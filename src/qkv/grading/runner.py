"""Grade a batch: the reference solution first, then every submission, here or on a Dask cluster.

One process writes; the others grade, each with a sandboxed worker of its own. What was graded before, by content, seed
and version, is kept, so that a batch that was cut off goes on where it stood.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

import qkv
from qkv.grading.results import Result
from qkv.grading.session import FaultError, Grader, Settings, StarvedError, result, solution
from qkv.grading.submissions import Submission, UnreadableError, Work, chapter_of, exercise_in, read
from qkv.grading.writing import Writer
from qkv.questions import questions_of

AHEAD = 4  # submissions for each job that are read before their turn, so that memory does not grow with the batch
TRIES = 2  # of a submission whose grading process ended
READ_MB = 1024  # beyond what Python and torch have, for reading one notebook
READ_SECONDS = 60
MAX_CODE = 2_000_000  # characters of code in a notebook
PR_SET_PDEATHSIG = 1

T = TypeVar("T")

_graders: dict[Settings, Grader] = {}  # of this process


class SetupError(Exception):
    """The reference solution did not get full marks here, so no grade would mean anything."""


def grader_of(settings: Settings) -> Grader:
    """This process's grader, which keeps its worker from one submission to the next."""
    if settings not in _graders:
        torch.set_num_threads(1)
        _graders[settings] = Grader(settings)
    return _graders[settings]


def grade_one(work: Work, settings: Settings, alone: bool = False) -> Result:
    """Grade a submission in this process.

    Raises:
        StarvedError: others took the processors that it needed; never where it is graded alone.
    """
    return grader_of(settings).grade(work, alone)


def prepare(settings: Settings) -> None:
    """Start this process's worker, so that all processes of a pool start at once."""
    grader = grader_of(settings)
    grader.close(grader.open(), ask_how=False)
    gc.collect()
    gc.freeze()  # torch's and the questions' own objects: to look at them again and again takes a tenth of the time


def rehearse(chapter: int, settings: Settings) -> str:
    """Grade the reference solution of a chapter; say what is wrong, nothing when it has full marks."""
    try:
        work = Work("reference", f"{chapter:02}", "", chapter, tuple(solution(chapter)))
    except FaultError as fault:
        return str(fault)
    graded = grade_one(work, settings, alone=True)
    if not graded.graded:
        return graded.reason
    lost = [f"{answer.id}: {answer.message}" for answer in graded.questions if answer.points != answer.max_points]
    return "; ".join(lost)


def grade_all(
    submissions: list[Submission],
    settings: Settings,
    reader: Reader,
    writer: Writer,
    jobs: int,
    scheduler: str | None = None,
    regrade: bool = False,
    on_graded: Callable[[Result, bool], None] = lambda result, kept: None,
) -> list[Result]:
    """Grade, write each result as it comes, and then the sheets and the report. Gives the results, in order.

    Raises:
        SetupError: the reference solution does not get full marks here.
    """
    done: dict[int, Result] = {}

    def to_do() -> Iterator[tuple[int, Work]]:
        """Read submissions; what needs no grading is done at once."""
        for i, submission in enumerate(submissions):
            try:
                work = reader.read(submission)
            except UnreadableError as why:
                settle(i, unreadable(submission, settings, str(why)))
                continue
            found = (work.student, work.notebook, work.sha256, qkv.__version__)
            kept = None if regrade else writer.earlier_result(*found, unsafe=not settings.safe)
            if kept is not None:
                done[i] = replace(kept, source="\n\n".join(work.sources))
                on_graded(done[i], True)
                continue
            yield i, work

    def settle(i: int, graded: Result) -> None:
        writer.write(graded)
        done[i] = graded
        on_graded(graded, False)

    pool = _Cluster(scheduler, settings) if scheduler else _Local(jobs, settings)
    with pool:
        for i, graded in pool.results(_rehearsed(to_do(), pool)):
            settle(i, graded)
    results = [done[i] for i in sorted(done)]
    writer.finish(results)
    return results


def _rehearsed(works: Iterable[tuple[int, Work]], pool: _Local | _Cluster) -> Iterator[tuple[int, Work]]:
    """Let a chapter's first submission through when the reference solution has passed."""
    sound: set[int] = set()
    for i, work in works:
        if work.chapter not in sound:
            wrong = pool.rehearse(work.chapter)
            if wrong:
                raise SetupError(f"the reference solution of chapter {work.chapter} does not get full marks: {wrong}")
            sound.add(work.chapter)
        yield i, work


def unreadable(submission: Submission, settings: Settings, why: str) -> Result:
    """The result of a file that is no notebook: a person should look, and it is no zero."""
    work = Work(submission.student, submission.notebook, "", 0, ())
    try:
        questions = list(questions_of(chapter_of(submission.notebook, ())).values())
    except UnreadableError:
        questions = []
    return result(work, settings, questions, [], why)


def ended(work: Work, settings: Settings, why: str) -> Result:
    """The result of a submission whose grading ended again and again."""
    questions = list(questions_of(work.chapter).values())
    return result(work, settings, questions, [], why)


class Reader:
    """Reads notebooks in a process of its own, which is held to limits: a file may be made to take much to read."""

    def __init__(self) -> None:
        self.executor = self.fresh()

    def fresh(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, mp_context=context, initializer=limit_reading, initargs=(os.getpid(),))

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)

    def read(self, submission: Submission) -> Work:
        """Read a submission.

        Raises:
            UnreadableError: it is no notebook of this course, or takes too much to read.
        """
        return self._do(read_bounded, submission)

    def exercise_in(self, path: Path, stem: str) -> str:
        """The name of the exercise that a file holds; its own where the file takes too much to read."""
        try:
            return self._do(exercise_in, path, stem)
        except UnreadableError:
            return stem

    def _do(self, function: Callable[..., T], *about: Any) -> T:
        for _ in range(TRIES):
            try:
                return self.executor.submit(function, *about).result(READ_SECONDS)
            except MemoryError:
                why = f"it takes more than {READ_MB} MB to read."
                break
            except TimeoutError:
                why = f"it takes more than {READ_SECONDS} seconds to read."
                self.start_again()
                break
            except BrokenProcessPool:
                why = "Python was stopped while it was read, twice."
                self.start_again()
        raise UnreadableError(why)

    def start_again(self) -> None:
        for process in list(self.executor._processes.values()):
            process.kill()
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.fresh()


def read_bounded(submission: Submission) -> Work:
    """Read a submission whose code is not longer than anybody writes."""
    work = read(submission)
    if sum(map(len, work.sources)) > MAX_CODE:
        raise UnreadableError(f"it has more than {MAX_CODE // 10**6} million characters of code.")
    return work


def limit_reading(parent: int) -> None:
    """Hold this process to its memory."""
    end_with(parent)
    with contextlib.suppress(OSError, ValueError):
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + READ_MB * 2**20,) * 2)


class _Local:
    """A pool of processes on this machine."""

    def __init__(self, jobs: int, settings: Settings) -> None:
        self.jobs, self.settings = jobs, settings
        self.executor = self.fresh()

    def fresh(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),))
        for _ in range(self.jobs):
            pool.submit(prepare, self.settings)
        return pool

    def __enter__(self) -> _Local:
        return self

    def __exit__(self, *error: object) -> None:
        self.executor.shutdown(wait=error[0] is None, cancel_futures=True)

    def rehearse(self, chapter: int) -> str:
        return self.executor.submit(rehearse, chapter, self.settings).result()

    def results(self, works: Iterable[tuple[int, Work]]) -> Iterator[tuple[int, Result]]:
        """Give results as they come. A process that ends takes only what it was doing, and that is tried again."""
        tries: dict[int, int] = {}
        running: dict[Future[Result], tuple[int, Work]] = {}
        source = iter(works)
        again: list[tuple[int, Work]] = []
        starved: list[tuple[int, Work]] = []
        while True:
            while len(running) < AHEAD * self.jobs:
                following = again.pop() if again else next(source, None)
                if following is None:
                    break
                running[self.executor.submit(grade_one, following[1], self.settings)] = following
            if not running and not starved:
                return
            if not running:  # nothing else is graded any more
                following = starved.pop()
                running[self.executor.submit(grade_one, following[1], self.settings, alone=True)] = following
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                i, work = running.pop(future)
                try:
                    yield i, future.result()
                except StarvedError:
                    starved.append((i, work))
                except BrokenProcessPool:
                    again += [(i, work), *running.values()]
                    running.clear()
                    self.executor = self.fresh()
                    tries[i] = tries.get(i, 0) + 1
                    break
            for i, work in [item for item in again if tries.get(item[0], 0) >= TRIES]:
                again.remove((i, work))
                yield i, ended(work, self.settings, "the grading process ended while this was graded, twice")


class _Cluster:
    """A Dask cluster. The sandbox is on its workers; what a lost worker was doing, another does again."""

    def __init__(self, address: str, settings: Settings) -> None:
        from distributed import Client

        self.client = Client(address, set_as_default=False)
        self.settings = settings

    def __enter__(self) -> _Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()

    def rehearse(self, chapter: int) -> str:
        return str(self.client.submit(rehearse, chapter, self.settings, pure=False).result())

    def results(self, works: Iterable[tuple[int, Work]]) -> Iterator[tuple[int, Result]]:
        from distributed import as_completed

        source = iter(works)
        running: dict[Any, tuple[int, Work]] = {}
        starved: list[tuple[int, Work]] = []
        with self.client.as_current():
            completed = as_completed([])
        while True:
            while len(running) < AHEAD * max(1, sum(self.client.ncores().values())):
                following = next(source, None)
                if following is None:
                    break
                future = self.client.submit(grade_one, following[1], self.settings, pure=False)
                running[future.key] = following
                completed.add(future)
            if not running and not starved:
                return
            if not running:  # nothing else is graded any more
                following = starved.pop()
                future = self.client.submit(grade_one, following[1], self.settings, alone=True, pure=False)
                running[future.key] = following
                completed.add(future)
            future = next(completed)
            i, work = running.pop(future.key)
            error = future.exception() if future.status == "error" else None
            if isinstance(error, StarvedError):
                starved.append((i, work))
                continue
            yield i, future.result() if error is None else ended(work, self.settings, f"on the cluster: {error}")


def end_with(parent: int) -> None:
    """Let a process of the pool end when the batch is killed: nothing is left running."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def default_jobs() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
