"""Attacks on what lies outside: files, secrets, the network, other processes, the kernel."""

from hostile.arena import Attack

FILES = [
    Attack("read a file", 'return "REACHED " + open("<secret>").read(), 0, False, False, {}'),
    Attack(
        "read through posix",
        """
        import posix
        fd = posix.open("<secret>", 0)
        return "REACHED " + posix.read(fd, 99).decode(), 0, False, False, {}
    """,
    ),
    Attack(
        "read through _io",
        """
        import _io
        return "REACHED " + _io.FileIO("<secret>").read().decode(), 0, False, False, {}
    """,
    ),
    Attack("read at load", top='DATA = open("<secret>").read()', expect="exception", op="load"),
    Attack(
        "read the password file",
        """
        return "REACHED " + open("/etc/passwd").read(), 0, False, False, {}
    """,
    ),
    Attack(
        "read its own environment",
        """
        return "REACHED " + open("/proc/self/environ").read(), 0, False, False, {}
    """,
    ),
    Attack(
        "read memory of process 1",
        """
        return "REACHED " + str(open("/proc/1/maps", "rb").read(9)), 0, False, False, {}
    """,
    ),
    Attack(
        "write a file",
        """
        open("<folder>/written", "w").write("x")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "overwrite a file",
        """
        import posix
        posix.truncate("<secret>", 0)
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "delete a file",
        """
        import posix
        posix.unlink("<secret>")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "link a file",
        """
        import posix
        posix.link("<secret>", "<folder>/linked")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "make a folder",
        """
        import posix
        posix.mkdir("<folder>/made")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "list a folder",
        """
        import posix
        return "REACHED " + str(posix.listdir("/")), 0, False, False, {}
    """,
    ),
    Attack(
        "stat a file",
        """
        import posix
        return "REACHED " + str(posix.stat("<secret>")), 0, False, False, {}
    """,
    ),
    Attack(
        "stat by raw call",
        """
        ctypes, _ = libc()
        room = ctypes.create_string_buffer(512)
        names = {"x86_64": 262, "aarch64": 79}
        for number in names.values():
            try:
                raw(number, -100, b"<secret>", room, 0)
                return "REACHED", 0, False, False, {}
            except OSError:
                pass
    """,
    ),
    Attack(
        "change the root",
        """
        import posix
        posix.chroot("/")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "a file through numpy",
        """
        import numpy as np
        return "REACHED " + str(np.fromfile("<secret>", dtype="S1")), 0, False, False, {}
    """,
    ),
    Attack(
        "dump an array",
        """
        import numpy as np
        np.zeros(3).dump("<folder>/dumped")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "save an array",
        """
        import numpy as np
        np.save("<folder>/saved", np.zeros(3))
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "map a file",
        """
        import numpy as np
        np.memmap("<folder>/mapped", mode="w+", shape=(3,))
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "load a pickle file",
        """
        import numpy as np
        return "REACHED " + str(np.load("<secret>", allow_pickle=True)), 0, False, False, {}
    """,
    ),
    Attack(
        "load a library",
        """
        ctypes, _ = libc()
        ctypes.CDLL("libm.so.6")
        ctypes.CDLL("<secret>")
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "import from disk",
        """
        sys.path.append("<folder>")
        import secret_module
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "read source through linecache",
        """
        import linecache
        text = "".join(linecache.getlines("<secret>"))
        if text:
            return "REACHED " + text, 0, False, False, {}
    """,
    ),
]

SECRETS = [
    Attack(
        "environment variable",
        """
        import posix
        value = posix.environ.get(b"<variable>")
        if value:
            return "REACHED " + str(value), 0, False, False, {}
    """,
    ),
    Attack(
        "environment by getenv",
        """
        ctypes, lib = libc()
        lib.getenv.restype = ctypes.c_char_p
        value = lib.getenv(b"<variable>")
        if value:
            return "REACHED " + str(value), 0, False, False, {}
    """,
    ),
    Attack(
        "inherited descriptors",
        """
        import posix
        for fd in range(4, 512):
            try:
                posix.lseek(fd, 0, 1)
                return f"REACHED {fd}", 0, False, False, {}
            except OSError as error:
                if error.errno != 9:
                    return f"REACHED {fd} {error}", 0, False, False, {}
    """,
    ),
    Attack(
        "another worker's source in memory",
        """
        import gc
        marker = "HIDD" + "EN = "
        for item in gc.get_objects():
            if isinstance(item, dict):
                for value in list(item.values()):
                    if isinstance(value, str) and marker in value and "find(name)" not in value:
                        return "REACHED " + value[-60:], 0, False, False, {}
    """,
    ),
    Attack(
        "command line of the host",
        """
        return "REACHED " + str(open("/proc/<host>/cmdline", "rb").read()), 0, False, False, {}
    """,
    ),
    Attack(
        "stdin",
        """
        text = sys.stdin.read()
        if text:
            return "REACHED " + text, 0, False, False, {}
    """,
    ),
]

SECRETS += [
    Attack(
        "a file left open as standard stream",
        """
        import posix
        for fd in (0, 1, 2):
            if posix.lseek(fd, 12345, 0) != 0:  # the null device stays at 0, a file would not
                return f"REACHED {fd}", 0, False, False, {}
    """,
    ),
]

NETWORK = [
    Attack(
        "tcp by module",
        """
        socket = find("socket")
        socket.create_connection(("127.0.0.1", <tcp>), 1)
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "tcp by raw call",
        """
        ctypes, lib = libc()
        fd = lib.socket(2, 1, 0)
        port = int("<tcp>")
        address = b"\\x02\\0" + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
        if fd >= 0 and lib.connect(fd, address, 16) == 0:
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "udp by raw call",
        """
        ctypes, lib = libc()
        fd = lib.socket(2, 2, 0)
        port = int("<udp>")
        address = b"\\x02\\0" + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
        if fd >= 0 and lib.sendto(fd, b"hi", 2, 0, address, 16) == 2:
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "abstract unix socket",
        """
        ctypes, lib = libc()
        fd = lib.socket(1, 1, 0)
        address = b"\\x01\\0\\0" + b"<unix>"
        if fd >= 0 and lib.connect(fd, address, len(address)) == 0:
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "open a listener",
        """
        ctypes, lib = libc()
        fd = lib.socket(2, 1, 0)
        if fd >= 0:
            return f"REACHED {fd}", 0, False, False, {}
    """,
    ),
    Attack(
        "a socket pair",
        """
        ctypes, lib = libc()
        pair = (ctypes.c_int * 2)()
        if lib.socketpair(1, 1, 0, pair) == 0:
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "netlink",
        """
        ctypes, lib = libc()
        if lib.socket(16, 3, 0) >= 0:
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "send over the channel to an address",
        """
        ctypes, lib = libc()
        port = int("<udp>")
        address = b"\\x02\\0" + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
        lib.sendto(3, b"", 0, 0, address, 16)
    """,
    ),
]

PROCESSES = [
    Attack(
        "fork",
        """
        import posix
        pid = posix.fork()
        return f"REACHED {pid}", 0, False, False, {}
    """,
    ),
    Attack(
        "fork bomb",
        """
        import posix
        while True:
            try:
                posix.fork()
            except OSError:
                return "refused", 0, False, False, {}
    """,
    ),
    Attack(
        "vfork by raw call",
        """
        for number in (58, 57, 220, 56):
            try:
                if raw(number, 17, 0, 0, 0, 0) > 0:
                    return "REACHED", 0, False, False, {}
            except OSError:
                pass
    """,
    ),
    Attack("exec", 'import posix; posix.execv("/bin/true", ["true"])'),
    Attack(
        "spawn",
        """
        import posix
        pid = posix.posix_spawn("/bin/true", ["true"], {})
        return f"REACHED {pid}", 0, False, False, {}
    """,
    ),
    Attack(
        "system",
        """
        import posix
        if posix.system("true") == 0:
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "subprocess",
        """
        subprocess = find("subprocess")
        subprocess.run(["true"])
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "a thread",
        """
        import _thread
        _thread.start_new_thread(print, ())
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "kill the parent",
        """
        import posix
        posix.kill(posix.getppid(), 9)
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack("kill process 1", "import posix; posix.kill(1, 9)"),
    Attack("kill all", "import posix; posix.kill(-1, 9)"),
    Attack("kill the host", "import posix; posix.kill(<host>, 9)"),
    Attack(
        "signal by raw call",
        """
        for number in (62, 200, 234, 129, 424):
            try:
                raw(number, 1, 0, 0, 0)
            except OSError:
                continue
            return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "raise its own limits",
        """
        resource = find("resource")
        resource.setrlimit(resource.RLIMIT_NPROC, (100, 100))
        return "REACHED", 0, False, False, {}
    """,
    ),
    Attack(
        "raise its own priority",
        """
        import posix
        posix.nice(-5)
        return "REACHED", 0, False, False, {}
    """,
    ),
]

