"""The client of a program that cosched runs with client = "library" (`cosched run`, `cosched wrap
--client library`) and that can have another number of threads between two steps. One file, nothing to
build, no package but Python's own: copy it beside your program, or name its folder in PYTHONPATH.

    import cosched
    client = cosched.connect()
    for batch in batches:
        if threads := client.poll():
            torch.set_num_threads(threads)   # or whatever it takes
        train(batch)
        client.step(len(batch))

Run by hand, without cosched, the same program runs as ever: poll() returns 0. The protocol is
cosched_page.h, version 1; libcosched_client is the same in C."""
import ctypes
import mmap
import os
import time

__version__ = "1"
_MAGIC, _VERSION, _SIZE = 0x31656761706F63, 1, 4096


class _Page(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("grant", ctypes.c_uint64), ("threads", ctypes.c_uint32), ("core_count", ctypes.c_uint32),
                ("cores", ctypes.c_uint64 * 16), ("unused", ctypes.c_uint64 * 12),
                ("process", ctypes.c_uint32), ("threads_now", ctypes.c_uint32), ("followed", ctypes.c_uint64),
                ("followed_at", ctypes.c_uint64), ("steps", ctypes.c_uint64), ("images", ctypes.c_uint64),
                ("regions", ctypes.c_uint64), ("rigid", ctypes.c_uint32), ("reserved_too", ctypes.c_uint32),
                ("stepped_at", ctypes.c_uint64)]


def _map_descriptor(fd):
    if os.fstat(fd).st_size != _SIZE:
        return None
    page = _Page.from_buffer(mmap.mmap(fd, _SIZE))
    return page if page.magic == _MAGIC and page.version == _VERSION else None


def _map_page():
    fd, _, path = os.environ.get("COSCHED_CLIENT", "").partition(":")
    if not fd.isdigit() or not path:
        return None
    try:
        page = _map_descriptor(int(fd))
        if page:
            return page
    except (OSError, ValueError):
        pass
    try:  # The descriptor was closed on the way.
        opened = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _map_descriptor(opened)
    except (OSError, ValueError):
        return None
    finally:
        os.close(opened)


def _is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class Client:
    """One thread at a time; a process that forks leaves it to the parent."""

    def __init__(self, page):
        self._page = page
        self._process = os.getpid()
        self._seen = 0
        self._unconfirmed, self._told_at = False, 0
        self.threads = 0  # To have; 0: nobody has said how many.

    def poll(self):
        """How many threads to have from now on, if that has changed (at the first call: in any case);
        else 0. Call it between two steps, and change the threads at once: when the program comes back
        with any call, that counts as done."""
        page = self._page
        if page is None or self._process != os.getpid():
            return 0
        self._confirm()
        grant = page.grant
        if grant == self._seen or grant % 2:
            return 0
        threads = page.threads
        if page.grant != grant or threads == 0:
            return 0
        changed = threads != self.threads
        self._seen, self.threads = grant, threads
        self._unconfirmed, self._told_at = True, time.monotonic_ns()
        if not changed:
            self._confirm()
        return threads if changed else 0

    def step(self, images=0):
        """A step is done, of so many images."""
        page = self._page
        if page is None or self._process != os.getpid():
            return
        self._confirm()
        page.images += images
        page.stepped_at = time.monotonic_ns()
        page.steps += 1

    def _confirm(self):
        if not self._unconfirmed:
            return
        self._unconfirmed = False
        self._page.threads_now = self.threads
        self._page.followed_at = self._told_at
        self._page.followed = self._seen


def connect():
    """The client; where cosched does not run the program, or another process of it is the client,
    one that never has anything to say."""
    page = _map_page()
    if page is not None:
        if page.process not in (0, os.getpid()) and _is_alive(page.process):
            page = None
        else:
            page.process = os.getpid()
    return Client(page)
