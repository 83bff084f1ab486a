"""Grade a batch: the reference solution first, then every submission, here or on a Dask cluster.

One process writes the results. The others grade, each with its own sandboxed worker. A notebook that was already
graded with the same content, seed and rules is not graded again, so an interrupted batch continues where it stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
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
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, TypeVar

import torch

from qkv.grading.files import UnreadableError
from qkv.grading.results import Result
from qkv.grading.roster import NO_ROSTER, Roster
from qkv.grading.session import AgainError, FaultError, Grader, Settings, result, solution_cells
from qkv.grading.sheets import Class
from qkv.grading.submissions import Submission, Work, chapter_of, read
from qkv.grading.writing import Writer
from qkv.questions import questions_of
from qkv.words import language, speak, t

AHEAD = 4  # submissions for each job that are in the queue at a time, so that memory does not grow with the batch
TRIES = 2  # to grade a submission whose grading process ended unexpectedly
READ_MB = 1024  # to read one notebook, in addition to what Python and torch need
READ_SECONDS = 60  # to read one notebook
MAX_CODE = 2_000_000  # characters of code in a notebook
# The processes of the pools are forks of one new process, which has imported this module and torch, and nothing else: a
# fork takes a hundredth of the time of an import, and has no threads, no secret and no result of the process that asks.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])

T = TypeVar("T")

_graders: dict[Settings, Grader] = {}  # cache of this process, for `grader_of`


class SetupError(Exception):
    """The reference solution did not get full marks on this machine, so no grade could be trusted."""


def grader_of(settings: Settings) -> Grader:
    """Return this process's grader with these settings, which keeps its worker from one submission to the next.

    The first call makes it, and sets torch to one thread.
    """
    if settings not in _graders:
        torch.set_num_threads(1)
        _graders[settings] = Grader(settings)
    return _graders[settings]


def grade_one(work: Work, settings: Settings, alone: bool = False) -> Result:
    """Grade a submission in this process, which from then on speaks the language of the settings.

    Raises:
        AgainError: the machine may be why it cannot be graded; never if `alone`.
    """
    if language() != settings.language:  # on a cluster, the worker does not have the environment of the command
        speak(settings.language)
    return grader_of(settings).grade(work, alone)


def start_worker(settings: Settings) -> None:
    """Start this process's worker before its first submission, so that the workers of a pool start in parallel.

    Objects made so far are then left out of garbage collection.

    Raises:
        CrashError: the worker cannot be started.
    """
    grader = grader_of(settings)
    grader.close(grader.open(), want_reason=False)
    gc.collect()
    gc.freeze()  # or each garbage collection would visit all objects of torch and of the questions: 10 % of the time


def check_reference(chapter: int, settings: Settings) -> str:
    """Grade the reference solution of a chapter. Return what is wrong, or "" if it gets full marks."""
    try:
        work = Work("reference", f"{chapter:02}", "", chapter, tuple(solution_cells(chapter)))
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
    roster: Roster = NO_ROSTER,
    on_graded: Callable[[Result, bool], None] = lambda result, reused: None,
    on_stale: Callable[[Result], None] = lambda earlier: None,
) -> list[Result]:
    """Grade all submissions, write each result at once, and at the end write the tables and the report.

    Args:
        submissions: the notebooks
        settings: how to grade them
        reader: reads the notebooks
        writer: writes the results
        jobs: the number of processes that grade on this machine
        scheduler: the address of a Dask cluster that grades instead
        regrade: whether to grade notebooks again that have a result already
        roster: the list of the class
        on_graded: called with each result, and whether it is from an earlier run
        on_stale: called with each earlier result for the same file and seed that other rules gave

    Returns:
        the results, in the order of the submissions

    Raises:
        SetupError: the reference solution does not get full marks on this machine.
        OSError: a file or the gradebook cannot be written.
    """
    done: dict[int, Result] = {}

    def works_to_grade() -> Iterator[tuple[int, Work]]:
        """Read the submissions and yield those to grade, with their index; finish the others at once."""
        for i, submission in enumerate(submissions):
            try:
                work = reader.read(submission)
                if settings.per_student:
                    work = replace(work, names=roster.names_of(submission.student, submission.owner))
            except UnreadableError as why:
                finish(i, unreadable_result(submission, settings, str(why)))
                continue
            earlier = None if regrade else writer.earlier_result(work.student, work.notebook)
            if earlier is not None and (earlier.sha256, earlier.seed) == (work.sha256, settings.seed):
                if earlier.version == settings.version:
                    done[i] = writer.keep(replace(earlier, source="\n\n".join(work.sources)))
                    on_graded(done[i], True)
                    continue
                on_stale(earlier)
            yield i, work

    def finish(i: int, graded: Result) -> None:
        done[i] = writer.write(graded)
        on_graded(done[i], False)

    pool = _ClusterPool(scheduler, settings) if scheduler else _LocalPool(jobs, settings)
    with pool:
        for i, graded in pool.results(_after_reference_check(works_to_grade(), pool)):
            finish(i, graded)
    results = [done[i] for i in sorted(done)]
    writer.finish(results, class_of(submissions, roster))
    return results


def class_of(submissions: Iterable[Submission], roster: Roster) -> Class:
    """Return what the submissions' places and the list of the class say about the learners."""
    owned = [(one, one.owner) for one in submissions if one.owner]
    late = frozenset((one.student, one.notebook) for one, owner in owned if owner.late)
    return Class(roster, {one.student: owner for one, owner in owned}, late)


