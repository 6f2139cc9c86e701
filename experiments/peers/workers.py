"""Long-lived measuring processes, of which only one is ever awake.

A worker loads one model for one cell, prints one line of JSON {"ready": true, "seconds_per_run": s, ...}, then answers each
line "run SECONDS" with {"images": n, "seconds": s, "cpu_seconds": c}: it runs whole batches until that time has passed, one
at least. Between its turns it is stopped (SIGSTOP), so that spinning threads of one system don't slow the others.
"""
import json
import os
import select
import shutil
import signal
import subprocess
import time

STUCK_SECONDS = 600  # The slowest run (VGG-16, 32 images, 1 thread) takes 10 s on a quiet machine.
SETTLED_RUN_SECONDS = 0.2  # Faster runs are warmed up before they are measured: caches are cold after the others' turn.
WARM_UP_SECONDS = 0.05
# A stopped process would outlive whoever stopped it if that is killed.
ENDED_WITH_US = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


class WorkerError(Exception):
    pass


class Worker:
    """One system's process for one cell. A context manager: the process is ended on the way out."""

    def __init__(self, system, command, environment=None):
        self.system = system
        self._process = subprocess.Popen([*ENDED_WITH_US, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         bufsize=0, env={**os.environ, **(environment or {})})
        self._received = b""
        try:
            self.ready = self._receive()
        except BaseException:
            self._end()
            raise
        self._stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    @property
    def pid(self):
        return self._process.pid

    def run(self, seconds):
        """One turn: {"images", "seconds", "cpu_seconds"}."""
        self._process.send_signal(signal.SIGCONT)
        if self.ready["seconds_per_run"] < SETTLED_RUN_SECONDS:
            self._ask(WARM_UP_SECONDS)
        result = self._ask(seconds)
        self._stop()
        return result

    def peak_kib(self):
        """The most memory it has ever had resident."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

    def _ask(self, seconds):
        self._process.stdin.write(f"run {seconds}\n".encode())
        return self._receive()

    def _receive(self):
        deadline = time.monotonic() + STUCK_SECONDS
        while b"\n" not in self._received:
            readable, _, _ = select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self._process.stdout.fileno(), 65536) if readable else b""
            if not part:
                raise WorkerError(f"{self.system}: {'ended' if readable else f'no answer in {STUCK_SECONDS} s'}")
            self._received += part
        line, self._received = self._received.split(b"\n", 1)
        return json.loads(line)

    def _stop(self):
        """Returns when it sleeps: a signal is only a request."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def _end(self):
        self._process.kill()  # Works on a stopped process too.
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


def alternate(workers, repetitions, seconds):
    """Turns of all workers, repetitions each: {system: [result, ...]}. Each round begins with another one."""
    results = {worker.system: [] for worker in workers}
    for repetition in range(repetitions):
        first = repetition % len(workers)
        for worker in workers[first:] + workers[:first]:
            results[worker.system].append(worker.run(seconds))
    return results
