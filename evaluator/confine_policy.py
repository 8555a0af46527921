"""What a confined worker may still reach: the policy, its defaults, a clean environment."""

from __future__ import annotations

import glob
import importlib.util
import os
import site
import sys
import sysconfig
from dataclasses import dataclass

_SYSTEM_PATHS = (
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/proc",
    "/sys",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_KEPT_VARIABLES = (
    "PATH",
    "LANG",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "TORCH_CUDA_ARCH_LIST",
    "OMP_NUM_THREADS",
    "OPENBLAS_CORETYPE",
)


@dataclass(frozen=True)
class Policy:
    """What stays within reach; everything else is refused. All paths exist.

    `read_only` may be read and executed, `read_write` are folders to work in (building and
    running programs included), `devices` are device files or folders of them. `max_tasks` counts
    processes and threads, `max_file_bytes` is per file, `max_data_bytes` bounds the heap (None:
    no bound; an address space limit is never set, CUDA reserves far more than it uses).
    `name_threads` lets the process write under its own /proc/self/task, as CUDA must.
    """

    read_only: tuple[str, ...]
    read_write: tuple[str, ...]
    devices: tuple[str, ...]
    max_file_bytes: int = 4 << 30
    max_open_files: int = 4096
    max_tasks: int = 2048
    max_data_bytes: int | None = None
    name_threads: bool = False


def default_policy(
    work_dir: str, python_roots: tuple[str, ...] | None = None, *, cuda: bool
) -> Policy:
    """The policy of a worker that imports torch, builds with gcc or nvcc and computes.

    Args:
        work_dir: its private folder, which must exist; the only place it can write to.
        python_roots: more to read besides the system: folders of Python and of code that the
            worker imports. The interpreter's own (`python_roots()`) are always among them.
        cuda: also the NVIDIA devices and what the CUDA driver needs to start.

    Not within reach: home folders, /etc but for the loader's files, /tmp, /dev/shm, /run, the
    repository and other workers' folders.
    """
    roots = (*_interpreter_roots(), *(python_roots or ()))
    devices = _DEVICES
    if cuda:
        devices += tuple(sorted(glob.glob("/dev/nvidia*")))
        # CUDA_HOME may lie outside /usr; driver libraries may be named by LD_LIBRARY_PATH.
        roots += tuple(
            os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ
        )
        roots += tuple(p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p)
        roots += tuple(sorted(glob.glob("/opt/cuda*") + glob.glob("/opt/nvidia*")))
    return Policy(
        read_only=_existing((*_SYSTEM_PATHS, *roots)),
        read_write=(os.path.realpath(work_dir),),
        devices=_existing(devices),
        name_threads=cuda,
    )


def python_roots() -> tuple[str, ...]:
    """Folders that this interpreter and its torch and triton live in, without importing them."""
    return _existing(_interpreter_roots())


def _interpreter_roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    roots = [sys.prefix, sys.base_prefix, paths["stdlib"], paths["purelib"], paths["platlib"]]
    roots += site.getsitepackages()
    for name in ("torch", "triton", "numpy"):  # on PYTHONPATH, or installed for this user alone
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            roots.append(os.path.dirname(os.path.dirname(spec.origin)))
    return tuple(roots)


def _existing(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The real paths of those that exist, each once, none that lies beneath another."""
    real = sorted({os.path.realpath(path) for path in paths if os.path.exists(path)})
    kept: list[str] = []
    for path in real:
        if not any(path.startswith(above + "/") for above in kept):
            kept.append(path)
    return tuple(kept)


def scrubbed_environment(work_dir: str) -> dict[str, str]:
    """A worker's environment: only what finding CUDA and compilers takes, caches in `work_dir`."""
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    caches = {
        "TRITON_CACHE_DIR": "triton",
        "TORCH_EXTENSIONS_DIR": "extensions",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "CUDA_CACHE_PATH": "cuda",
    }
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        **environment,
        **{name: os.path.join(work_dir, folder) for name, folder in caches.items()},
        "HOME": work_dir,
        "TMPDIR": work_dir,
        "USER": "worker",
        "LOGNAME": "worker",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        # Worker processes of torch.compile would need semaphores in /dev/shm.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
