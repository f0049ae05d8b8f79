"""A torch device in Python: its tensors are those of the CPU, but no operation takes them together with tensors of the host.

It gives the same numbers as the CPU, and counts what costs time on a GPU: numbers that the host waits for, and copies.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils import backend_registration
from torch.utils._pytree import tree_leaves, tree_map

NAME = "elsewhere"
COUNTS: Counter[str] = Counter()  # "number", "back" and "there": numbers read, copies to the host and to the device
_COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class Elsewhere(torch.Tensor):
    """A tensor on the device; `own` is the tensor of the CPU behind it."""

    own: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, own: torch.Tensor) -> Elsewhere:
        found: Elsewhere = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, own.size(), strides=own.stride(), storage_offset=own.storage_offset(), dtype=own.dtype,
            device=torch.device(NAME, 0),
        )  # fmt: skip
        found.own = own
        return found

    @property
    def data(self) -> Any:
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        torch.Tensor.data.__set__(self, value)  # type: ignore[attr-defined]
        self.own = value.own

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _applied(operation, args, kwargs or {})


def _on_device(place: Any) -> bool:
    return torch.device(place).type == NAME


def _applied(operation: Any, args: Any, kwargs: Any) -> Any:
    """The operation on the tensors of the CPU; RuntimeError for tensors of both devices, but single numbers."""
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    there = [x for x in tensors if isinstance(x, Elsewhere)]
    here = [x for x in tensors if not isinstance(x, Elsewhere)]
    name, place = str(operation).split(".")[1], kwargs.get("device")
    result_there = bool(there) if place is None else _on_device(place)
    if operation in _COPIES:
        to = isinstance(args[0], Elsewhere) if operation is torch.ops.aten.copy_.default else result_there
        if to != (bool(there) if operation is _COPIES[0] else isinstance(args[1], Elsewhere)):
            COUNTS["there" if to else "back"] += 1
    elif there and any(x.ndim for x in here):
        raise RuntimeError(f"{operation}: tensors on two devices")
    COUNTS["number"] += operation is torch.ops.aten._local_scalar_dense.default
    own_args, own = tree_map(lambda x: x.own if isinstance(x, Elsewhere) else x, (args, dict(kwargs)))
    if place is not None:
        own["device"] = torch.device("cpu")
    result = operation(*own_args, **own)
    if name.endswith("_") and not name.endswith("__"):  # in place
        return args[0]
    if "out" in kwargs:
        return kwargs["out"]
    return tree_map(lambda x: Elsewhere(x) if isinstance(x, torch.Tensor) and result_there else x, result)


class _Module:
    """torch's module of the device.  Other tests of this process see no such device: then `present` is false."""

    present = False

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return self.present

    def device_count(self) -> int:
        return int(self.present)

    def current_device(self) -> int:
        return 0

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """It draws nothing itself."""


MODULE = _Module()


def available() -> bool:
    """Whether this torch can have such a device; if so, from now on there is one while `MODULE.present`."""
    if not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
        return False
    if torch._C._get_privateuse1_backend_name() != NAME:
        backend_registration._setup_privateuseone_for_python_backend(NAME, MODULE)
        _LIBRARY.fallback(lambda operation, *args, **kwargs: _applied(operation, args, kwargs), "PrivateUse1")
    return True


_LIBRARY = torch.library.Library("_", "IMPL")  # torch forgets the device with it


def moved(make: Any) -> Any:
    """torch.tensor and others, which make tensors of the device on the host and copy them there, as for a GPU."""

    def made(data: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is None or not _on_device(device):
            return make(data, *args, **({} if device is None else {"device": device}), **kwargs)
        if isinstance(data, torch.Tensor):
            return data.to(device=device, dtype=kwargs.get("dtype") or data.dtype)
        return make(data, *args, **kwargs).to(device)

    return made
