"""Grade one submission: the notebook in a sandboxed session, its answers by the judge, here.

The trusted half. It draws the inputs, sends them, and compares what comes back; the session sees inputs alone. What
comes back is read by the one schema that fits what was asked (`replies`), before anything looks into it.
"""

from __future__ import annotations

import contextlib
import hashlib
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import qkv
from qkv.grading import replies, sandbox
from qkv.grading.replies import Reply
from qkv.grading.results import Answer, Result
from qkv.grading.sandboxed import wire
from qkv.grading.submissions import Work, code_cells, solution_file
from qkv.hidden import Bench, Hidden, Made
from qkv.observing import Case, describe_error, digest
from qkv.questions import questions_of
from qkv.questions.engine.judging import Verdict, judge, verdict_on_unfit
from qkv.questions.engine.question import Question
from qkv.timing import TOO_LONG

GRACE = 2.0  # seconds past its time after which a session is ended from outside
LONGEST = (
    8  # times the limit of one question: the processor time that a whole notebook may take; twice that by the clock
)
CRASHES = 10  # of sessions, after which the rest of a notebook is not looked at
LOOK_EVERY = 0.2  # seconds between two looks at the processor time of a session that has not answered
BEGINNINGS = 3  # of a session, each in a fresh worker
SOUND_SECONDS = 60  # for which it is believed that the reference passes here, since it did
START_SECONDS = 20.0
KNOWN = 10_000  # verdicts on one question that are kept
SEND_SECONDS = 20.0  # in which a session has to read what it is asked
FRAME_SECONDS = 10.0  # from the first byte of an answer to its last


T = TypeVar("T")


class FaultError(Exception):
    """Something of ours failed: the submission is not graded, and nobody loses a point."""


class StarvedError(Exception):
    """Time ran out by the clock while the submission waited for a processor: it is to be graded again, alone."""


class CrashError(Exception):
    """The session ended, or no longer speaks the protocol, while this was asked of it."""


@dataclass(frozen=True)
class Settings:
    """How a batch is graded.

    Attributes:
        seed: the inputs of every question are drawn from it
        timeout: seconds of processor time for each question, and for each cell; at most four times that by the clock
        memory: MB that a submission may use beyond what torch has
        safe: whether there is a sandbox
    """

    seed: int
    timeout: float = 10.0
    memory: int = 1024
    safe: bool = True