def _after_reference_check(
    works: Iterable[tuple[int, Work]], pool: _LocalPool | _ClusterPool
) -> Iterator[tuple[int, Work]]:
    """Yield the submissions. Before the first one of a chapter, check that the reference solution passes.

    Raises:
        SetupError: it does not get full marks.
    """
    sound: set[int] = set()
    for i, work in works:
        if work.chapter not in sound:
            wrong = pool.check_reference(work.chapter)
            if wrong:
                text = t(
                    "the reference solution of chapter {n} does not get full marks: {wrong}",
                    n=work.chapter,
                    wrong=wrong,
                )
                raise SetupError(text)
            sound.add(work.chapter)
        yield i, work


def unreadable_result(submission: Submission, settings: Settings, why: str) -> Result:
    """Return the result of a file that cannot be read as a notebook: ungraded, so that an instructor looks at it."""
    work = Work(submission.student, submission.notebook, "", 0, ())
    try:
        questions = list(questions_of(chapter_of(submission.notebook, ())).values())
    except UnreadableError:
        questions = []
    return result(work, settings, questions, [], why)


def failed_result(work: Work, settings: Settings, why: str) -> Result:
    """Return the result of a submission that could not be graded because its process ended or the cluster failed."""
    questions = list(questions_of(work.chapter).values())
    return result(work, settings, questions, [], why)


class Reader:
    """A separate process with limits that reads notebooks: a file can be made so that reading it takes gigabytes."""

    def __init__(self) -> None:
        self.executor = self.new_executor()

    def new_executor(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, mp_context=PROCESSES, initializer=limit_reading)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)

    def read(self, submission: Submission) -> Work:
        """Read a submission.

        Raises:
            UnreadableError: the file is not a notebook of this course, or takes too much memory or time to read.
        """
        return self.run(read_bounded, submission)

    def run(self, function: Callable[..., T], *about: Any) -> T:
        """Call a function that reads files in the process, and return its result.

        Whatever goes wrong there is the file's fault, and is said of it. After too much memory or time, it is tried
        once more in a new process.

        Raises:
            UnreadableError: the function raised an error, or took too much memory or time.
        """
        for _ in range(TRIES):
            try:
                return self.executor.submit(function, *about).result(READ_SECONDS)
            except UnreadableError:
                raise
            except MemoryError:
                why = t("it takes more than {n} MB to read.", n=READ_MB)
            except TimeoutError:
                why = t("it takes more than {n} seconds to read.", n=READ_SECONDS)
            except BrokenProcessPool:
                why = t("the process that read it ended unexpectedly, twice.")
            except Exception as error:
                raise UnreadableError(t("reading it failed ({why}).", why=type(error).__name__)) from None
            self.restart()  # a new process: the machine, or what an earlier file left in memory, may be the reason
        raise UnreadableError(why)

    def restart(self) -> None:
        """Kill the process that reads notebooks, and start another one."""
        for process in list(self.executor._processes.values()):
            process.kill()
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.new_executor()


def read_bounded(submission: Submission) -> Work:
    """Read a submission.

    Raises:
        UnreadableError: it cannot be read, or its code is longer than `MAX_CODE`.
    """
    work = read(submission)
    if sum(map(len, work.sources)) > MAX_CODE:
        raise UnreadableError(t("it has more than {n} million characters of code.", n=MAX_CODE // 10**6))
    return work


def limit_reading() -> None:
    """Limit the memory of this process, which reads notebooks, and make it end with the one that started it.

    The limit is READ_MB more than it has now. Where the system has no such limit, there is none.
    """
    end_with_parent()
    with contextlib.suppress(OSError, ValueError):
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + READ_MB * 2**20,) * 2)


