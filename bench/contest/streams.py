# SPDX-License-Identifier: Apache-2.0
"""Several inferences at once: CONTESTANT:SETTING -> Runner. Only worker.py loads this.

    tenon:2x1           two contexts of one thread each, called by two threads
    onnxruntime:1x2     one caller of a session of two threads; with 2x1, two callers of a session of one thread
    openvino:hint       as many streams and requests as PERFORMANCE_HINT=THROUGHPUT chooses

Callers are threads of Python, which none of the libraries keeps waiting: all of them release its lock while they run. A caller
begins its next inference when one is over, so nobody waits for work.
"""
import threading
import time

import contestants


def make(contestant, job):
    name, setting = contestant.split(":")
    if name == "openvino":
        return make_openvino(job)
    streams, threads = map(int, setting.split("x"))
    runners = CALLERS[name](job, streams, threads)
    first = runners[0]
    return contestants.Runner(first.run, first.outputs, {**first.detail, "streams": streams, "threads": threads},
                              lambda seconds, warmup: [per_inference([r.run for r in runners], seconds, warmup)])


def tenon_callers(job, streams, threads):
    library = contestants.TenonLibrary(job)
    return [library.context(threads) for _ in range(streams)]


def onnxruntime_callers(job, streams, threads):
    session = contestants.onnxruntime_session(job, threads)
    return [contestants.onnxruntime_runner(session, own(job.inputs)) for _ in range(streams)]


CALLERS = {"tenon": tenon_callers, "onnxruntime": onnxruntime_callers}


def own(inputs):
    return {name: contestants.aligned(array) for name, array in inputs.items()}


def per_inference(runs, seconds, warmup):
    """Seconds by inferences of all callers together, each counted from its first to its last."""
    rates, gate = [0.0] * len(runs), threading.Barrier(len(runs))

    def call(index):
        for _ in range(warmup):
            runs[index]()
        gate.wait()
        rates[index] = rate_of(runs[index], seconds)
    callers = [threading.Thread(target=call, args=(index,)) for index in range(len(runs))]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return 1 / sum(rates)


def rate_of(run, seconds):
    count, begin = 0, time.perf_counter()
    while True:
        run()
        count += 1
        took = time.perf_counter() - begin
        if took >= seconds:
            return count / took


def make_openvino(job):
    import openvino
    compiled = openvino.Core().compile_model(str(job.model), "CPU", {
        "PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": str(job.threads), "INFERENCE_PRECISION_HINT": "f32"})
    queue = openvino.AsyncInferQueue(compiled)
    for request in queue:
        for name, array in own(job.inputs).items():
            request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def run():
        queue.start_async()
        queue.wait_all()

    def measure(seconds, warmup):
        for _ in range(warmup * len(queue)):
            queue.start_async()
        queue.wait_all()
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            queue.start_async()  # waits for a request that is free
            count += 1
        queue.wait_all()
        return [(time.perf_counter() - begin) / count]
    detail = {"streams": int(compiled.get_property("NUM_STREAMS")), "requests": len(queue)}
    outputs = range(len(job.outputs))
    return contestants.Runner(run, lambda _: [queue[0].get_output_tensor(i).data for i in outputs], detail, measure)