@dataclass
class Grader:
    """Grades submissions one after another, in a worker that it starts when it needs one."""

    settings: Settings
    worker: sandbox.Worker | None = None
    alone: bool = False  # whether nothing else is graded at the same time
    cases: dict[str, list[Case]] = field(default_factory=dict)
    sent: dict[str, wire.Encoded] = field(default_factory=dict)  # each question's cases
    verdicts: dict[str, dict[bytes, Verdict]] = field(default_factory=dict)  # by question, and by the reply's mark
    sound: dict[str, float] = field(default_factory=dict)  # when a question's reference passed here last, by the clock

    def grade(self, work: Work, alone: bool = False) -> Result:
        """Grade a submission.

        Raises:
            StarvedError: others took the processors that it needed; never where it is graded alone.
        """
        self.alone = alone
        questions = list(questions_of(work.chapter).values())
        try:
            marks, reason = self.marks(work.sources, questions), ""
        except FaultError as fault:
            marks, reason = [], str(fault)
        return result(work, self.settings, questions, marks, reason)

    def marks(self, sources: Sequence[str], questions: Sequence[Question]) -> list[Answer]:
        """Grade a notebook's answers.

        Raises:
            FaultError: it could not be done, through no fault of the notebook.
        """
        return _Attempt(self, sources, questions).run()

    def is_sound(self, question: Question) -> bool:
        """Say whether the reference solution gets its points here: in a fresh worker, unless it just did."""
        if time.monotonic() - self.sound.get(question.id, -SOUND_SECONDS) < SOUND_SECONDS:
            return True
        self.stop()
        with contextlib.suppress(FaultError):
            chapter = int(question.id.partition(".")[0])
            attempt = _Attempt(self, solution(chapter), [question], trusted=True)
            if attempt.run()[0].points == question.points:
                self.sound[question.id] = time.monotonic()
                return True
        return False

    def cases_of(self, question: Question) -> list[Case]:
        """The question's inputs: the same for every submission of a batch, and again from its seed."""
        if question.id not in self.cases:
            drawn = hashlib.sha256(f"{self.settings.seed}/{question.id}".encode()).digest()
            self.cases[question.id] = question.fresh_cases(int.from_bytes(drawn[:6], "big"))
        return self.cases[question.id]

    def sent_cases(self, question: Question) -> wire.Encoded:
        """The question's inputs, as every session is sent them."""
        if question.id not in self.sent:
            self.sent[question.id] = wire.encoded([bare(case) for case in self.cases_of(question)])
        return self.sent[question.id]

    def verdicts_on(self, question: Question) -> dict[bytes, Verdict]:
        """The verdicts on this question that are known: equal replies about equal cases are judged alike."""
        known = self.verdicts.setdefault(question.id, {})
        if len(known) >= KNOWN:
            known.clear()
        return known

    def open(self) -> socket.socket:
        """Open a session, in a fresh worker if there is none.

        Raises:
            CrashError: it cannot be had; the next try is in a fresh worker.
        """
        try:
            if self.worker is None:
                self.worker = sandbox.start(self.settings.safe, self.settings.memory)
            return self.worker.open_session(self.settings.memory)
        except (OSError, sandbox.UnavailableError) as error:
            self.stop()
            raise CrashError(f"no worker can be started: {error}") from None

    def close(self, channel: socket.socket, ask_how: bool) -> str:
        """End a session, and the worker if it does not answer. With `ask_how`, return why the session ended."""
        try:
            assert self.worker is not None
            self.worker.close_session(channel)
            return self.worker.end_of_session() if ask_how else "closed"
        except (OSError, TimeoutError):
            self.stop()
            return "the worker ended"

    def stop(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.stop()
            self.worker = None


class _Attempt:
    """One notebook's way through its sessions: mostly one, and a new one after each crash."""

    def __init__(
        self, grader: Grader, sources: Sequence[str], questions: Sequence[Question], trusted: bool = False
    ) -> None:
        self.grader = grader
        self.sources = sources
        self.questions = list(questions)
        self.trusted = trusted  # the reference: what goes wrong with it is not looked into any further
        self.timeout = grader.settings.timeout
        self.left = LONGEST * max(self.timeout, 1.0)  # seconds of processor time
        self.until = time.monotonic() + 2 * self.left  # by the clock, without workers and the reference
        self.crashes = 0  # of sessions
        self.skipped: set[int] = set()  # cells that ended a session
        self.checked = (0, 0)  # the last check that was asked for: its cell, and how many that cell had come to
        self.errors: dict[int, str] = {}  # cells that raised, and what
        self.marks: dict[str, Answer] = {}  # of each question, as its last check had it

    def run(self) -> list[Answer]:
        done = False
        while not done and not self.spent():
            with self.session() as session:
                done = self.load(session) and self.ask_rest(session)
        spent, not_reached = self.spent(), self.still_open()
        if not_reached:
            self.raise_fault_unless_reference_passes(not_reached[0], spent)
        for question in not_reached:
            text = f"It was not reached: {spent} on the cells and answers before it."
            self.marks[question.id] = _mark(question, Verdict("error", text), 0.0)
        return [self.marks[question.id] for question in self.questions]

    def still_open(self) -> list[Question]:
        return [question for question in self.questions if question.id not in self.marks]

    def spent(self) -> str:
        """Say what the notebook has used up; nothing while it may go on."""
        if self.left <= 0 or time.monotonic() > self.until:
            return "the time for the whole notebook was spent"
        if self.crashes >= CRASHES:
            return f"Python was stopped {CRASHES} times"
        return ""

    def ask(self, session: _Session, schema: Callable[[Reply], T], **message: Any) -> T:
        """Ask something of a session, in the time that is left."""
        return self.charged(session, lambda seconds: session.ask(seconds, schema, **message))

    def charged(self, session: _Session, ask: Callable[[float], T]) -> T:
        """Do something that a session has this many seconds for, and count what it took."""
        try:
            return ask(max(0.05, min(self.timeout, self.left)))
        finally:
            self.left -= session.used
            if session.starved and not self.grader.alone:
                raise StarvedError

    @contextlib.contextmanager
    def session(self) -> Iterator[_Session]:
        session = self.begun()
        try:
            yield session
        finally:
            session.close()

    def begun(self) -> _Session:
        """A session that answers. One that does not has run nothing of the notebook: that is a fault of ours."""
        why, started = "", time.monotonic()
        for _ in range(BEGINNINGS):
            try:
                session = _Session(self.grader)
                session.ask(START_SECONDS, replies.greeting, do="greet", version=qkv.__version__)
                self.until += time.monotonic() - started
                return session
            except CrashError as crash:
                why = str(crash)
                self.grader.stop()
        raise FaultError(f"no session could be begun: {why}")

    def load(self, session: _Session) -> bool:
        """Run the cells; say whether the session has come to their end."""
        for number, source in enumerate(self.sources, 1):
            if self.spent():
                return False
            if number not in self.skipped and source.strip():
                self.run_cell(session, number, source)
            if session.ended:
                return False
        return True

    def run_cell(self, session: _Session, number: int, source: str) -> None:
        """Run a cell, and mark the answers that its checks have. A cell that ends the session is left out from then on.

        After each check the cell has as long as at its beginning: the session itself stops it before that.
        """
        try:
            said = self.ask(session, replies.cell, do="cell", source=source, number=number)
            asked, checks = session.number, 0
            while isinstance(said, replies.Check):
                checks += 1
                self.check(session, said.question, (number, checks))
                if session.ended or self.spent():
                    session.close()
                    return
                said = self.charged(session, lambda seconds: session.hear(asked, seconds, replies.cell))
            self.errors[number] = said
        except CrashError as crash:
            self.crashes += 1
            self.skipped.add(number)
            self.errors[number] = str(crash)

    def check(self, session: _Session, asked: str, place: tuple[int, int]) -> None:
        """Mark the answer that a check has, unless an earlier session came as far and it was marked there."""
        question = next((question for question in self.questions if question.id == asked), None)
        if question is None or place <= self.checked:
            session.tell({"do": "nothing"})
        else:
            self.checked = place
            self.mark(session, question)

    def ask_rest(self, session: _Session) -> bool:
        """Mark the questions that no check has asked about, until one of them ends the session; say if all are done."""
        for question in self.still_open():
            if session.ended or self.spent():
                return False
            self.mark(session, question)
        return True

    def mark(self, session: _Session, question: Question) -> None:
        """Have an answer observed, and judge it."""
        started = time.monotonic()
        try:
            verdict = self.verdict(session, question)
        except CrashError as crash:
            self.crashes += 1
            session.close()  # the worker has one session at a time, and the reference needs it
            self.raise_fault_unless_reference_passes(question, str(crash))
            verdict = Verdict("error", f"Python was stopped while your answer ran: {crash}.")
        self.marks[question.id] = _mark(question, verdict, time.monotonic() - started)

    def raise_fault_unless_reference_passes(self, question: Question, crash: str) -> None:
        started = time.monotonic()
        sound = self.trusted or self.grader.is_sound(question)
        self.until += time.monotonic() - started  # the reference's time is not the notebook's
        if not sound:
            raise FaultError(f"question {question.id}: {crash}; and the reference solution does not pass here either")

    def verdict(self, session: _Session, question: Question) -> Verdict:
        """Judge what the check that a cell has come to was handed; between cells, what has the question's name."""
        cases, known = self.grader.cases_of(question), self.grader.verdicts_on(question)
        seen = self.ask(
            session, lambda reply: replies.observed(reply, cases, question.gradients, known), do="observe",
            name=question.name, cases=self.grader.sent_cases(question), gradients=question.gradients,
            benches=benches_of(cases),
        )  # fmt: skip
        if seen.kind == "known":
            return known[seen.mark]
        verdict = self.verdict_on(question, cases, seen)
        if seen.mark:
            known[seen.mark] = replace(verdict, case=None, value=None, want=None)  # no result need be held
        return verdict

    def verdict_on(self, question: Question, cases: list[Case], observed: replies.Observed) -> Verdict:
        if observed.why is not None:
            verdict = verdict_on_unfit(observed.why, cases[0].wants_class)
            return replace(verdict, message=self.missing(question)) if observed.why.kind == "missing" else verdict
        if observed.kind == "stopped":
            text = f"It took more than {self.timeout:g} seconds and was stopped. {TOO_LONG}"
            return Verdict("error", text)
        try:
            return judge(question, cases, digest(cases, observed.first, observed.again))
        except Exception as error:
            raise FaultError(f"question {question.id} could not be judged: {type(error).__name__}: {error}") from error

    def missing(self, question: Question) -> str:
        """Say that there is no answer, and which cell that might have made it failed: best one that names it."""
        text = f"No `{question.name}` is defined in this notebook."
        failed = [number for number, error in self.errors.items() if error]
        naming = [number for number in failed if question.name in self.sources[number - 1]]
        number = next(iter([*naming, *failed]), None)
        return text if number is None else f"{text} Its code cell {number} raised {self.errors[number]}."


class _Session:
    """A session in the worker: questions and answers, each with its number.

    Attributes:
        used: seconds of processor time that the last answer took; by the clock where it came at once
        starved: whether the last answer took too long by the clock because it waited for a processor
        ended: why it ended
    """

    def __init__(self, grader: Grader) -> None:
        self.grader = grader
        self.channel = grader.open()
        self.number = 0
        self.used = 0.0
        self.starved = False
        self.ended = ""

    def ask(self, seconds: float, schema: Callable[[Reply], T], benches: Sequence[Bench] = (), **message: Any) -> T:
        """Ask for something that may take this much processor time, and read the reply (`hear`)."""
        self.number += 1
        self.tell({"id": self.number, "seconds": seconds, **message})
        return self.hear(self.number, seconds, schema, benches)

    def hear(self, number: int, seconds: float, schema: Callable[[Reply], T], benches: Sequence[Bench] = ()) -> T:
        """Read the reply to what had this number, for which the session has this much processor time from now on.

        Until it comes, call what the session wants to have called on the benches.

        Raises:
            CrashError: there is none, or what came does not fit.
        """
        self.start()

        def either(reply: Reply) -> T | replies.Call:
            return replies.call(reply, benches) if benches and reply.field("kind") == "call" else schema(reply)

        said = self.receive(number, seconds, either)
        while isinstance(said, replies.Call):
            if time.monotonic() - self.started > wire.BY_THE_CLOCK * seconds + GRACE:
                raise CrashError(self.end(f"it went on after {seconds:.3g} seconds"))
            self.tell({"id": number, **called(said)})
            said = self.receive(number, seconds, either)
        return said

    def start(self) -> None:
        """Let the clock begin."""
        self.started, self.before, self.used = time.monotonic(), 0.0, 0.0

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            CrashError: nobody reads it.
        """
        try:
            wire.send(self.channel, message, SEND_SECONDS)
        except TimeoutError:
            raise CrashError(self.end(f"it did not listen for {SEND_SECONDS:g} seconds")) from None
        except wire.EndedError:
            raise CrashError(self.end()) from None

    def receive(self, number: int, seconds: float, schema: Callable[[Reply], T]) -> T:
        try:
            frame = wire.receive_frame(self.channel, self.wait(seconds))
        except TimeoutError:
            raise CrashError(self.end(f"it went on after {seconds:.3g} seconds and could not be interrupted")) from None
        except wire.EndedError:
            raise CrashError(self.end()) from None
        except wire.WireError:
            raise CrashError(self.end("its reply was not one")) from None
        try:
            return replies.read(frame, number, schema)
        except replies.ReplyError:
            raise CrashError(self.end("its reply was not one")) from None

    def wait(self, seconds: float) -> float:
        """Wait until an answer begins; give the seconds in which all of it has to be there.

        Raises:
            TimeoutError: the session has had its time, of a processor's or by the clock.
        """
        by_the_clock = wire.BY_THE_CLOCK * seconds
        worker = self.grader.worker
        while not select.select([self.channel], [], [], LOOK_EVERY)[0]:
            assert worker is not None
            now, passed = worker.processor_seconds(), time.monotonic() - self.started
            self.before = self.before or now
            self.used = min(now - self.before + LOOK_EVERY, passed)
            if now - self.before > seconds + GRACE:
                raise TimeoutError
            if passed > by_the_clock + GRACE:
                self.starved = worker.longest_wait() > seconds / 2
                raise TimeoutError
        passed = time.monotonic() - self.started
        if not self.before:
            self.used = passed
        elif passed > by_the_clock:
            self.starved = self.used < seconds and worker is not None and worker.longest_wait() > seconds / 2
        return FRAME_SECONDS

    def end(self, why: str = "") -> str:
        """End it after a failure, and say why: that, or how the worker saw it end."""
        how = self.grader.close(self.channel, ask_how=True)
        self.ended = why or how
        return self.ended

    def close(self) -> None:
        if not self.ended:
            self.ended = self.grader.close(self.channel, ask_how=False)


# ── what is hidden from answers ───────────────────────────────────────────────────────────────────


def bare(case: Case) -> Case:
    """A case without what only the judge needs: its name may say what is hidden in it."""
    return replace(case, name="", sizes={}, raises=None)


def benches_of(cases: Sequence[Case]) -> list[Bench]:
    """A bench for each implementation that is hidden in these cases, in the order in which they are sent."""
    values = [value for case in cases for step in case.script for value in (*step.args, *step.kwargs.values())]
    found = {id(value): value for value in values if isinstance(value, Hidden)}
    return [Bench(value, runs=2) for value in found.values()]


def called(call: replies.Call) -> dict[str, Any]:
    """Do a call; what it raises is the answer's error."""
    try:
        given = call.bench.ask(call.number, call.method, call.args, call.kwargs)
    except Exception as error:
        return {"raised": describe_error(error)}
    return {"made": given.number} if isinstance(given, Made) else {"given": given}


# ── results ───────────────────────────────────────────────────────────────────────────────────────


def _mark(question: Question, verdict: Verdict, seconds: float) -> Answer:
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
    work: Work, settings: Settings, questions: Sequence[Question], marks: Sequence[Answer], reason: str
) -> Result:
    """A submission's result; one that has a reason not to be graded has no score."""
    return Result(
        student=work.student,
        notebook=work.notebook,
        sha256=work.sha256,
        version=qkv.__version__,
        seed=settings.seed,
        status="ungraded" if reason else "graded",
        reason=reason,
        score=None if reason else sum(mark.points for mark in marks),
        max_score=float(sum(question.points for question in questions)),
        questions=tuple(marks),
        unsafe=not settings.safe,
        source="\n\n".join(work.sources),
    )


def solution(chapter: int) -> list[str]:
    """The reference solution's code cells: shipped beside the package, or in the repository that it is in.

    Raises:
        FaultError: it is not there.
    """
    try:
        return code_cells(solution_file(chapter).read_bytes())
    except OSError as missing:
        raise FaultError(str(missing)) from None
