"""Make results in the grader's form, for the tests of the files that the grader writes."""

from __future__ import annotations

from typing import Any

from qkv.grading.results import Result


def question(id: str = "3.1", points: float = 3.0, max_points: float = 3.0, **changes: Any) -> dict[str, Any]:
    """Return one question of a result as a dictionary. Its status is "passed" if it has all its points."""
    status = "passed" if points == max_points else "failed"
    fields = {"id": id, "points": points, "max_points": max_points, "status": status, "misconception": None}
    return fields | {"message": f"a message on {id}", "seconds": 0.1} | changes


def result(student: str = "ada", notebook: str = "03_scaling", **changes: Any) -> dict[str, Any]:
    """Return the result of a graded submission as a dictionary: 3.1 is right, 3.2 is wrong."""
    idea = "variance-added"
    questions = changes.get("questions", [question("3.1", 3, 3), question("3.2", 0, 2, misconception=idea)])
    fields = {
        "student": student,
        "notebook": notebook,
        "sha256": "ab" * 32,
        "version": "1.0",
        "seed": 7,
        "status": "graded",
        "reason": "",
        "score": float(sum(q["points"] for q in questions)),
        "max_score": float(sum(q["max_points"] for q in questions)),
        "questions": questions,
    }
    return fields | changes


def ungraded(student: str, reason: str = "the worker was lost", **changes: Any) -> dict[str, Any]:
    """Return the result of a submission that could not be graded, as a dictionary."""
    return result(student, status="ungraded", reason=reason, score=None, questions=[], max_score=5.0, **changes)


def made(*about: Any, **changes: Any) -> Result:
    """Return `result(…)` as a `Result` object."""
    return Result.from_dict(result(*about, **changes))


def made_ungraded(student: str, **changes: Any) -> Result:
    """Return `ungraded(…)` as a `Result` object."""
    return Result.from_dict(ungraded(student, **changes))
