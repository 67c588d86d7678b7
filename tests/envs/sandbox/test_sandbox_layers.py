"""Which layers are enough, and what is said where they are not."""

import pytest

from spade_envs.errors import IsolationUnavailable
from spade_envs.sandbox import layers, seccomp


def test_the_standard_needs_landlock_or_namespaces_with_an_empty_root():
    base = {"no-new-privs", "seccomp", "rlimits"}
    assert layers.missing(base | {"landlock"}, layers.REQUIRED) == []
    assert layers.missing(base | {"namespaces", "empty-root"}, layers.REQUIRED) == []
    lacking = layers.missing(base | {"namespaces"}, layers.REQUIRED)
    assert len(lacking) == 1
    assert "landlock" in lacking[0]
    assert layers.missing(base, layers.REQUIRED, either=False) == []


@pytest.mark.parametrize("name", sorted(layers.REQUIRED))
def test_a_missing_layer_is_named_with_its_mend(name):
    lacking = layers.missing(set(layers.ALL) - {name}, layers.REQUIRED)
    assert len(lacking) == 1
    assert lacking[0].startswith(f"{name} (")
    with pytest.raises(IsolationUnavailable, match=name):
        layers.refuse_missing(lacking)


def test_without_libseccomp_the_mend_is_told(monkeypatch):
    def fail():
        raise RuntimeError("Unable to find libseccomp")

    monkeypatch.setattr(seccomp, "_import", fail)
    with pytest.raises(seccomp.Unavailable, match="libseccomp2"):
        seccomp.build_filter()


def test_the_allow_list_holds_nothing_that_reaches_out():
    reaching = {"open", "openat", "socket", "connect", "clone", "fork", "execve", "kill", "ioctl"}
    reaching |= {"prctl", "stat", "unlink", "mkdir", "sendmsg", "recvmsg", "dup", "pipe"}
    assert not reaching & set(seccomp.ALLOWED)
    assert not set(seccomp.ALLOWED) & set(seccomp.KILLED)
