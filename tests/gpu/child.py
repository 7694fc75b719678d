# SPDX-License-Identifier: Apache-2.0
"""child.py CHECK FOLDER [N]: one check of a compiled library in a process of its own; run.py calls it.

Prints one JSON object: {"problems": [..], ...}. A card that a check loses is lost to its process alone.
"""
import ctypes
import json
import os
import pathlib
import sys

import library

GRAIN = 2 << 20        # what the driver takes from a card at once
HOST_GROWTH = 8 << 20  # of a process, beyond what its first contexts take


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def repeat(model, runs):
    """Runs of one context, on memory of the host, give the same bits."""
    context, why = model.create()
    if not context:
        return {"problems": [why]}
    inputs, outputs = model.buffers(1)
    first, problems = None, []
    for index in range(runs):
        for buffer in outputs:
            ctypes.memset(buffer, 0xA5, len(buffer))
        status = model.run(context, inputs, outputs)
        if status != 0:
            problems.append(f"run {index}: {model.error(status)}")
            break
        bits = [buffer.raw for buffer in outputs]
        first = first or bits
        if bits != first:
            problems.append(f"run {index} gives other bits than the first one")
            break
    model.destroy(context)
    return {"problems": problems, "runs": index + 1}


def one_life(model):
    """What is wrong with a context that is created, runs once and is destroyed."""
    context, why = model.create()
    if not context:
        return why
    inputs, outputs = model.buffers(1)
    status = model.run(context, inputs, outputs)
    model.destroy(context)
    return "" if status == 0 else model.error(status)


def contexts(model, count):
    """Contexts leave no memory behind, on the card or on the host: the card is kept, so that each takes kernels and weights
    there anew, and let go for a few of them."""
    driver = library.Driver()
    early = max(count // 10, 2)
    for index in range(count):
        why = one_life(model)
        if why:
            return {"problems": [f"context {index}: {why}"]}
        if index == early:
            free, host, files = driver.memory()[0], resident(), len(os.listdir("/proc/self/fd"))
    facts = {"contexts": count, "card_bytes": free - driver.memory()[0], "host_bytes": resident() - host,
             "files": len(os.listdir("/proc/self/fd")) - files}
    driver.release()
    left = []
    for index in range(early // 5 + 2):
        why = one_life(model)
        if why:
            return {"problems": [f"the card was let go {index} times: {why}"], **facts}
        again = library.Driver()
        left.append(again.memory()[0])
        again.release()
    facts["card_bytes_let_go"] = left[0] - left[-1]
    limits = {"card_bytes": GRAIN, "card_bytes_let_go": GRAIN, "host_bytes": HOST_GROWTH, "files": 0}
    return {"problems": [f"{name} grow by {facts[name]}" for name, most in limits.items() if facts[name] > most], **facts}


def fill(driver):
    """Takes all memory of the card; the addresses."""
    taken, size = [], driver.memory()[0]
    while size >= 1 << 16:
        address = driver.take(size)
        if address:
            taken.append(address)
        else:
            size //= 2
    return taken


def full_card(model, _):
    """On a card without memory there is a sentence, and afterwards there is a context."""
    driver = library.Driver()
    taken = fill(driver)
    context, why = model.create()
    if context:
        return {"problems": ["a context could be created on a card without memory"]}
    for address in taken:
        driver.give(address)
    after = one_life(model)
    return {"problems": [f"with memory again: {after}"] if after else [], "sentence": why}


def refused(model, device):
    """There is no context on card DEVICE here; the sentence is looked at by who asked."""
    context, why = model.create(device)
    return {"problems": ["a context could be created"] if context else [], "sentence": why}


def odd_address(model, _):
    """run_device takes no address that is no multiple of 256."""
    driver = library.Driver()
    context, why = model.create()
    if not context:
        return {"problems": [why]}
    lists = []
    for tensors in (model.inputs, model.outputs):
        lists.append((ctypes.c_uint64 * len(tensors))(*[driver.take(info.bytes + 256) for info in tensors]))
    status = model.on_device(context, *lists, None)
    problems = [] if status == 0 else [model.error(status)]
    driver.must("cuCtxSynchronize")
    lists[0][0] += 4
    sentence = model.error(model.on_device(context, *lists, None))
    model.destroy(context)
    return {"problems": problems, "sentence": sentence}


CHECKS = {f.__name__: f for f in (repeat, contexts, full_card, refused, odd_address)}


def main():
    check, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(CHECKS[check](library.Library(folder), count)))


if __name__ == "__main__":
    main()
