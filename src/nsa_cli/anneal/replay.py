"""Work on tensors that stay where they are, done again and again: on a GPU replayed as a CUDA graph.

A step of the reference engine is some hundred small kernels, and to launch them one by one takes longer than
they do. A graph launches them all at once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

#: Calls before the capture. They make what is made at first use: handles, workspaces, compiled kernels.
_WARM_UP = 3


class Replay:
    """A function without arguments, whose results are changes of tensors, done many times in a row.

    On a CUDA device the first calls are made one by one, and then one is captured. All run on a stream of
    their own, as a capture has to, which waits for the current one and which the current one waits for: the
    host waits for neither. On other devices it is called.

    Parameters
    ----------
    work : callable
        What it reads and writes is at the same addresses in each call, and it does the same operations; it
        makes no random numbers, and never waits for the device.
    device : torch.device
    captured : bool
        False to call it on CUDA devices, too.
    """

    def __init__(self, work: Callable[[], None], device: torch.device, *, captured: bool = True) -> None:
        self._work, self._cold = work, _WARM_UP
        self._stream: torch.cuda.Stream | None = None
        if captured and device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._replayed: Callable[[], None] | None = None

    @property
    def is_captured(self) -> bool:
        """Whether the next call is a replay."""
        return self._replayed is not None

    def run(self, times: int) -> None:
        """Do the work some times."""
        if self._stream is None:
            for _ in range(times):
                self._work()
            return
        before = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(before)
        with torch.cuda.stream(self._stream):
            for _ in range(times):
                self._next(self._stream)
        before.wait_stream(self._stream)

    def _next(self, stream: torch.cuda.Stream) -> None:
        """Do the work once: by itself while cold, then by a replay; to capture does not do it."""
        if self._cold:
            self._cold -= 1
            self._work()
            return
        if self._replayed is None:
            self._replayed = capture(self._work, stream)
        self._replayed()


def capture(work: Callable[[], None], stream: torch.cuda.Stream) -> Callable[[], None]:
    """Record the kernels of some work as a graph on a stream, without running them; give what replays it."""
    graph = torch.cuda.CUDAGraph()
    # Another thread may use the device meanwhile, as NCCL's does: that is no fault of this capture.
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        work()
    return graph.replay
