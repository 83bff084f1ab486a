"""Grade one submission: the notebook runs in a sandboxed session, and its answers are judged in this process.

This is the trusted half. It draws the inputs, sends them to the session, and compares the results. The session sees
only the inputs. Each reply is first validated by the schema that belongs to the request (`replies`).
"""

from __future__ import annotations

import contextlib
import hashlib
import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import qkv
from qkv.grading import replies, sandbox
from qkv.grading.replies import Reply
from qkv.grading.results import Answer, Result, error_of_cell
from qkv.grading.rules import version_of_rules
from qkv.grading.submissions import Work, code_cells, solution_file
from qkv.questions import questions_of
from qkv.questions.engine.judging import Verdict, judge, verdict_on_stopped, verdict_on_unfit
from qkv.questions.engine.question import Question
from qkv.questions.shared.personal import same_name
from qkv.sandboxed import wire
from qkv.sandboxed.cases import Case, Provided, shared_objects
from qkv.sandboxed.hidden import Bench, Hidden, Made
from qkv.sandboxed.observations import combine_runs
from qkv.sandboxed.recording import describe_error
from qkv.sandboxed.time_limit import CLOCK_FACTOR, TimeUp, at_most
from qkv.words import ENGLISH, mark, sentences, t, translated

GRACE = 2.0  # seconds past its time limit after which a session is stopped from outside
TOTAL_FACTOR = (
    8  # a whole notebook may take this many times the limit of one question, in processor time; twice that by the clock
)
WORKER_ENDED = mark("the worker ended")
CRASHES = 10  # sessions that may crash before the rest of a notebook is skipped
POLL_SECONDS = 0.2  # between two measurements of the processor time of a session that has not replied yet
START_TRIES = 3  # to start a session, each in a new worker
REFERENCE_SECONDS = 60  # after the reference passed, it is not tried again for this long
START_SECONDS = 20.0  # for a new session to reply to the greeting
MAX_VERDICTS = 10_000  # verdicts on one question that are cached
SEND_SECONDS = 20.0  # for a session to read a message
CALL_SECONDS = 5.0  # for one call of a hidden implementation, which takes milliseconds
FRAME_SECONDS = 10.0  # from the first byte of a reply to its last
MAX_HELD = 16 * 2**20  # bytes of a reply that is held until the notebook has ended; a larger one is judged at once


T = TypeVar("T")


class FaultError(Exception):
    """The grader itself failed. The submission is not graded, and loses no points."""


class AgainError(Exception):
    """The machine may be why this failed: it was busy, or had no memory. The submission is graded again, alone."""


class CrashError(Exception):
    """The session ended during a request, did not reply in time, or sent an invalid reply."""


class UnjudgedError(Exception):
    """What an answer did could not be judged."""


class LostWorkerError(CrashError):
    """The worker ended during a request, and with it the session. Anything on the machine can have stopped it."""


@dataclass(frozen=True)
class CellError:
    """How a cell failed: what it raised, or why it was stopped."""

    text: str
    stopped: bool

    def told(self, number: int) -> str:
        """Return a sentence about the cell of this number: it was stopped, or what it raised."""
        if self.stopped:
            return t("Code cell {n} was stopped: {why}.", n=number, why=self.text)
        return t("Code cell {n} raised {error}.", n=number, error=error_of_cell(self.text))

    def told_of_notebook(self, number: int) -> str:
        """Return the same as `told`, for a place after a sentence about the notebook: "Its code cell …"."""
        if self.stopped:
            return t("Its code cell {n} was stopped: {why}.", n=number, why=self.text)
        return t("Its code cell {n} raised {error}.", n=number, error=error_of_cell(self.text))


@dataclass(frozen=True)
class Settings:
    """The settings of a batch.

    Attributes:
        seed: with the secret, it decides the inputs of every question
        secret: random bits that only the instructor has, so that no code can try all seeds
        per_student: whether questions with numbers of one's own want those of the student's name
        roster: what tells one list of the class from another, if names count
        language: the language of the messages
        timeout: seconds of processor time for each question, and for each cell; four times that by the clock
        memory: MB that a submission may use, in addition to what torch needs
    """

    seed: int
    timeout: float = 10.0
    memory: int = 1024
    secret: str = ""
    per_student: bool = False
    roster: str = ""
    language: str = ENGLISH

    @property
    def version(self) -> str:
        """The version of all that decides a mark, besides the notebook and the seed."""
        language = [] if self.language == ENGLISH else [self.language]
        return version_of_rules(self.timeout, self.memory, self.secret, self.per_student, self.roster, *language)


