"""Attacks on the protocol, on the types of what is returned, and from inside the interpreter."""

from hostile.arena import Attack


def frame(body: str) -> str:
    """Return code that writes one frame with the msgpack of `body` to the channel."""
    return f"""
        import msgspec
        data = msgspec.msgpack.encode({body})
        frame_out(len(data).to_bytes(4, "little") + data)
    """


REPLY = '[{instance}, "forged", 1.0, True, False, False, b"", None]'

PROTOCOL = [
    Attack("garbage", 'frame_out(b"\\xff" * 64)', expect="protocol"),
    Attack("a giant frame", 'frame_out((2**31).to_bytes(4, "little"))', expect="protocol"),
    Attack("a false length", 'frame_out((9999).to_bytes(4, "little") + b"x")'),
    Attack("an empty frame", 'frame_out(b"\\0\\0\\0\\0")', expect="protocol"),
    Attack("nesting", """
        data = b"\\x91" * 60_000 + b"\\xc0"
        frame_out(len(data).to_bytes(4, "little") + data)
    """, expect="protocol"),
    Attack("a wrong request id", frame(f"[1234, [{REPLY.format(instance=0)}]]"), expect="protocol"),
    Attack("a reply for another instance",
           frame(f"[own_request(), [{REPLY.format(instance=1)}]]"), expect="protocol"),
    Attack("a reply for no instance",
           frame(f"[own_request(), [{REPLY.format(instance=4_000_000)}]]"), expect="protocol"),
    Attack("a reply twice",
           frame(f"[own_request(), [{REPLY.format(instance=0)}, {REPLY.format(instance=0)}]]"),
           expect="protocol"),
    Attack("too many replies",
           frame(f"[own_request(), [{REPLY.format(instance=0)}] * 1000]"), expect="protocol"),
    Attack("no replies", frame("[own_request(), []]"), expect="protocol"),
    Attack("a forged infinite reward",
           frame('[own_request(), [[0, "x", float("inf"), True, False, False, b"", None]]]'),
           expect="protocol"),
    Attack("a forged nan reward",
           frame('[own_request(), [[0, "x", float("nan"), True, False, False, b"", None]]]'),
           expect="protocol"),
    Attack("a forged long observation",
           frame('[own_request(), [[0, "x" * 20_000, 0.0, True, False, False, b"", None]]]'),
           expect="protocol"),
    Attack("a forged long info",
           frame('[own_request(), [[0, "x", 0.0, True, False, False, b"x" * 9000, None]]]'),
           expect="protocol"),
    Attack("a forged nested info",
           frame('[own_request(), [[0, "x", 0.0, True, False, False,'
                 ' b"\\x81\\xa1a" + b"\\x91" * 900 + b"\\xc0", None]]]'),
           expect="protocol"),
    Attack("an info of extension types",
           frame('[own_request(), [[0, "x", 0.0, True, False, False,'
                 ' b"\\x81\\xa1a\\xd4\\x05\\x00", None]]]'),
           expect="protocol"),
    Attack("a forged fault kind",
           frame('[own_request(), [[0, "x", 0.0, True, False, False, b"", ["made-up", "", ""]]]]'),
           expect="protocol"),
    Attack("a forged long message",
           frame('[own_request(), [[0, "", 0.0, True, False, False, b"",'
                 ' ["crash", "m" * 9000, ""]]]]'),
           expect="protocol"),
    Attack("a reward of text",
           frame('[own_request(), [[0, "x", "1.0", True, False, False, b"", None]]]'),
           expect="protocol"),
    Attack("a reply ahead of time", frame("[own_request() + 1, []]"), expect="protocol"),
    Attack("bytes after the reply", """
        import atexit
        encode = sys._getframe(1).f_back
        frame_out(b"\\x01")
    """),
    Attack("pickle bytes", """
        frame_out(b"\\x80\\x04\\x95" + b"cposix\\nsystem\\n(S'true'\\ntR." + b"\\0" * 40)
    """),
    Attack("a forged interface", top="""
        import msgspec
        from spade_envs.sandbox import worker
        data = msgspec.msgpack.encode([own_request() if False else 0, {}, None])
        frame_out(len(data).to_bytes(4, "little") + data)
    """, expect="protocol", op="load"),
    Attack("a patched encoder", """
        from spade_envs.sandbox import worker
        worker._Channel.send = lambda self, message: frame_out(b"\\xff" * 9)
    """),
    Attack("a patched validator", """
        from spade_envs.sandbox import instances
        instances._reward = float
        return "x", float("inf"), False, False, {}
    """, expect="protocol"),
    Attack("a false progress counter", """
        frame = sys._getframe()
        while "counters" not in frame.f_locals:
            frame = frame.f_back
        frame.f_locals["counters"][0] = 77
        import posix
        posix._exit(1)
    """, expect="crash"),
]  # fmt: skip