class _LocalPool:
    """A pool of processes on this machine."""

    def __init__(self, jobs: int, settings: Settings) -> None:
        self.jobs, self.settings = jobs, settings
        self.executor = self.new_executor()

    def new_executor(self) -> ProcessPoolExecutor:
        """Return a pool of processes that each start a worker, and end with this process."""
        pool = ProcessPoolExecutor(self.jobs, mp_context=PROCESSES, initializer=end_with_parent)
        for _ in range(self.jobs):
            pool.submit(start_worker, self.settings)
        return pool

    def __enter__(self) -> _LocalPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.executor.shutdown(wait=error[0] is None, cancel_futures=True)

    def check_reference(self, chapter: int) -> str:
        return self.executor.submit(check_reference, chapter, self.settings).result()

    def results(self, works: Iterable[tuple[int, Work]]) -> Iterator[tuple[int, Result]]:
        """Yield each result with its index when it is ready.

        If a grading process ends unexpectedly, all submissions in the queue are graded again in a new pool. One during
        which it ends twice, or which raises an error, gets a result that says so. A notebook that the machine may have
        failed is graded again when nothing else runs.
        """
        tries: dict[int, int] = {}
        running: dict[Future[Result], tuple[int, Work]] = {}
        source = iter(works)
        again: list[tuple[int, Work]] = []
        for_later: list[tuple[int, Work]] = []
        while True:
            while len(running) < AHEAD * self.jobs:
                following = again.pop() if again else next(source, None)
                if following is None:
                    break
                running[self.executor.submit(grade_one, following[1], self.settings)] = following
            if not running and not for_later:
                return
            if not running:  # nothing else is being graded now
                following = for_later.pop()
                running[self.executor.submit(grade_one, following[1], self.settings, alone=True)] = following
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                i, work = running.pop(future)
                try:
                    yield i, future.result()
                except AgainError:
                    for_later.append((i, work))
                except BrokenProcessPool:
                    again += [(i, work), *running.values()]
                    running.clear()
                    self.executor = self.new_executor()
                    tries[i] = tries.get(i, 0) + 1
                    break
                except Exception as error:  # whatever it is, the others are graded
                    why = t("grading it failed: {why}", why=f"{type(error).__name__}: {error}")
                    yield i, failed_result(work, self.settings, why)
            for i, work in [item for item in again if tries.get(item[0], 0) >= TRIES]:
                again.remove((i, work))
                why = t("the grading process ended twice during this notebook")
                yield i, failed_result(work, self.settings, why)


class _ClusterPool:
    """A Dask cluster. Its workers need the sandbox. Dask repeats the tasks of a lost worker on another worker."""

    def __init__(self, address: str, settings: Settings) -> None:
        from distributed import Client

        self.client = Client(address, set_as_default=False)
        self.settings = settings

    def __enter__(self) -> _ClusterPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()

    def check_reference(self, chapter: int) -> str:
        return str(self.client.submit(check_reference, chapter, self.settings, pure=False).result())

    def results(self, works: Iterable[tuple[int, Work]]) -> Iterator[tuple[int, Result]]:
        """Grade on the cluster and yield each result, with its index, when it is there.

        A notebook that raises an error there gets a result that says so. One that the machine may have failed is graded
        again when nothing else runs.
        """
        from distributed import as_completed

        source = iter(works)
        running: dict[Any, tuple[int, Work]] = {}
        for_later: list[tuple[int, Work]] = []
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
            if not running and not for_later:
                return
            if not running:  # nothing else is being graded now
                following = for_later.pop()
                future = self.client.submit(grade_one, following[1], self.settings, alone=True, pure=False)
                running[future.key] = following
                completed.add(future)
            future = next(completed)
            i, work = running.pop(future.key)
            error = future.exception() if future.status == "error" else None
            if isinstance(error, AgainError):
                for_later.append((i, work))
                continue
            why = t("on the cluster: {error}", error=error)
            yield i, future.result() if error is None else failed_result(work, self.settings, why)


def end_with_parent() -> None:
    """Let this process of a pool end when the one that started it ends, and ignore the keyboard's interrupt.

    Both hold an end of a pipe. When the other end is closed, Linux itself kills this process, whatever it computes. If
    that has happened already, this process ends here. On other systems only the interrupt is ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if sys.platform.startswith("linux") and parent is not None:
        fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, os.O_ASYNC)
        if wait_for([parent.sentinel], 0):  # it has ended already
            os._exit(1)


def default_jobs() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
