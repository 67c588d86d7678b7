import pytest

from spade_envs.design.clients import CompletionRequest, open_policy
from spade_envs.design.clients.cuts import Cuts
from spade_envs.design.clients.hf import _cut
from spade_envs.errors import ClientError, ConfigError
from spade_envs.types import Message

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WORDS = ["<pad>", "<eos>", "<unk>", *"abcdefghijklmnopqrstuvwxyz"]
TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import tokenizers

    path = tmp_path_factory.mktemp("tiny")
    vocabulary = {word: index for index, word in enumerate(WORDS)}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="<unk>")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        eos_token_id=1,
        pad_token_id=0,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


def request(words, seed, **changes):
    fields = {"messages": (Message("user", words),), "seed": seed, "max_tokens": 12, **changes}
    return CompletionRequest(**fields)


def test_a_row_does_not_depend_on_its_neighbours(folder):
    designer = open_policy(f"hf:{folder}", batch_size=3, device="cpu")
    requests = [
        request(words, seed) for words, seed in (("a b c", 1), ("d", 2), ("a b c", 3), ("e f", 4))
    ]
    together = [answer.text for answer in designer.complete_many(requests)]
    alone = [
        designer.complete(r.messages, seed=r.seed, max_tokens=12, temperature=0.8).text
        for r in requests
    ]
    assert together == alone
    assert together[0] != together[2]
    assert len(set(together)) == 4


def test_temperature_zero_ignores_the_seed_and_limits_hold(folder):
    designer = open_policy(f"hf:{folder}", device="cpu")
    answers = designer.complete_many(
        [request("a b", 1, temperature=0.0), request("a b", 2, temperature=0.0, max_tokens=3)]
    )
    assert answers[0].text.startswith(answers[1].text)
    assert answers[1].completion_tokens <= 3
    assert answers[0].prompt_tokens == 2
    assert {a.finish_reason for a in answers} <= {"stop", "length"}
    assert designer.name == folder.name


def test_sampling_follows_the_model_distribution(folder):
    designer = open_policy(f"hf:{folder}", batch_size=400, device="cpu")
    answers = designer.complete_many(
        [request("a", seed, max_tokens=1, temperature=1.0) for seed in range(400)]
    )
    # An untrained model is nearly uniform over its 29 tokens, three of which print nothing.
    assert len({answer.text for answer in answers}) > 20


@pytest.mark.parametrize("cuts", [{"top_k": 1}, {"top_p": 1e-6}, {"top_k": 1, "top_p": 1.0}])
def test_the_narrowest_cut_leaves_the_likeliest_token(folder, cuts):
    narrow = open_policy(f"hf:{folder}", device="cpu", **cuts)
    whole = open_policy(f"hf:{folder}", device="cpu")
    (likeliest,) = whole.complete_many([request("a b", 1, temperature=0.0)])
    answers = narrow.complete_many([request("a b", seed, temperature=1.0) for seed in range(4)])
    assert {answer.text for answer in answers} == {likeliest.text}


def test_cuts_leave_no_token_outside_and_every_one_inside():
    scores = torch.tensor([0.1, 0.4, 0.2, 0.3]).log()

    def kept(**cuts):
        return (_cut(torch, scores, Cuts(**cuts)) > -torch.inf).tolist()

    assert kept() == kept(top_p=1.0) == kept(top_k=9) == [True] * 4
    assert kept(top_k=2) == kept(top_p=0.65) == [False, True, False, True]
    assert kept(top_p=0.75) == [False, True, True, True]
    # Of the two that are left, the likelier one has 4/7 of what is left.
    assert kept(top_k=2, top_p=0.5) == [False, True, False, False]


@pytest.mark.parametrize(("asked", "kind"), [({}, "float32"), ({"dtype": "bfloat16"}, "bfloat16")])
def test_weights_compute_as_asked(folder, asked, kind):
    assert open_policy(f"hf:{folder}", device="cpu", **asked)._model.dtype is getattr(torch, kind)


def test_prompts_that_do_not_fit(folder):
    designer = open_policy(f"hf:{folder}", device="cpu")
    answers = designer.complete_many([request("a " * 80, 1), request("b", 2)])
    assert "takes 64" in str(answers[0])
    assert isinstance(answers[0], ClientError)
    assert answers[1].text


def test_models_that_cannot_be_used(tmp_path, folder):
    with pytest.raises(ConfigError, match="cannot load"):
        open_policy(f"hf:{tmp_path}")
    with pytest.raises(ConfigError, match="batch_size"):
        open_policy(f"hf:{folder}", batch_size=0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path)
    transformers.AutoModelForCausalLM.from_pretrained(folder).save_pretrained(tmp_path)
    (tmp_path / "chat_template.jinja").unlink(missing_ok=True)
    with pytest.raises(ConfigError, match="no chat template"):
        open_policy(f"hf:{tmp_path}")
