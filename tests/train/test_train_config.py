import json
import tomllib

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from spade_envs.errors import ConfigError
from spade_envs.types import COGNITIVE_SKILLS, TOOL_SKILLS
from spade_train.cli import main
from spade_train.config import (
    Config,
    changed_keys,
    overlays,
    presets,
    read_config,
    resolve,
    to_toml,
)
from spade_train.config.layers import read_layer
from spade_train.config.problems import key_paths
from spade_train.frontier import FrontierSettings
from spade_train.potential import Potential
from spade_train.scores import ScoreSettings

PUBLIC = [name for name in presets() if not name.startswith("_")]
PAPER = [name for name in PUBLIC if name.startswith("paper-")]
LINE = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\x7f"),
    min_size=1,
    max_size=30,
)

# preset: model, updates, environments, batch, interval and delay, hint plays, their tokens, score,
# KL, designer's tokens, thinking, words of a document, skills in an epoch
PUBLISHED = {
    "paper-games-4b": (
        "Qwen/Qwen3-4B-Instruct-2507", 400, 24, 192, 4, 16, 4096, "blend", 0.0, 16384, False,
        6000, 3,
    ),
    "paper-games-8b": (
        "Qwen/Qwen3-8B", 400, 24, 192, 4, 16, 4096, "blend", 0.005, 20000, True, 6000, 3
    ),
    "paper-games-30b": (
        "Qwen/Qwen3-30B-A3B-Instruct-2507", 400, 24, 192, 4, 16, 4096, "blend", 0.0, 16384, False,
        6000, 3,
    ),
    "paper-tools-4b": (
        "Qwen/Qwen3-4B-Instruct-2507", 500, 16, 256, 32, 4, 512, "regret", 0.005, 16384, False,
        4000, 0,
    ),
    "paper-tools-8b": (
        "Qwen/Qwen3-8B", 400, 24, 192, 8, 16, 2048, "blend", 0.005, 20000, True, 4000, 0
    ),
    "paper-tools-30b": (
        "Qwen/Qwen3-30B-A3B-Instruct-2507", 400, 24, 192, 8, 16, 2048, "blend", 0.005, 16384, False,
        4000, 0,
    ),
}  # fmt: skip

# The same in every published launcher.
COMMON = {
    "run.save_interval": 16,
    "designer.attempts": 5,
    "designer.completions_per_brief": 1,
    "designer.baseline": "skill",
    "designer.gain": "role",
    "designer.gain_cap": 50.0,
    "designer.challenge": "medium",
    "designer.sampling.temperature": 0.6,
    "designer.sampling.top_p": 0.95,
    "designer.sampling.top_k": 20,
    "designer.score.regret_weight": 0.4,
    "designer.score.plateau_weight": 0.6,
    "designer.score.regret_scale": 0.15,
    "designer.score.band_low": 0.4,
    "designer.score.band_high": 0.6,
    "designer.score.band_ramp": 0.25,
    "designer.score.invalid_score": "untrained",
    "designer.score.gamma_fast": 0.98,
    "designer.score.gamma_slow": 0.85,
    "agent.max_turns": 25,
    "agent.max_context_tokens": 32768,
    "agent.sampling.temperature": 0.6,
    "agent.sampling.top_p": 0.95,
    "agent.sampling.top_k": 20,
    "agent.sampling.max_tokens": 8192,
    "hint.writer": "policy",
    "hint.sampling.temperature": 0.3,
    "corpus.seed": 42,
    "memory.size": 200,
    "memory.low": 0.15,
    "memory.high": 0.85,
    "memory.top": 10,
    "memory.examples": 2,
    "memory.avoid": 1,
    "pool.seed": 42,
    "levels.threshold": 0.9,
    "levels.enough": 128,
    "levels.width": 4,
    "levels.top": 20,
    "optimizer.learning_rate": 1e-6,
    "optimizer.schedule": "constant",
    "optimizer.beta1": 0.9,
    "optimizer.beta2": 0.98,
    "optimizer.weight_decay": 0.1,
    "optimizer.max_grad_norm": 1.0,
    "loss.clip_low": 0.2,
    "loss.clip_high": 0.28,
    "loss.importance_cap": 2.0,
    "loss.entropy": 0.0,
    "loss.per": "sample",
}


