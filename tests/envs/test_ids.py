import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_envs.errors import IdError
from spade_envs.ids import MAX_NAME_CHARS, EnvId, check_digest, check_name, slugify

slugs = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)


def _usable(name):
    try:
        check_name(name)
    except IdError:
        return False
    return True


@given(slugs.filter(_usable), st.none() | st.integers(0, 10**6))
def test_an_id_reads_back_as_it_was_written(name, version):
    env_id = EnvId(name, version)
    assert EnvId.parse(str(env_id)) == env_id


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("spade/maze-v0", "maze", 0),
        ("maze", "maze", None),
        ("maze-v12", "maze", 12),
        ("spade/alice.maze-v2", "alice.maze", 2),
        ("spade/big-maze", "big-maze", None),
    ],
)
def test_parse(text, name, version):
    assert EnvId.parse(text) == EnvId(name, version)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "spade/",
        "Maze",
        "maze-v01",
        "maze-v0.1",
        "other/maze-v0",
        "spade/a/b-v0",
        "../maze",
        "ma ze",
        "maze@1",
        "a.b.c",
        "maze-v1-v2",
        "con",
        "alice.nul",
        "mäze",
        "maze\n",
        "a" * (MAX_NAME_CHARS + 1),
    ],
)
def test_what_is_no_id_is_refused(text):
    with pytest.raises(IdError):
        EnvId.parse(text)


@given(st.text(max_size=200))
def test_any_text_gives_an_id_or_an_id_error(text):
    try:
        env_id = EnvId.parse(text)
    except IdError:
        return
    assert str(env_id).removeprefix("spade/") == text.removeprefix("spade/")


@given(st.text(max_size=100))
def test_a_slug_can_always_name_an_environment(text):
    assert check_name(slugify(text))


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("GraphColoring: hard!", "graph-coloring-hard"),
        ("", "env"),
        ("Maze-v3", "maze"),
        ("é", "env"),
    ],
)
def test_slugify(text, slug):
    assert slugify(text) == slug


def test_digests():
    good = "sha256:" + "0" * 64
    assert check_digest(good) == good
    for bad in ("sha256:" + "0" * 63, "0" * 64, "SHA256:" + "0" * 64, good + "\n"):
        with pytest.raises(IdError, match="is not a digest"):
            check_digest(bad)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("alice/dial", "spade/alice.dial"),
        ("alice/dial@3", "spade/alice.dial-v3"),
        ("alice.dial@v3", "spade/alice.dial-v3"),
        ("spade/alice/dial-v0", "spade/alice.dial-v0"),
        ("dial@3", "spade/dial-v3"),
        ("dial@latest", "spade/dial"),
        ("a/b/c", "spade/maze-v0"),
    ],
)
def test_a_name_as_pull_takes_it_is_told_as_an_id(text, meant):
    with pytest.raises(IdError, match=f"; write it like '{meant}'$"):
        EnvId.parse(text)


@pytest.mark.parametrize("text", ["maze-v01", "con", "spade/Maze", f"maze-v{'9' * 5000}"])
def test_a_name_that_can_be_none_says_why(text):
    with pytest.raises(IdError) as refused:
        EnvId.parse(text)
    assert "write it like" not in str(refused.value)


def test_a_file_is_told_how_to_become_an_environment():
    with pytest.raises(IdError, match=r"is not .*`spade-envs add` registers it$"):
        EnvId.parse("mine/maze.py")
