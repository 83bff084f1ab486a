"""Put the files of the real model on the site, for readers who load it. Without its package the site has none."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from real_model import pack

FOLDER = "_static/real-model"
log = logging.getLogger(__name__)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Copy the model's files, which are made once, unless the site has them or the build failed.

    If its package cannot be had, remove them; pages then show stored sentences.
    """
    if exception is not None:
        return
    target = Path(app.outdir) / FOLDER
    try:
        made = pack.packed_once()
    except pack.MissingError as problem:
        log.info("The site gets no real model, because pip cannot have %s: %s", pack.PACKAGE, problem)
        shutil.rmtree(target, ignore_errors=True)
        return
    if (
        not (target / "index.json").exists()
        or (target / "index.json").read_bytes() != (made / "index.json").read_bytes()
    ):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)


def setup(app: Sphinx) -> None:
    """Register `finish`, which runs before the service worker lists the files."""
    app.connect("build-finished", finish, priority=950)