def at(config, path):
    value = config.model_dump(mode="json")
    for part in path.split("."):
        value = value[part]
    return value


def test_there_is_every_preset_and_overlay_that_is_promised():
    assert {*PUBLISHED, "quickstart", "smollm2-135m"} == set(PUBLIC)
    assert {
        "no-corpus", "no-memory", "no-designer-training", "solve-rate", "learning-potential",
        "two-skills", "fixed-pool", "broad-pool", "fixed-pool-sliding", "random-designer",
        "narrow-pool", "narrow-pool-sliding",
    } <= set(overlays())  # fmt: skip
    assert all(layer.about for layer in [*presets().values(), *overlays().values()])


@pytest.mark.parametrize("name", PAPER)
def test_published_constants(name):
    config = resolve(name)
    designer, hint = config.designer, config.hint
    assert designer.delay == designer.interval
    assert designer.sampling.thinking == config.agent.sampling.thinking
    assert PUBLISHED[name] == (
        config.model.path, config.run.updates, designer.environments, config.episodes_per_update,
        designer.interval, hint.episodes_per_env, hint.sampling.max_tokens, designer.score.name,
        config.loss.kl, designer.sampling.max_tokens, designer.sampling.thinking,
        config.corpus.max_words, designer.skills_per_epoch,
    )  # fmt: skip
    assert {path: at(config, path) for path in COMMON} == COMMON
    games = name.startswith("paper-games")
    assert designer.skills == (COGNITIVE_SKILLS if games else TOOL_SKILLS)
    assert config.gates.auditor == ("none" if games else "policy")
    assert config.agent.mask_truncated == config.agent.mask_malformed_calls == (not games)


def test_an_epoch_of_the_games_recipe_costs_what_the_published_one_does():
    config = resolve("paper-games-30b", settings=["run.updates=4"])
    assert config.planned_episodes == 768 + 384
    assert resolve("paper-games-30b", settings=["run.updates=5"]).planned_episodes == 5 * 192 + 768
    assert resolve("paper-games-30b", overlays=["fixed-pool"]).planned_episodes == 400 * 192


def test_defaults_are_those_of_the_maths():
    score = Config().designer.score
    assert score.settings() == ScoreSettings()
    assert score.settings().frontier == FrontierSettings()
    assert score.potential() == Potential()
    assert resolve("paper-tools-4b").designer.score.settings().invalid_score is None
    window = Config().levels.window(7)
    assert (window.low, window.high, window.top, window.enough, window.width) == (0, 0, 7, 128, 4)


@pytest.mark.parametrize("preset", PUBLIC)
@pytest.mark.parametrize("overlay", overlays())
def test_every_overlay_fits_every_preset(preset, overlay):
    if (overlay, preset[:11]) == ("two-skills", "paper-tools"):
        with pytest.raises(ConfigError, match=r"designer\.skills: .* no skill of setting"):
            resolve(preset, overlays=[overlay])
        return
    plain, config = resolve(preset), resolve(preset, overlays=[overlay])
    assert config.derived_from == (preset, overlay)
    assert config.name == f"{preset}+{overlay}"
    changed = set(changed_keys(plain, config)) - {"name", "derived_from"}
    wanted = read_config(overlays()[overlay].values, overlay)
    for path in changed:
        assert at(config, path) == at(wanted, path), path
    # Budget, batch and decoding stay as they were, so that runs can be compared.
    kept = ("budget.", "agent.sampling", "agent.episodes", "optimizer.", "designer.environments")
    assert not [path for path in changed if path.startswith(kept)]


