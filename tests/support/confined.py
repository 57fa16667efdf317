"""Runs Python code in a process that the kernel ends if it opens an internet socket.

    python confined.py CODE [ARGUMENT …]

The filter holds for every thread and child of the process, and for native code as for Python. Exits
with UNSUPPORTED where there are no such filters.
"""

import ctypes
import platform
import sys

UNSUPPORTED = 77
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}
INET, INET6 = 2, 10
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
KILL, ALLOW = 0x8000_0000, 0x7FFF_0000
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in what a filter sees of a call
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2


class Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(Instruction)))


def confine() -> bool:
    """Installs the filter; returns False if it cannot be."""
    call = SOCKET_CALL.get(platform.machine())
    if sys.platform != "linux" or call is None:
        return False
    steps = (Instruction * 7)(
        (LOAD, 0, 0, NUMBER),
        (EQUAL, 0, 4, call),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUAL, 1, 0, INET),
        (EQUAL, 0, 1, INET6),
        (RETURN, 0, 0, KILL),
        (RETURN, 0, 0, ALLOW),
    )
    program = Program(len(steps), steps)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    address = ctypes.addressof(program)
    return not prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) and not prctl(
        SET_SECCOMP, FILTER_MODE, address, 0, 0
    )


if __name__ == "__main__":
    if not confine():
        sys.exit(UNSUPPORTED)
    sys.argv[:] = sys.argv[1:]
    exec(compile(sys.argv[0], "<confined>", "exec"), vars(sys.modules["__main__"]))