@dataclass
class Grader:
    """A grader of submissions, one after another, in a worker that it starts when one is needed."""

    settings: Settings
    worker: sandbox.Worker | None = None
    alone: bool = False  # whether nothing else is graded at the same time
    cases: dict[str, list[Case]] = field(default_factory=dict)
    encoded_cases: dict[str, list[wire.Encoded]] = field(default_factory=dict)  # by question id
    verdicts: dict[str, dict[bytes, Verdict]] = field(default_factory=dict)  # by question id and fingerprint
    reference_passed: dict[str, float] = field(default_factory=dict)  # the time of its last pass, by question id

    def grade(self, work: Work, alone: bool = False) -> Result:
        """Grade a submission.

        Args:
            work: the submission
            alone: whether nothing else is graded at the same time

        Raises:
            AgainError: the machine may be why it cannot be graded; never if `alone`.
        """
        self.alone = alone
        questions = list(questions_of(work.chapter).values())
        attempt = _Attempt(self, work.sources, questions, names=work.names)
        try:
            marks, reason = attempt.run(), ""
        except FaultError as fault:
            if not alone:
                raise AgainError from fault
            marks, reason = [], str(fault)
        return result(work, self.settings, questions, marks, reason, tuple(attempt.missing), attempt.failed_cells())

    def reference_passes(self, question: Question) -> bool:
        """Check whether the reference solution gets full points for this question on this machine.

        It runs in a new worker, for which the present one is ended, unless it passed less than `REFERENCE_SECONDS` ago.

        Raises:
            AgainError: its session waited for a processor, and other notebooks are graded at the same time.
        """
        if time.monotonic() - self.reference_passed.get(question.id, -REFERENCE_SECONDS) < REFERENCE_SECONDS:
            return True
        self.stop()
        with contextlib.suppress(FaultError):
            chapter = int(question.id.partition(".")[0])
            attempt = _Attempt(self, solution_cells(chapter), [question], trusted=True)
            if attempt.run()[0].points == question.points:
                self.reference_passed[question.id] = time.monotonic()
                return True
        return False

    def cases_of(self, question: Question) -> list[Case]:
        """Return the question's inputs, drawn once. They depend only on the question, the seed and the secret."""
        if question.id not in self.cases:
            settings = self.settings
            drawn = hashlib.sha256(f"{settings.secret}/{settings.seed}/{question.id}".encode()).digest()
            self.cases[question.id] = question.fresh_cases(int.from_bytes(drawn, "big"))
        return self.cases[question.id]

    def encoded_cases_of(self, question: Question) -> list[wire.Encoded]:
        """Return the question's inputs, encoded once for all sessions: a list of cases for each message.

        All cases are in one message; only a test of implementations gets one message for each case.
        """
        if question.id not in self.encoded_cases:
            cases = [strip_case(case) for case in self.cases_of(question)]
            messages = [[case] for case in cases] if question.of_implementations else [cases]
            self.encoded_cases[question.id] = [wire.preencode(some) for some in messages]
        return self.encoded_cases[question.id]

    def known_verdicts(self, question: Question) -> dict[bytes, Verdict]:
        """Return the cached verdicts on this question, by the fingerprint of the reply. New ones are added to it.

        Equal replies about equal cases get equal verdicts. If there are too many, all are dropped first.
        """
        known = self.verdicts.setdefault(question.id, {})
        if len(known) >= MAX_VERDICTS:
            known.clear()
        return known

    def open(self) -> socket.socket:
        """Open a session, and start a worker first if there is none.

        Raises:
            CrashError: the session or the worker cannot be started; the next call starts a new worker.
        """
        try:
            if self.worker is None:
                self.worker = sandbox.start(self.settings.memory)
            return self.worker.open_session(self.settings.memory)
        except (OSError, sandbox.UnavailableError) as error:
            self.stop()
            raise CrashError(t("no worker can be started: {error}", error=error)) from None

    def close(self, channel: socket.socket, want_reason: bool) -> str:
        """End a session, and also the worker if it does not reply.

        Return why the session ended; without `want_reason`, "closed" in any case but the worker's end.
        """
        try:
            assert self.worker is not None
            self.worker.close_session(channel)
            return self.worker.end_of_session() if want_reason else "closed"
        except (OSError, TimeoutError):
            self.stop()
            return WORKER_ENDED

    def stop(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.stop()
            self.worker = None


class _Attempt:
    """The grading of one notebook: usually in one session, and in a new session after each crash.

    Answers are judged when the notebook has ended. So no code in it can try one answer after the other, and tell from
    the time that a verdict takes which of them is right.
    """

    def __init__(
        self, grader: Grader, sources: Sequence[str], questions: Sequence[Question], trusted: bool = False,
        names: tuple[str, ...] = (), only_check: int | None = None,
    ) -> None:  # fmt: skip
        self.grader = grader
        self.sources = sources
        self.questions = list(questions)
        self.trusted = trusted  # for the reference solution: a crash does not lead to a test of the reference
        self.names = names  # of the learner whose numbers are wanted; empty for those of any name
        self.only_check = only_check  # which check of each question is observed; None for every one
        self.timeout = grader.settings.timeout
        self.seconds_left = TOTAL_FACTOR * max(self.timeout, 1.0)  # of processor time
        self.deadline = time.monotonic() + 2 * self.seconds_left  # extended by the time of workers and the reference
        self.crashes = 0  # sessions that crashed
        self.lost: set[int | str] = set()  # numbers of the cells and ids of the questions that lost their worker once
        self.skipped: set[int] = set()  # numbers of the cells that ended a session
        self.checked = (0, 0)  # the last check that was marked: its cell, and which check of that cell it was
        self.errors: dict[int, CellError] = {}  # how cells that ran failed
        self.missing: dict[str, None] = {}  # the modules that could not be imported, in order
        self.checks: Counter[str] = Counter()  # how many checks asked about each question
        self.handing: set[str] = set()  # the questions so far that passed objects to their answers
        self.after_handing: set[str] = set()  # the questions whose last answer came after those of `handing`
        self.seen: dict[str, tuple[replies.ObserveReply, float]] = {}  # by question: its last answer, and the seconds
        self.marks: dict[str, Answer] = {}  # the grade of each question, from its last check

    def run(self) -> list[Answer]:
        """Run the cells, mark every question, and return the grades in the order of the questions.

        Questions that were not reached get 0 points.

        Raises:
            FaultError: something failed that fails for the reference solution too.
            AgainError: the session waited for a processor, and other notebooks are graded at the same time.
        """
        done = False
        while not done and not self.limit_reached():
            with self.session() as session:
                done = self.run_cells(session) and self.mark_rest(session)
        for question in self.questions:
            if question.id in self.seen:
                self.judge(question)
            if self.may_be_borrowed(question):
                self.marks[question.id] = self.mark_of_last_check(question)
        limit, not_reached = self.limit_reached(), self.unmarked()
        if not_reached:
            self.raise_fault_unless_reference_passes(not_reached[0], limit)
        for question in not_reached:
            text = t("This question was not reached: {limit} by the cells and answers before it.", limit=limit)
            self.marks[question.id] = _to_answer(question, Verdict("error", text), 0.0)
        return [self.marks[question.id] for question in self.questions]

    def unmarked(self) -> list[Question]:
        return [question for question in self.questions if question.id not in {**self.marks, **self.seen}]

    def may_be_borrowed(self, question: Question) -> bool:
        """Return whether an answer has passed that code can have made of what earlier checks passed to answers.

        For a test, that is what every implementation returns, from which code learns which ones are right; for the
        cache of 7.1, the caches of 7.2 and 7.7.
        """
        mark = self.marks.get(question.id)  # None if a limit was reached before it
        if self.only_check is not None or mark is None or mark.points == 0:
            return False
        knows_implementations = question.of_implementations and self.checks[question.id] > 1
        return knows_implementations or (question.handed_over and question.id in self.after_handing)

    def mark_of_last_check(self, question: Question) -> Answer:
        """Return the grade of an answer in a run of its own, in which only its last check is observed."""
        last = self.checks[question.id]
        return _Attempt(self.grader, self.sources, [question], self.trusted, self.names, only_check=last).run()[0]

    def limit_reached(self) -> str:
        """Return which limit of the whole notebook is reached, or "" if it may go on."""
        if self.seconds_left <= 0 or time.monotonic() > self.deadline:
            return t("the time for the whole notebook was used up")
        if self.crashes >= CRASHES:
            return t("Python was stopped {n} times", n=CRASHES)
        return ""

    def ask(
        self, session: _Session, schema: Callable[[Reply], T], most: float | None = None, **message: Any
    ) -> T:  # fmt: skip
        """Send a request to a session, and return the reply as read by `schema`, within the time that is left.

        `most` is the processor time for it, in seconds; by default that of a question.

        Raises:
            CrashError: there is no reply, or it does not fit the schema.
            AgainError: as in `count_time`.
        """
        return self.count_time(session, lambda seconds: session.ask(seconds, schema, **message), most)

    def count_time(self, session: _Session, ask: Callable[[float], T], most: float | None = None) -> T:
        """Call `ask` with the seconds that the session may take, subtract the time that it took, and return its result.

        The seconds are `most`, or by default the limit for a question, but no more than are left for the notebook, and
        at least 0.05.

        Raises:
            AgainError: the session waited for a processor, and other notebooks are graded at the same time.
        """
        try:
            return ask(max(0.05, min(self.timeout if most is None else most, self.seconds_left)))
        finally:
            self.seconds_left -= session.used
            if session.starved and not self.grader.alone:
                raise AgainError

    @contextlib.contextmanager
    def session(self) -> Iterator[_Session]:
        """Start a session, and close it at the end of the block. A FaultError is raised if none can be started."""
        session = self.start_session()
        try:
            yield session
        finally:
            session.close()

    def start_session(self) -> _Session:
        """Start a session and wait until it replies to a greeting.

        The notebook's deadline is moved by the time that this takes.

        Raises:
            FaultError: no session replied. It had run nothing of the notebook, so the notebook is not the cause.
        """
        why, started = "", time.monotonic()
        for _ in range(START_TRIES):
            try:
                session = _Session(self.grader)
                session.ask(START_SECONDS, replies.greeting, do="greet", version=qkv.__version__)
                self.deadline += time.monotonic() - started
                return session
            except CrashError as crash:
                why = str(crash)
                self.grader.stop()
        raise FaultError(t("no session could be started: {why}", why=translated(why)))

    def run_cells(self, session: _Session) -> bool:
        """Run the notebook's cells. Return False if the session ended or a limit was reached before the last cell.

        Errors are those of `run`.
        """
        for number, source in enumerate(self.sources, 1):
            if self.limit_reached():
                return False
            if number not in self.skipped and source.strip():
                self.run_cell(session, number, source)
            if session.ended:
                return False
        return True

    def run_cell(self, session: _Session, number: int, source: str) -> None:
        """Run a cell, and mark the answers that are passed to its checks.

        A cell that ends the session is skipped in later sessions, if it is to blame. After each check, this process
        gives the cell its full time again; the timers inside the session stop it earlier. Errors are those of `run`.
        """
        try:
            reply = self.ask(session, replies.cell, do="cell", source=source, number=number)
            asked, checks = session.number, 0
            while isinstance(reply, replies.Check):
                checks += 1
                self.check(session, reply.question, (number, checks))
                if session.ended or self.limit_reached():
                    session.close()
                    return
                reply = self.count_time(session, lambda seconds: session.read_reply(asked, seconds, replies.cell))
            self.errors.pop(number, None)
            if reply.error:
                self.errors[number] = CellError(reply.error, stopped=False)
            self.missing.update(dict.fromkeys(reply.missing))
        except CrashError as crash:
            if self.is_to_blame(crash, number):
                self.skipped.add(number)
                self.errors[number] = CellError(translated(str(crash)), stopped=True)

    def is_to_blame(self, crash: CrashError, running: int | str) -> bool:
        """Count a crash, and return whether what was running is to blame.

        A cell or an answer whose worker ended is not, the first time: the next session tries it again.

        Args:
            crash: the crash
            running: the number of the cell that was running, or the id of the question whose answer was
        """
        self.crashes += 1
        first_loss = isinstance(crash, LostWorkerError) and running not in self.lost
        if first_loss:
            self.lost.add(running)
        return not first_loss

    def check(self, session: _Session, asked: str, place: tuple[int, int]) -> None:
        """Mark the answer that was passed to a check, unless an earlier session already came this far and marked it.

        A question that is not graded here is passed over, and so is a check that is not the only one to be observed.
        Errors are those of `run`.

        Args:
            session: the session, which waits in the check
            asked: the id of the question
            place: the number of the cell, and which check of that cell this is
        """
        question = next((question for question in self.questions if question.id == asked), None)
        if question is None or place <= self.checked:
            session.send({"do": "nothing"})
            return
        number = self.checks[question.id] + 1
        if self.only_check not in (None, number):
            session.send({"do": "nothing"})
        elif not self.mark(session, question):
            return
        self.checks[question.id], self.checked = number, place

    def mark_rest(self, session: _Session) -> bool:
        """Mark the questions that no check asked about, and return whether all are marked.

        It stops early if an answer ends the session or a limit is reached. Errors are those of `run`.
        """
        for question in self.unmarked():
            if session.ended or self.limit_reached():
                return False
            self.mark(session, question)
        return not self.unmarked()

    def mark(self, session: _Session, question: Question) -> bool:
        """Let the session run an answer, and keep its reply to be judged, in the place of an earlier one.

        If the answer ends the session, it gets 0 points, unless the reference does too: a FaultError. Return False if
        it has to be tried again in the next session, because the worker ended, else True. An AgainError is raised as in
        `run`.
        """
        started = time.monotonic()
        if self.handing - {question.id}:
            self.after_handing.add(question.id)
        if any(isinstance(one, Provided) for case in self.grader.cases_of(question) for one in shared_objects(case)):
            self.handing.add(question.id)
        try:
            seen = self.observe(session, question)
        except CrashError as crash:
            if not self.is_to_blame(crash, question.id):
                return False
            session.close()  # the worker has one session at a time, and the reference needs it
            self.raise_fault_unless_reference_passes(question, str(crash))
            verdict = Verdict(
                "error", t("Python was stopped while your answer ran: {why}.", why=translated(str(crash)))
            )
            self.seen.pop(question.id, None)
            self.marks[question.id] = _to_answer(question, verdict, time.monotonic() - started)
            return True
        self.marks.pop(question.id, None)
        self.seen[question.id] = seen, time.monotonic() - started
        if seen.kind == "known" or session.size > MAX_HELD:
            self.judge(question, session)
        return True

    def judge(self, question: Question, session: _Session | None = None) -> None:
        """Judge the last answer to a question, and store the grade.

        If the judge fails, it gets 0 points, or a FaultError is raised if the reference does not pass either. The
        session, if given, is closed for that. An AgainError can come from `reference_passes`.
        """
        seen, seconds = self.seen.pop(question.id)
        started = time.monotonic()
        try:
            verdict = self.verdict(question, seen)
        except UnjudgedError as error:
            if session is not None:
                session.close()
            self.raise_fault_unless_reference_passes(question, str(error))
            text = t("What your answer returned could not be compared with what was expected.")
            verdict = Verdict("error", text)
        self.marks[question.id] = _to_answer(question, verdict, seconds + time.monotonic() - started)

    def raise_fault_unless_reference_passes(self, question: Question, crash: str) -> None:
        """Raise FaultError if the reference solution fails too: then the answer did not cause the crash.

        The time of the reference does not count for the notebook. For the reference solution itself, nothing is tried.
        `crash` says what happened. An AgainError can come from `reference_passes`.
        """
        started = time.monotonic()
        passes = self.trusted or self.grader.reference_passes(question)
        self.deadline += time.monotonic() - started  # the reference's time is not the notebook's
        if not passes:
            raise FaultError(
                t(
                    "question {id}: {crash}; and the reference solution does not pass here either",
                    id=question.id,
                    crash=translated(crash),
                )
            )

    def observe(self, session: _Session, question: Question) -> replies.ObserveReply:
        """Return what an answer did.

        The answer is the argument of the check that runs, or if no cell runs, the value of the question's name. Errors
        are those of `ask`.
        """
        if question.of_implementations:
            return self.observe_test(session, question)
        cases = self.grader.cases_of(question)
        known = {} if self.checks[question.id] else self.known(question)  # it takes less time, which later code sees
        (encoded,) = self.grader.encoded_cases_of(question)
        return self.ask(
            session, lambda reply: replies.observed(reply, cases, question.gradients, known),
            do="observe", name=question.name, cases=encoded,
            gradients=question.gradients, more=False,
        )  # fmt: skip

    def observe_test(self, session: _Session, question: Question) -> replies.ObserveReply:
        """Return what a test said of each implementation. It gets the next one only when it has said what this one is.

        Else its code could find all of them in its own process, and compare what they return.

        Raises:
            CrashError: as in `ask`, or the replies are too large together.
            AgainError: as in `count_time`.
        """
        said: list[replies.ObserveReply] = []
        cases, left, size = self.grader.cases_of(question), self.timeout, 0
        for i, (case, encoded) in enumerate(zip(cases, self.grader.encoded_cases_of(question), strict=True)):
            schema = partial(replies.observed, cases=[case], gradients=question.gradients)
            reply = self.ask(
                session, schema, left, do="observe", name=question.name, cases=encoded,
                gradients=question.gradients, benches=benches_of([case]), more=i + 1 < len(cases),
            )  # fmt: skip
            said.append(reply)
            left -= max(session.used, session.passed() / CLOCK_FACTOR)  # both limits are for all of them together
            size += session.size
            if size > MAX_HELD:
                raise session.end(t("it returned too much"))
        return replies.joined(said)

    def known(self, question: Question) -> dict[bytes, Verdict]:
        """Return the known verdicts on a question, by the fingerprint of the reply.

        For numbers of one's own, where an equal reply may be right for another student, it is an empty dictionary.
        """
        personal = question.personal and self.names
        return {} if personal else self.grader.known_verdicts(question)

    def verdict(self, question: Question, seen: replies.ObserveReply) -> Verdict:
        """Return the verdict on an answer: for a reply that equals an earlier one, the known verdict.

        A new one is kept among the known ones, without its case and values, if the reply has a fingerprint.

        Raises:
            UnjudgedError: the judge failed.
        """
        known = self.known(question)
        if seen.fingerprint in known:
            return known[seen.fingerprint]
        verdict = self.verdict_on(question, self.grader.cases_of(question), seen)
        if seen.fingerprint:
            known[seen.fingerprint] = replace(verdict, case=None, value=None, want=None)  # drop the large tensors
        return verdict

    def verdict_on(self, question: Question, cases: list[Case], observed: replies.ObserveReply) -> Verdict:
        """Return the verdict on an answer from what the session observed.

        Raises:
            UnjudgedError: the judge failed. Code of the answer may have made up what it judged.
        """
        if observed.unfit is not None:
            verdict = verdict_on_unfit(observed.unfit, cases[0].wants_class)
            return (
                replace(verdict, message=self.missing_message(question))
                if observed.unfit.kind == "missing"
                else verdict
            )
        if observed.kind == "stopped":
            return verdict_on_stopped(self.timeout)
        try:
            observations = combine_runs(cases, observed.first, observed.again)
            verdict = judge(question, cases, observations)
            if question.personal and self.names and verdict.status == "passed":
                return _of_own_numbers(verdict, self.names, observations[0].results[0][0])
            return verdict
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UnjudgedError(t("it could not be judged: {why}", why=why)) from error

    def failed_cells(self) -> list[str]:
        """Return a sentence about each cell that failed."""
        return [error.told(number) for number, error in sorted(self.errors.items())]

    def missing_message(self, question: Question) -> str:
        """Return the message for a missing answer.

        It also names a cell that failed, if possible one with the answer's name.
        """
        text = t("No `{name}` is defined in this notebook.", name=question.name)
        failed = sorted(self.errors)
        naming = [number for number in failed if question.name in self.sources[number - 1]]
        number = next(iter([*naming, *failed]), None)
        return text if number is None else sentences(text, self.errors[number].told_of_notebook(number))


def _of_own_numbers(verdict: Verdict, names: Sequence[str], who: str) -> Verdict:
    """Return the verdict on a right answer, or "failed" if `who`, the name it returned, is none of `names`.

    These are the student's names: each learner's numbers follow from a name.
    """
    if any(same_name(name, who) for name in names):
        return verdict
    text = t(
        "Right for “{who}”. In this class your numbers are those of “{name}”: return this name.", who=who, name=names[0]
    )
    return Verdict("failed", text, "numbers-of-another-name")


class _Session:
    """The grader's end of a session: it sends requests and reads replies, each with the number of the request.

    Attributes:
        number: the number of the last request
        size: the bytes of the last reply
        used: seconds of processor time for the last reply; by the clock if the reply came at once
        starved: whether the last reply took too long by the clock because the session waited for a processor
        ended: why the session ended; empty while it runs
    """

    def __init__(self, grader: Grader) -> None:
        self.grader = grader
        self.channel = grader.open()
        self.number = 0
        self.size = 0
        self.used = 0.0
        self.starved = False
        self.ended = ""

    def ask(self, seconds: float, schema: Callable[[Reply], T], benches: Sequence[Bench] = (), **message: Any) -> T:
        """Send a request that may take this much processor time, and return the reply (`read_reply`).

        Raises:
            CrashError: there is no reply, or it does not fit the schema.
        """
        self.number += 1
        self.send({"id": self.number, "seconds": seconds, **message})
        return self.read_reply(self.number, seconds, schema, benches)

    def read_reply(self, number: int, seconds: float, schema: Callable[[Reply], T], benches: Sequence[Bench] = ()) -> T:
        """Return the reply to the request with this number. From now on it may take `seconds` of processor time.

        Until the reply comes, the session can ask for calls of hidden implementations: they are made on `benches`.

        Raises:
            CrashError: there is no reply, or it does not fit the schema.
        """
        self.start_clock()

        def either(reply: Reply) -> T | replies.Call:
            return replies.call(reply, benches) if benches and reply.field("kind") == "call" else schema(reply)

        reply = self.receive(number, seconds, either)
        while isinstance(reply, replies.Call):
            if self.has_passed(CLOCK_FACTOR * seconds + GRACE):
                self.starved = self.has_waited(seconds)
                raise self.end(t("it was still running after {seconds} seconds", seconds=f"{seconds:.3g}"))
            self.send({"id": number, **answer_call(reply)})
            reply = self.receive(number, seconds, either)
        return reply

    def start_clock(self) -> None:
        """Start to measure the time of a reply."""
        self.started, self.before, self.used = time.monotonic(), 0.0, 0.0
        self.own_wait = sandbox.own_waiting_seconds()

    def passed(self) -> float:
        """Return the seconds by the clock since the reply was asked for, without waits of this process for a processor.

        An answer may call what is hidden from it: then it waits for this process, and that is not its own time.
        """
        return time.monotonic() - self.started - (sandbox.own_waiting_seconds() - self.own_wait)

    def has_passed(self, seconds: float) -> bool:
        """Return whether this time has passed, as `passed` tells it. Faster, as it is hardly ever near."""
        return time.monotonic() - self.started > seconds and self.passed() > seconds

    def has_waited(self, seconds: float) -> bool:
        """Return whether the session waited for a processor for half of this time."""
        return self.grader.worker is not None and self.grader.worker.longest_wait() > seconds / 2

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            CrashError: the session has ended, or did not read the message in time.
        """
        try:
            wire.send(self.channel, message, SEND_SECONDS)
        except TimeoutError:
            raise self.end(t("it did not read a message within {n} seconds", n=f"{SEND_SECONDS:g}")) from None
        except wire.EndedError:
            raise self.end() from None

    def receive(self, number: int, seconds: float, schema: Callable[[Reply], T]) -> T:
        """Return one reply with this number, as read by `schema`. The session is ended if that fails.

        Raises:
            CrashError: there is no reply in this processor time, or it does not fit the schema.
        """
        try:
            frame = wire.receive_frame(self.channel, self.wait_for_reply(seconds))
        except TimeoutError:
            text = t(
                "it was still running after {seconds} seconds and could not be interrupted", seconds=f"{seconds:.3g}"
            )
            raise self.end(text) from None
        except wire.EndedError:
            raise self.end() from None
        except wire.WireError:
            raise self.end(t("its reply was not valid")) from None
        self.size = len(frame)
        try:
            return replies.read(frame, number, schema)
        except replies.ReplyError:
            raise self.end(t("its reply was not valid")) from None

    def wait_for_reply(self, seconds: float) -> float:
        """Wait until a reply begins, and return the seconds within which all of it has to arrive.

        The session may use `seconds` of processor time. `used` and `starved` then say what it took.

        Raises:
            TimeoutError: the session used up its processor time or its time by the clock.
        """
        wall_clock = CLOCK_FACTOR * seconds
        worker = self.grader.worker
        while not select.select([self.channel], [], [], POLL_SECONDS)[0]:
            assert worker is not None
            now, passed = worker.processor_seconds(), self.passed()
            self.before = self.before or now
            self.used = min(now - self.before + POLL_SECONDS, passed)
            if now - self.before > seconds + GRACE:
                raise TimeoutError
            if passed > wall_clock + GRACE:
                self.starved = self.has_waited(seconds)
                raise TimeoutError
        passed = self.passed()
        if not self.before:
            self.used = passed
        elif passed > wall_clock:
            self.starved = self.used < seconds and self.has_waited(seconds)
        return FRAME_SECONDS

    def end(self, why: str = "") -> CrashError:
        """End the session after a failure, and return the error: it says `why`, or else what the worker reports."""
        how = self.grader.close(self.channel, want_reason=True)
        self.ended = why or how
        return (LostWorkerError if self.ended == WORKER_ENDED else CrashError)(self.ended)

    def close(self) -> None:
        if not self.ended:
            self.ended = self.grader.close(self.channel, want_reason=False)


# ── what is hidden from answers ───────────────────────────────────────────────────────────────────


def strip_case(case: Case) -> Case:
    """Return a case without the fields that only the judge needs. Its name could reveal a hidden implementation."""
    return replace(case, name="", sizes={}, raises=None)


def benches_of(cases: Sequence[Case]) -> list[Bench]:
    """Return a bench for each hidden implementation in these cases, in the order in which they are sent."""
    values = [value for case in cases for step in case.script for value in (*step.args, *step.kwargs.values())]
    found = {id(value): value for value in values if isinstance(value, Hidden)}
    return [Bench(value, runs=2) for value in found.values()]


def answer_call(call: replies.Call) -> dict[str, Any]:
    """Call a hidden implementation for a session. Return the fields of the message with the result or the error.

    The arguments are of untrusted code, so the call has a time limit. The result may be an object that the session can
    then call: only its number is sent.
    """
    try:
        with at_most(CALL_SECONDS):
            given = call.bench.ask(call.number, call.method, call.args, call.kwargs)
    except TimeUp:
        return {"raised": describe_error(RuntimeError(t("a call takes too long with these arguments")))}
    except Exception as error:
        return {"raised": describe_error(error)}
    return {"made": given.number} if isinstance(given, Made) else {"given": given}


# ── results ───────────────────────────────────────────────────────────────────────────────────────


def _to_answer(question: Question, verdict: Verdict, seconds: float) -> Answer:
    """Return a verdict as a row of the result: all points if the answer has passed, else none."""
    return Answer(
        id=question.id,
        points=float(question.points if verdict.status == "passed" else 0),
        max_points=float(question.points),
        status=verdict.status,
        misconception=verdict.misconception,
        message=verdict.message,
        seconds=round(seconds, 3),
    )


def result(
    work: Work,
    settings: Settings,
    questions: Sequence[Question],
    marks: Sequence[Answer],
    reason: str,
    missing_modules: Sequence[str] = (),
    failed_cells: Sequence[str] = (),
) -> Result:
    """Return the result of a submission. With a reason not to grade it, the result has no score.

    `marks` are the grades of the questions.
    """
    return Result(
        student=work.student,
        notebook=work.notebook,
        sha256=work.sha256,
        version=settings.version,
        seed=settings.seed,
        status="ungraded" if reason else "graded",
        reason=reason,
        score=None if reason else sum(mark.points for mark in marks),
        max_score=float(sum(question.points for question in questions)),
        questions=tuple(marks),
        missing_modules=tuple(missing_modules),
        failed_cells=tuple(failed_cells),
        source="\n\n".join(work.sources),
    )


def solution_cells(chapter: int) -> list[str]:
    """Return the code cells of a chapter's reference solution.

    Raises:
        FaultError: there is no solution file.
    """
    try:
        return code_cells(solution_file(chapter).read_bytes())
    except OSError as missing:
        raise FaultError(str(missing)) from None