def test_ablations_and_baselines_say_what_they_mean():
    def made(overlay):
        return resolve("paper-games-30b", overlays=[overlay])

    assert made("no-corpus").corpus.source == "none"
    assert not made("no-memory").memory.enabled
    untrained = made("no-designer-training").designer
    assert (untrained.train, untrained.weights, untrained.interval) == (False, "current", 4)
    random = made("random-designer")
    assert (random.designer.train, random.designer.weights) == (False, "initial")
    assert not random.memory.enabled
    assert made("solve-rate").designer.score.name == "solve_rate"
    assert made("learning-potential").designer.score.name == "learning_potential"
    assert made("two-skills").designer.skills == ("mathematical-reasoning", "pattern-recognition")
    for name, rule in (("fixed-pool", "uniform"), ("fixed-pool-sliding", "sliding")):
        config = made(name)
        assert (config.designer.interval, config.hint.episodes_per_env) == (0, 0)
        assert (config.pool.source, config.levels.rule) == ("designer", rule)
    assert made("broad-pool").pool.challenges == "even"
    for name, rule in (("narrow-pool", "uniform"), ("narrow-pool-sliding", "sliding")):
        config, wide = made(name), made(name.replace("narrow", "fixed"))
        assert set(changed_keys(config, wide)) - {"name", "derived_from"} == {
            "pool.challenges", "pool.skill_share"
        }  # fmt: skip
        assert (config.pool.challenges, config.pool.skill_share) == ("easy", 0.5)
        assert config.levels.rule == rule
    band = made("late-band").designer.score
    assert (band.band_low, band.band_high, band.band_ramp) == (0.2, 0.4, 0.2)


@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.parametrize("comments", [True, False])
def test_toml_reads_back_as_the_same_configuration(name, comments):
    config = resolve(name)
    text = to_toml(config, comments=comments)
    assert read_config(tomllib.loads(text), "again") == config
    assert max(map(len, text.splitlines())) < 400
    assert ("#" in text) == comments


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    title=LINE,
    model=LINE,
    rate=st.floats(0, 1e3),
    cap=st.floats(0, 1e300, exclude_min=True),
    invalid=st.floats(allow_nan=False, allow_infinity=False) | st.just("untrained"),
    seed=st.integers(0, 10**15),
    skills=st.lists(st.sampled_from([*COGNITIVE_SKILLS, *TOOL_SKILLS]), min_size=1, unique=True),
    servers=st.lists(LINE, min_size=1, max_size=3),
    guard=st.booleans(),
)
def test_any_configuration_survives_toml_and_single_settings(
    data, title, model, rate, cap, invalid, seed, skills, servers, guard
):
    wanted = {
        "name": title,
        "model.path": model,
        "optimizer.learning_rate": rate,
        "loss.importance_cap": cap,
        "designer.score.invalid_score": invalid,
        "run.seed": seed,
        "designer.skills": list(skills),
        "rollout.servers": servers,
        "designer.score.guard": guard,
    }
    texts = ["rollout.engine=vllm-server", "setting=mixed"]
    for path, value in wanted.items():
        text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
        texts.append(f"{path}={text}")
    config = resolve("quickstart", settings=data.draw(st.permutations(texts)))
    assert {path: at(config, path) for path in wanted} == wanted
    assert read_config(tomllib.loads(to_toml(config)), "again") == config
    assert read_config(json.loads(json.dumps(config.model_dump(mode="json"))), "json") == config