TYPES = [
    Attack("nan reward", 'return "x", float("nan"), False, False, {}', expect="contract"),
    Attack("infinite reward", 'return "x", -float("inf"), False, False, {}', expect="contract"),
    Attack("reward of text", 'return "x", "1", False, False, {}', expect="contract"),
    Attack("reward of bool", 'return "x", True, False, False, {}', expect="contract"),
    Attack("huge integer reward", 'return "x", 10**400, False, False, {}', expect="exception"),
    Attack("observation of bytes", 'return b"x", 0.0, False, False, {}', expect="contract"),
    Attack("observation of None", "return None, 0.0, False, False, {}", expect="contract"),
    Attack("lone surrogate", 'return "\\ud800", 0.0, False, False, {}', expect="contract"),
    Attack("flag of text", 'return "x", 0.0, "no", False, {}', expect="contract"),
    Attack("flag of int", 'return "x", 0.0, 1, False, {}', expect="contract"),
    Attack("four values", 'return "x", 0.0, False, {}', expect="contract"),
    Attack("a list", 'return ["x", 0.0, False, False, {}]', expect="contract"),
    Attack("info of list", 'return "x", 0.0, False, False, []', expect="contract"),
    Attack("info with objects",
           'return "x", 0.0, False, False, {"a": object()}', expect="contract"),
    Attack("info with bytes", 'return "x", 0.0, False, False, {"a": b"\\x80"}', expect="contract"),
    Attack("info with number keys", 'return "x", 0.0, False, False, {1: 2}', expect="contract"),
    Attack("info with nan",
           'return "x", 0.0, False, False, {"a": float("nan")}', expect="contract"),
    Attack("info too large",
           'return "x", 0.0, False, False, {"a": "x" * 10**6}', expect="contract"),
    Attack("info that holds itself", """
        info = {}
        info["a"] = info
        return "x", 0.0, False, False, info
    """, expect="contract"),
    Attack("info too deep", """
        info = {}
        for _ in range(500):
            info = {"a": info}
        return "x", 0.0, False, False, info
    """, expect="contract"),
    Attack("a str with evil methods", """
        class Evil(str):
            def __len__(self): return -1
            def __getitem__(self, key): raise SystemError
            def encode(self, *a): return b"\\xff"
        return Evil("quiet"), 0.0, False, False, {}
    """),
    Attack("a float with evil methods", """
        class Evil(float):
            def __float__(self): return float("inf")
            def __sub__(self, other): return 0.0
        return "quiet", Evil(0.5), False, False, {}
    """, expect="contract"),
    Attack("a dict with evil methods", """
        class Evil(dict):
            def items(self): return iter([("a", object())])
        return "quiet", 0.0, False, False, Evil(a=1)
    """, expect="contract"),
    Attack("a tuple with evil methods", """
        class Evil(tuple):
            def __iter__(self): raise SystemExit
        return Evil(("quiet", 0.0, False, False, {}))
    """, expect="exception"),
    Attack("a lying class", """
        class Lie:
            __class__ = float
        return "quiet", Lie(), False, False, {}
    """),
    Attack("hint of the wrong type", hint="return 7", expect="contract", op="hint"),
    Attack("interface out of range", fields="levels = 10**9", expect="exception", op="load"),
    Attack("levels with evil comparison", fields="levels = type('I', (int,), {'__le__': "
           "lambda *a: True, '__ge__': lambda *a: True})(10**9)", op="load"),
]  # fmt: skip

