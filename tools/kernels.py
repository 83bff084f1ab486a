"""Start Jupyter kernels quickly: fork them from a server process that has already imported torch and other libraries.

Starting Python and importing torch takes three seconds. Most notebooks of the course run for less time than that.
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


def run_kernel(connection: str, folder: str, output: Any) -> None:
    """Run a kernel in this process.

    Args:
        connection: the path of the connection file
        folder: the working folder
        output: a `DupFd` of the file to which the kernel's own stdout and stderr go
    """
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()  # signals to the kernel and to its children reach no other process
    os.chdir(folder)
    descriptor = output.detach()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    # The kernel ends when its parent process ends.
    IPKernelApp.launch_instance(argv=["-f", connection, f"--IPKernelApp.parent_handle={os.getppid()}"])


class Kernel(ForkServerProcess):
    """A forked process with the methods of `subprocess.Popen` that jupyter_client calls."""

    stdin = stdout = stderr = None

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid or 0, number)


class ForkProvisioner(LocalProvisioner):
    """A provisioner that forks kernels instead of starting a command."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        """Start the kernel in a forked process, and return how to connect to it.

        `cmd` is the command that would start one: of it, only the connection file is used; of `options`, the working
        folder and stderr.
        """
        connection = cmd[cmd.index("-f") + 1]
        kernel = Kernel(target=run_kernel, args=(connection, options["cwd"], DupFd(options["stderr"].fileno())))
        kernel.start()
        self.process, self.pid, self.pgid = cast(Popen[bytes], kernel), kernel.pid, kernel.pid
        return self.connection_info


def kernel_manager(connection: str) -> AsyncKernelManager:
    """Return a manager for one kernel, with this path as its connection file.

    Where the system has Unix sockets, the kernel uses them: kernels that start at the same time may pick the same port.
    """
    transport = "tcp" if os.name == "nt" else "ipc"
    manager = AsyncKernelManager(kernel_name="python3", transport=transport, connection_file=connection)
    if sys.platform == "linux":  # on macOS and Windows, a process cannot be forked safely
        multiprocessing.set_forkserver_preload(LIBRARIES)
        manager.provisioner = ForkProvisioner(kernel_id="copy", kernel_spec=manager.kernel_spec, parent=manager)
    return manager
