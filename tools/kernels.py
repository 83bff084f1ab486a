"""Kernels that start at once: each is a copy of a process that has torch and the course's other libraries at hand.

To start Python and import torch takes three seconds, longer than most notebooks of the course run.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from subprocess import Popen
from typing import Any, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

LIBRARIES = ["torch", "matplotlib.pyplot", "ipywidgets", "ipykernel.kernelapp", "qkv.checking", "qkv.widgets"]


def run_kernel(connection: str, folder: str, said: Any) -> None:
    """Be a kernel that is spoken with through a connection file; what it says itself goes to a file's descriptor."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # signals for it, and for what it starts, reach nobody else
    os.chdir(folder)
    where = said.detach()
    os.dup2(where, 1)
    os.dup2(where, 2)
    # It ends with the process that it is a copy of.
    IPKernelApp.launch_instance(argv=["-f", connection, f"--IPKernelApp.parent_handle={os.getppid()}"])


class Kernel(ForkServerProcess):
    """A process with what jupyter_client asks of one that `subprocess` started."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid or 0, number)


class Copies(LocalProvisioner):
    """Starts kernels as copies, where others start a command."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        connection = cmd[cmd.index("-f") + 1]
        kernel = Kernel(target=run_kernel, args=(connection, options["cwd"], DupFd(options["stderr"].fileno())))
        kernel.start()
        self.process, self.pid, self.pgid = cast(Popen[bytes], kernel), kernel.pid, kernel.pid
        return self.connection_info


def manager(connection: str) -> AsyncKernelManager:
    """What starts a kernel and ends it, and speaks with it through this file, where there are such files.

    Kernels that start side by side may pick the same port.
    """
    transport = "tcp" if os.name == "nt" else "ipc"
    started = AsyncKernelManager(kernel_name="python3", transport=transport, connection_file=connection)
    if sys.platform == "linux":  # a process of macOS or Windows cannot be copied safely
        multiprocessing.set_forkserver_preload(LIBRARIES)
        started.provisioner = Copies(kernel_id="copy", kernel_spec=started.kernel_spec, parent=started)
    return started