def test_every_key_can_be_set_to_what_it_is():
    config = resolve("paper-tools-8b", settings=["run.updates=7"])
    for path in key_paths(Config):
        value = at(config, path)
        text = value if isinstance(value, str) else json.dumps(value)
        again = resolve("paper-tools-8b", settings=["run.updates=7", f"{path}={text}"])
        assert at(again, path) == value, path
        assert changed_keys(config, again) == ()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("designer.scor.name=x", "did you mean designer.score.name?"),
        ("agent.temperature=1", "did you mean agent.sampling.temperature?"),
        ("xyz=1", "no such key; there are name, derived_from, setting"),
        ("agent.sampling=2", "that is a section; set one of agent.sampling.temperature"),
        ("levels.rule.x=1", "levels.rule has no keys below it"),
        ("run.updates", "needs the form key.path=value"),
        ("run.updates=1.5", "needs a whole number, not '1.5'"),
        ("run.updates=__import__('os')", 'needs a whole number, not "__import__'),
        ("run.seed=-1", "run.seed: must be >= 0, not -1"),
        ("sinks.tensorboard=yes", "needs true or false, not 'yes'"),
        ("designer.score.name=fronteir", "not 'fronteir'; did you mean 'frontier'?"),
        ("designer.score.invalid_score=hot", "needs a number or must be 'untrained', not 'hot'"),
        ("designer.gain=0", "must be > 0"),
        ("optimizer.learning_rate=nan", "needs a finite number"),
        (
            "designer.skills=optimization,foo",
            "designer.skills[1]: must be 'mathematical-reasoning'",
        ),
        ("designer.skills=[1]\nx = [2]", "needs one list"),
        ("designer.skills=", "name at least one skill"),
        ("designer.modes=game,game", "designer.modes: name none twice"),
        ("designer.modes=tool", "designer.modes: none of them exercises"),
        ("designer.modes=juggle", "designer.modes[0]: must be 'game'"),
        ("model.path=a\nb", "must be one line of text"),
        ("model.path=a\ud800", "surrogates not allowed"),
        ("designer.interval=0", "designer.train: nothing is designed with interval = 0"),
        ("designer.weights=initial", "designer.weights: initial weights are never trained"),
        ("agent.weights=initial", "agent.weights: initial weights are never trained"),
        ("designer.baseline=brief", "designer.completions_per_brief"),
        ("designer.completions_per_brief=5", "must divide environments = 32"),
        ("designer.score.band_low=0.7", "band_low: must not exceed band_high = 0.6"),
        ("designer.score.gamma_slow=0.99", "gamma_slow: must lie between 0 and gamma_fast"),
        ("agent.episodes_per_instance=1", "agent.episodes_per_instance"),
        ("agent.sampling.top_p=0", "agent.sampling.top_p: must be > 0.0, not 0"),
        ("agent.sampling.temperature=1e-40", "must be 0, for the likeliest token, or at least"),
        ("designer.sampling.temperature=0.0009", "designer.sampling.temperature: must be 0"),
        ("agent.sampling.max_tokens=9999", "must not exceed agent.max_context_tokens = 1024"),
        ("hint.episodes_per_env=0", "the score frontier needs regret"),
        ("pool.skill_share=0", "pool.skill_share: must be > 0.0, not 0"),
        ("pool.skill_share=1.5", "pool.skill_share: must be <= 1.0, not 1.5"),
        ("pool.challenges=eazy", "not 'eazy'; did you mean 'easy'?"),
        ("evaluation.source=pool", '"pool" needs a store in pool.source'),
        (
            "pool.source=starter",
            "designer.interval: must be 0 where environments come from a pool; the overlay",
        ),
        ("rollout.engine=vllm-server", "rollout.servers: give base URLs"),
        ("loss.designer_share=2", 'must lie in [0, 1], or be "by-samples"'),
        ("run.threads=1000000000000", "run.threads: must be <= 4096"),
        ("memory.low=0.9", "memory.low: must not exceed high = 0.85"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_mend(setting, words):
    with pytest.raises(ConfigError) as caught:
        resolve("quickstart", settings=[setting])
    assert words in str(caught.value)


def test_all_mistakes_of_a_file_are_listed_at_once(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'base = "quickstart"\n[loss]\nkl = true\nklx = 2\n[agent.sampling]\ntop_p = "x"\n'
        "[run]\nupdates = 2026-01-01\n"
    )
    with pytest.raises(ConfigError, match="cannot stand in a configuration"):
        resolve(file)
    file.write_text(file.read_text().replace("2026-01-01", '"5"'))
    with pytest.raises(ConfigError) as caught:
        resolve(file)
    assert str(caught.value).splitlines() == [
        f"{file}: 4 settings cannot be used:",
        "  run.updates: needs a whole number, not '5'",
        "  agent.sampling.top_p: needs a number, not 'x'",
        "  loss.kl: needs a number, not True",
        "  loss.klx: no such key; did you mean loss.kl?",
    ]


def test_layers_win_in_order(tmp_path):
    (tmp_path / "low.toml").write_text(
        'base = "paper-games-4b"\noverlays = ["no-memory", "solve-rate"]\n[run]\nseed = 1\n'
        '[designer.score]\nname = "regret"\n'
    )
    top = tmp_path / "top.toml"
    top.write_text('base = "low.toml"\nname = "mine"\n[run]\nupdates = 9\n')
    config = resolve(top, overlays=["no-corpus"], settings=["run.seed=2", "run.seed=3"])
    assert (config.name, config.run.seed, config.run.updates) == ("mine", 3, 9)
    assert (config.memory.enabled, config.designer.score.name) == (False, "regret")
    assert (config.corpus.source, config.loss.importance_cap) == ("none", 2.0)
    assert config.derived_from == (
        "paper-games-4b", "no-memory", "solve-rate", "low", "top", "no-corpus"
    )  # fmt: skip


def test_bad_files_and_names_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"no preset or file 'quickstrat'; did you mean 'quickst"):
        resolve("quickstrat")
    with pytest.raises(ConfigError, match=r"no overlay 'no-memori'; did you mean 'no-memory'"):
        resolve("quickstart", overlays=["no-memori"])
    with pytest.raises(ConfigError, match="No such file"):
        resolve(tmp_path / "missing.toml")
    loop = tmp_path / "loop.toml"
    loop.write_text('base = "loop.toml"\n')
    with pytest.raises(ConfigError, match="a circle of them"):
        resolve(loop)
    for data in (b"a = ", b"\xff", b"base = 3", b"overlays = 'x'", b"a = " + b"[" * 5000):
        with pytest.raises(ConfigError):
            read_layer(data, "bad", "bad.toml")