OBJECTS = [
    Attack("unguarded getattr of gymnasium", """
        import gymnasium
        found = gymnasium.Env.get_wrapper_attr(self, "__class__").__mro__[-1].__subclasses__()
        for cls in found:
            if cls.__name__ == "_wrap_close":
                cls.__init__.__globals__["system"]("touch <folder>/escaped")
                cls.__init__.__globals__["open"]("<secret>", 0)
                return "REACHED", 0, False, False, {}
    """),
    Attack("memory through a bit generator", """
        import numpy as np
        ctypes = find("ctypes")
        interface = np.random.PCG64(1).ctypes
        lib = ctypes.CDLL(None)
        if lib.open(b"<secret>", 0) >= 0:
            return "REACHED", 0, False, False, {}
    """),
    Attack("memory through an array", """
        import numpy as np
        view = np.zeros(4)
        address = view.ctypes.data
        wide = np.lib.stride_tricks.as_strided(view, shape=(1 << 16,))
        wide[:] = 7.0
    """),
    Attack("builtins through a function", """
        opener = TextEnv.reset.__globals__["__builtins__"]["open"]
        return "REACHED " + opener("<secret>").read(), 0, False, False, {}
    """),
    Attack("modules through a loader", """
        loader = sys.modules["json"].__spec__.loader
        return "REACHED " + loader.get_data("<secret>").decode(), 0, False, False, {}
    """),
    Attack("change gymnasium", """
        import gymnasium
        gymnasium.Env.reset = lambda *a, **k: ("REACHED", {})
        gymnasium.Env.metadata["hacked"] = True
    """),
    Attack("change the standard library", """
        import random, json, re
        random.Random.random = lambda self: 0.0
        json.dumps = lambda *a, **k: "REACHED"
        re.compile = None
    """),
    Attack("change the builtins", """
        import builtins
        builtins.len = lambda x: 0
        builtins.isinstance = lambda *a: True
        builtins.type = None
    """),
    Attack("change the serializer", """
        import msgspec
        msgspec.msgpack.Encoder = None
        msgspec.msgpack.encode = lambda *a: b"REACHED"
    """),
    Attack("change its own instance table", """
        frame = sys._getframe()
        while "self" not in frame.f_locals or not hasattr(frame.f_locals["self"], "envs"):
            frame = frame.f_back
        frame.f_locals["self"].envs.clear()
        raise ValueError
    """, expect="exception"),
    Attack("trace every call", """
        sys.settrace(lambda *a: None)
        sys.setprofile(lambda *a: None)
    """),
    Attack("an audit hook that refuses", """
        sys.addaudithook(lambda event, args: (_ for _ in ()).throw(RuntimeError(event)))
    """),
    Attack("signal handler on every signal", """
        import signal
        signal.signal(signal.SIGALRM, lambda *a: None)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    """),
    Attack("collector off and frozen", "import gc; gc.disable(); gc.freeze()"),
    Attack("run text",
           'exec("x = open(\'<secret>\').read()"); return "REACHED", 0, False, False, {}'),
    Attack("unpickle", """
        import pickle
        pickle.loads(b"cposix\\nsystem\\n(S'touch <folder>/pickled'\\ntR.")
    """),
    Attack("marshal", 'import marshal; exec(marshal.loads(b"\\xe3" + b"\\xff" * 50))'),
    Attack("two environments in one file", top="""
        class Other(TextEnv): pass
    """, expect="exception", op="load"),
    Attack("no environment", top="raise SystemExit", expect="exception", op="load"),
]  # fmt: skip

INSIDE = PROTOCOL + TYPES + OBJECTS
