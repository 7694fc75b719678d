# SPDX-License-Identifier: Apache-2.0
"""One Module and many threads, and what fork() leaves of it."""
import gc
import os
import pickle
import threading
import time

import numpy as np

import tenon


def inputs(seed):
    return np.random.default_rng(seed).random((1, 4, 84, 84), dtype="float32")


def test_threads_get_their_own_answers(module):
    wanted = {seed: module(inputs(seed)) for seed in range(4)}
    wrong = []

    def work(seed):
        x = inputs(seed)
        for _ in range(40):
            if not np.array_equal(module(x), wanted[seed]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in wanted]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert 1 <= module.contexts <= len(wanted)


def test_other_threads_go_on_while_it_runs(module):
    """The interpreter's lock is free during a run: a counting thread counts on."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    during = []
    x = inputs(0)
    for _ in range(50):
        before = counted[0]
        module(x)
        during.append(counted[0] - before)
    stop.set()
    counter.join()
    assert sum(during) > 0


def test_a_child_of_fork_makes_its_own_contexts(module):
    x = inputs(1)
    wanted = module(x)
    child = os.fork()
    if child == 0:
        same = np.array_equal(module(x), wanted) and np.array_equal(module(x), wanted)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(module(x), wanted)


def test_travels_by_pickle(module):
    again = pickle.loads(pickle.dumps(module))
    x = inputs(2)
    np.testing.assert_array_equal(again(x), module(x))
    assert again.folder == module.folder


def test_a_failed_call_leaves_nothing_behind(module):
    contexts = module.contexts
    for _ in range(20):
        try:
            module(inputs(0)[0])
        except tenon.Error:
            pass
    assert module.contexts == contexts


def test_no_memory_is_lost(module):
    x = inputs(3)
    y = module(x)
    gc.collect()

    def resident():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    for _ in range(2000):
        module(x)
    before = resident()
    for _ in range(20000 // 40):
        y = module(x)
        module.run_into(y, x)
    assert resident() - before < 4 << 20