def test_commands_show_the_resolved_configuration():
    run = CliRunner().invoke(
        main, ["config", "quickstart", "--overlay", "no-memory", "--set", "run.seed=5", "--json"]
    )
    assert run.exit_code == 0, run.output
    wanted = resolve("quickstart", overlays=["no-memory"], settings=["run.seed=5"])
    assert read_config(json.loads(run.stdout), "cli") == wanted
    plain = CliRunner().invoke(main, ["config", "paper-games-4b", "--plain"])
    assert plain.stdout == to_toml(resolve("paper-games-4b"), comments=False)
    bad = CliRunner().invoke(main, ["config", "quickstart", "--set", "run.sed=1"])
    assert bad.exit_code == 2
    assert bad.stderr == "error: --set run.sed: no such key; did you mean run.seed?\n"
    rows = json.loads(CliRunner().invoke(main, ["presets", "--json"]).stdout)
    assert {row["name"] for row in rows if row["kind"] == "preset"} == set(PUBLIC)
    listed = CliRunner().invoke(main, ["presets"]).stdout
    assert "paper-tools-30b" in listed
    assert "_paper" not in listed


def test_replays_with_the_hint_need_a_score_that_waits_for_them():
    with pytest.raises(ConfigError, match=r"hint\.replay_episodes: needs designer\.interval > 1"):
        resolve("quickstart", settings=["hint.replay_episodes=4"])
    config = resolve("paper-games-4b", settings=["hint.replay_episodes=8"])
    assert config.planned_episodes - resolve("paper-games-4b").planned_episodes == 100 * 24 * 8
