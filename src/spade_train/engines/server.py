"""vLLM servers as an engine: every process talks to them for its own conversations alone.

A server is started with the extension of `vllm_worker` and in vLLM's development mode, which has
the endpoint that reloads weights (docs/distributed.md has the command line).
"""

from __future__ import annotations

import asyncio
import shutil
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from spade_envs.errors import MissingExtra
from spade_train.batch import Solo, World
from spade_train.engines.base import Sampled, SampleRequest
from spade_train.engines.handover import write_weights
from spade_train.engines.weights import full_weights
from spade_train.errors import EngineError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class ServerEngine:
    """Samples from vLLM servers, to which `sync` hands the weights through a shared folder."""

    def __init__(
        self,
        model: Any,
        servers: Sequence[str],
        stops: Iterable[int],
        *,
        folder: Path,
        dtype: str = "float32",
        world: World | None = None,
        timeout_s: float = 600.0,
        retries: int = 3,
        pause_s: float = 1.0,
        live: int = 256,
    ) -> None:
        """Make contact with all servers.

        Args:
            model: the trainer's model.
            servers: base URLs without `/v1`, the same ones in every process.
            stops: tokens at which sampling ends.
            folder: where weights are handed over; servers see it under the same path.
            dtype: of the weights in the folder, `float32` or `bfloat16`.
            world: the processes that train together; the main one hands weights over.
            timeout_s: for one answer, > 0.
            retries: further tries of a request that got no answer, >= 0.
            pause_s: before the first further try; it doubles with each.
            live: requests under way at once, >= 1.

        Raises:
            MissingExtra: httpx is not installed.
            EngineError: a server does not answer, or was started without what is needed.
        """
        try:
            import httpx
        except ImportError:
            raise MissingExtra("httpx", "client") from None
        if not servers:
            raise EngineError("no servers are given; set rollout.servers")
        self._model = model
        self._servers = [server.rstrip("/").removesuffix("/v1") for server in servers]
        self._stops = sorted({int(i) for i in stops})
        self._folder, self._dtype = folder.resolve(), dtype
        self._world: World = world or Solo()
        self._retries, self._pause_s = retries, pause_s
        self._current = ""
        self._loop = asyncio.new_event_loop()
        self._gate = asyncio.Semaphore(live)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 30.0)),
            limits=httpx.Limits(max_connections=live, max_keepalive_connections=live),
            trust_env=False,
        )
        self._names = self._run(self._all(self._prepare))

    def sample(self, requests: Sequence[SampleRequest]) -> list[Sampled]:
        """Return one turn per request, in order.

        A conversation stays with one server, whose cache holds its earlier turns. A server that
        came back after a crash gets the current weights before it is asked again.

        Raises:
            EngineError: the engine was closed or never synced, or a server gave no answer.
        """
        if not self._current:
            raise EngineError("the engine is closed or has no weights yet; sync it first")

        async def every() -> list[Sampled]:
            return list(await asyncio.gather(*(self._one(request) for request in requests)))

        return self._run(every())

    def forget(self, keys: Iterable[str]) -> None:
        """Do nothing: the servers' caches drop what was not used for longest."""

    def sync(self, update: int) -> None:
        """Write the weights into the shared folder and let all servers load them.

        All processes must call it; it returns when all servers have the weights.

        Raises:
            EngineError: in all processes, if the weights cannot be written or loaded.
        """
        target = self._folder / f"update-{update:06d}"
        told = self._world.gather(self._hand_over(target))
        problem = next((str(one) for one in told if one), "")
        if problem:
            raise EngineError(f"the weights of update {update} cannot be handed over: {problem}")
        if self._world.rank == 0:
            _remove(self._current, keep=str(target))
        self._current = str(target)

    def close(self) -> None:
        """Close the connections and remove the weights that were handed over."""
        if self._loop.is_closed():
            return
        self._run(self._client.aclose())
        self._loop.close()
        if self._world.rank == 0:
            _remove(self._current, keep="")
        self._current = ""

    def _hand_over(self, target: Path) -> str:
        """Do this process's part in handing the weights over; return what went wrong."""
        weights = full_weights(self._model)
        try:
            if self._world.rank == 0:
                write_weights(weights, target, dtype=self._dtype)
                self._run(self._all(lambda server: self._load(server, str(target))))
        except (EngineError, OSError) as error:
            return str(error)
        finally:
            deque(weights, maxlen=0)  # the others wait for this process at each shard
        return ""

    def _run(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(work)

    async def _all(self, work: Callable[[str], Awaitable[T]]) -> dict[str, T]:
        """Return what each server answered; the first error after all have answered."""
        results = await asyncio.gather(*map(work, self._servers), return_exceptions=True)
        answers: dict[str, T] = {}
        for server, result in zip(self._servers, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            answers[server] = result
        return answers

    async def _prepare(self, server: str) -> str:
        """Ready a server; return the name of its model."""
        try:
            await self._rpc(server, "spade_prepare")
        except EngineError as error:
            raise EngineError(
                f"{error}; start the server with VLLM_SERVER_DEV_MODE=1 and --worker-extension-cls "
                "spade_train.engines.vllm_worker.WorkerExtension (docs/distributed.md)"
            ) from error
        answer = await self._get(server, "/v1/models")
        return str(answer["data"][0]["id"])

    async def _load(self, server: str, folder: str) -> None:
        await self._rpc(server, "spade_load_folder", folder)
        await self._post(server, "/reset_prefix_cache", None)

    async def _revive(self, server: str) -> None:
        """Give a server that may have been restarted the weights that it lacks."""
        loaded = await self._rpc(server, "spade_prepare")
        if loaded["folder"] != self._current:
            await self._load(server, self._current)

    async def _one(self, request: SampleRequest) -> Sampled:
        server = self._servers[crc32(request.key.encode()) % len(self._servers)]
        body = _body(request, self._names[server], self._stops)
        for attempt in range(self._retries + 1):
            try:
                async with self._gate:
                    if attempt:
                        await self._revive(server)
                    answer = await self._post(server, "/v1/completions", body)
                return _sampled(server, answer)
            except _Unanswered as error:
                if attempt == self._retries:
                    raise EngineError(f"{error}, {attempt + 1} times in a row") from error
                await asyncio.sleep(self._pause_s * 2**attempt)
        raise AssertionError("unreachable")

    async def _rpc(self, server: str, method: str, *args: str) -> dict[str, str]:
        """Call a method of the extension in all workers of a server; return the first answer."""
        answer = await self._post(server, "/collective_rpc", {"method": method, "args": list(args)})
        results = (answer or {}).get("results") or [{}]
        return dict(results[0] or {})

    async def _get(self, server: str, path: str) -> Any:
        return await self._ask(server, path, lambda url: self._client.get(url))

    async def _post(self, server: str, path: str, body: Any) -> Any:
        return await self._ask(server, path, lambda url: self._client.post(url, json=body))

    async def _ask(
        self, server: str, path: str, send: Callable[[str], Awaitable[httpx.Response]]
    ) -> Any:
        import httpx

        try:
            response = await send(server + path)
        except httpx.TransportError as error:
            what = str(error) or type(error).__name__
            raise _Unanswered(f"{server}{path} gives no answer: {what}") from error
        if response.status_code >= 400:
            message = f"{server}{path} answers {response.status_code}: {response.text[:300]}"
            raise (_Unanswered if response.status_code in _PASSING else EngineError)(message)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise EngineError(f"{server}{path} answers no JSON: {response.text[:300]}") from error


_PASSING = frozenset({429, 500, 502, 503, 504})


class _Unanswered(EngineError):
    """A request that may be answered if it is sent again."""


def _body(request: SampleRequest, model: str, stops: list[int]) -> dict[str, Any]:
    return {
        "model": model,
        "prompt": list(request.ids),
        "seed": request.seed & (2**63 - 1),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "logprobs": 0,
        "stop_token_ids": stops,
        "ignore_eos": True,
        "return_token_ids": True,
    }


def _sampled(server: str, answer: Any) -> Sampled:
    try:
        choice = answer["choices"][0]
        ids = tuple(int(i) for i in choice["token_ids"])
        logprobs = tuple(float(value) for value in choice["logprobs"]["token_logprobs"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise EngineError(f"{server} answers without token ids or log-probabilities") from error
    if len(ids) != len(logprobs) or not ids:
        raise EngineError(f"{server}: {len(logprobs)} log-probabilities for {len(ids)} tokens")
    return Sampled(ids, logprobs)


def _remove(folder: str, *, keep: str) -> None:
    if folder and folder != keep:
        shutil.rmtree(folder, ignore_errors=True)