KERNEL = [
    Attack("ptrace", "raw(101, 0, 0, 0, 0)"),
    Attack("trace the parent", "raw(101, 16, 1, 0, 0); raw(117, 16, 1, 0, 0)"),
    Attack("unshare",
           'raw(272, 0x10000000); return "REACHED", 0, False, False, {}', expect="crash"),
    Attack("io_uring", """
        ctypes, _ = libc()
        raw(425, 8, ctypes.create_string_buffer(256))
        return "REACHED", 0, False, False, {}
    """, expect="crash"),
    Attack("bpf", 'raw(321, 0, 0, 0); return "REACHED", 0, False, False, {}', expect="crash"),
    Attack("userfaultfd", 'raw(323, 0); return "REACHED", 0, False, False, {}', expect="crash"),
    Attack("executable memory", """
        ctypes, lib = libc()
        lib.mmap.restype = ctypes.c_void_p
        at = lib.mmap(None, 4096, 7, 0x22, -1, 0)
        if at not in (None, 2**64 - 1):
            return "REACHED", 0, False, False, {}
    """),
    Attack("make memory executable", """
        ctypes, lib = libc()
        lib.mmap.restype = ctypes.c_void_p
        at = lib.mmap(None, 4096, 3, 0x22, -1, 0)
        if lib.mprotect(ctypes.c_void_p(at), 4096, 5) == 0:
            return "REACHED", 0, False, False, {}
    """),
    Attack("shellcode in a callback", """
        ctypes, lib = libc()
        call = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)
        call()
    """),
    Attack("a 32-bit call", """
        for number in (0x40000000 + 39, 0x40000000 + 2):
            try:
                raw(number, b"<secret>", 0)
            except OSError:
                continue
            return "REACHED", 0, False, False, {}
    """),
    Attack("prctl", """
        ctypes, lib = libc()
        if lib.prctl(4, 1, 0, 0, 0) == 0:
            return "REACHED", 0, False, False, {}
    """),
    Attack("memfd", 'raw(319, b"x", 0); return "REACHED", 0, False, False, {}'),
    Attack("pidfd of process 1", 'raw(434, 1, 0); return "REACHED", 0, False, False, {}'),
    Attack("keyctl", 'raw(250, 0, 0, 0); return "REACHED", 0, False, False, {}', expect="crash"),
    Attack("mount", 'raw(165, 0, b"/", 0, 0, 0); return "REACHED", 0, False, False, {}'),
    Attack("every system call", """
        ctypes, lib = libc()
        allowed = {0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 24, 25, 28, 35, 39, 44, 45,
                   60, 96, 98, 131, 186, 201, 202, 219, 228, 229, 230, 231, 271, 309, 318, 324}
        deadly = {101, 155, 161, 165, 166, 175, 246, 248, 249, 250, 272, 298, 303, 304, 308, 310,
                  311, 313, 321, 322, 323, 425, 426, 427, 59, 335, 336}
        answered = []
        for number in range(0, 470):
            if number in allowed or number in deadly:
                continue
            if lib.syscall(ctypes.c_long(number), -1, -1, -1, -1, -1, -1) >= 0:
                answered.append(number)
            elif ctypes.get_errno() not in (1, 38):
                answered.append((number, ctypes.get_errno()))
        if answered and find("struct").calcsize("P") == 8 and "x86" in "<machine>":
            return f"REACHED {answered}", 0, False, False, {}
    """),
]  # fmt: skip

OUTSIDE = FILES + SECRETS + NETWORK + PROCESSES + KERNEL
