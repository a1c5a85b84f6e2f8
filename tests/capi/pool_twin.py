#!/usr/bin/env python3
"""Drives the C interface from Python with ctypes: the pool against a naive twin, and one request through the
scheduler.

  pool_twin.py LIBRARY

The twin is a list of free ids and a dictionary of owner counts: FIFO, released tables go to the back last
block first (rule O2).
"""

import ctypes
import random
import sys

IDS = 20


class Options(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in (
        "block_size", "block_ids", "state_ids", "draft_ids", "max_sequences", "token_budget", "max_model_len",
        "overlap")] + [(name, ctypes.c_int) for name in (
            "forward_release", "lifo", "unordered_writers", "separate_copies")]


class Request(ctypes.Structure):
    _fields_ = [("prompt", ctypes.c_uint32), ("limit", ctypes.c_uint32), ("known_stop", ctypes.c_int),
                ("drafts", ctypes.c_uint32), ("priority", ctypes.c_uint32)]


class Twin:
    def __init__(self):
        self.free = list(range(1, IDS))
        self.owners = {}

    def take(self, count):
        taken, self.free = self.free[:count], self.free[count:]
        for one in taken:
            self.owners[one] = 1
        return taken

    def release(self, table):
        for one in reversed(table):
            self.owners[one] -= 1
            if self.owners[one] == 0:
                del self.owners[one]
                self.free.append(one)


def array(ids):
    return (ctypes.c_uint32 * len(ids))(*ids)


def pool_against_twin(library):
    handle = ctypes.c_void_p()
    assert library.pinfold_pool_create(IDS, 0, 0, ctypes.byref(handle)) == 0
    twin, tables, draws = Twin(), [], random.Random(1)
    for _ in range(20_000):
        if tables and draws.random() < 0.5:
            table = tables.pop(draws.randrange(len(tables)))
            twin.release(table)
            assert library.pinfold_pool_release(handle, array(table), len(table)) == 0
        elif tables and draws.random() < 0.4:
            table = draws.choice(tables)
            for one in table:
                twin.owners[one] += 1
            assert library.pinfold_pool_pin(handle, array(table), len(table)) == 0
            tables.append(list(table))
        else:
            count = draws.randrange(1, 7)
            ids = array([0] * count)
            status = library.pinfold_pool_take(handle, ids, count)
            assert status == (0 if count <= len(twin.free) else 1), (status, count, twin.free)
            if status == 0:
                assert list(ids) == twin.take(count)
                tables.append(list(ids))
        assert library.pinfold_pool_available(handle) == len(twin.free)
        for one in range(1, IDS):
            assert library.pinfold_pool_owners(handle, one) == twin.owners.get(one, 0)
    assert library.pinfold_pool_audit(handle) == 0
    library.pinfold_pool_destroy(handle)


def one_request(library):
    options, handle, message = Options(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
    library.pinfold_options_default(ctypes.byref(options))
    assert options.block_size == 16 and options.max_model_len == 131072
    options.block_ids = 0
    assert library.pinfold_scheduler_create(ctypes.byref(options), ctypes.byref(handle), message, 100) == 4
    assert b"block_ids" in message.value
    options.block_ids = 10
    assert library.pinfold_scheduler_create(ctypes.byref(options), ctypes.byref(handle), message, 100) == 0
    request = Request(prompt=20, limit=4, known_stop=1)
    assert library.pinfold_scheduler_add(handle, 0, ctypes.byref(request)) == 0
    assert library.pinfold_scheduler_unfinished(handle) == 1
    assert library.pinfold_scheduler_abort(handle, 0) == 0
    assert library.pinfold_scheduler_abort(handle, 0) == 3
    assert library.pinfold_scheduler_unfinished(handle) == 0
    library.pinfold_scheduler_destroy(handle)


def main():
    library = ctypes.CDLL(sys.argv[1])
    for function in ("pool_create", "pool_take", "pool_pin", "pool_release", "scheduler_create", "scheduler_add"):
        getattr(library, "pinfold_" + function).restype = ctypes.c_int
    passed = failed = 0
    for test in (pool_against_twin, one_request):
        try:
            test(library)
            passed += 1
        except AssertionError as problem:
            print(f"failed: {test.__name__}: {problem!r}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
