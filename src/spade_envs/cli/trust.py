"""`trust` and `sign`: whose environments may run here, and vouching for one's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spade_envs.cli.stores import existing_store, find, json_option, store_option

if TYPE_CHECKING:
    from spade_envs.trust.settings import Settings


@click.group("trust")
def trust_command() -> None:
    """Say whose environments may run here, and whose signatures count.

    Kept in trust.toml in your configuration folder, outside every store; see docs/trust.md.
    """


_FROM = "Only as this remote offers it: its name or address, as pull takes it."


@trust_command.command("add")
@click.argument("name", required=False, default="")
@click.option("--key", metavar="FILE|KEY", help="Public SSH key of the signer NAME.")
@click.option(
    "--for",
    "namespaces",
    metavar="NAMESPACE",
    multiple=True,
    help="Namespace that the signer may sign for, or *; may be repeated. [default: NAME]",
)
@click.option("--from", "remote", metavar="REMOTE", help=_FROM)
def add_command(
    name: str, key: str | None, namespaces: tuple[str, ...], remote: str | None
) -> None:
    """Let the namespace NAME run, or with --key let NAME's signatures count.

    Without NAME: names without an owner, as the remote given with --from offers them.
    """
    from spade_envs.cli.output import say
    from spade_envs.trust.consent import whose
    from spade_envs.trust.settings import allow, load

    if key is not None:
        _add_signer(name, key, namespaces, remote)
        return
    if namespaces:
        raise click.UsageError("--for goes with --key; a namespace is named by NAME alone")
    if remote is not None and not remote.strip():
        text = "--from names no remote; leave it out only if any remote is meant"
        raise click.UsageError(text)
    if not name and not remote:
        raise click.UsageError("name a namespace, a remote with --from, or a signer with --key")
    _warn(name, load())
    allowed = allow(name, _address(remote) if remote else "")
    say(f"{whose(allowed.name)} may run as {allowed.remote or 'any remote'} offers it")


def _address(remote: str) -> str:
    """Return how notes call a remote that is given by its name, or as any address of it."""
    from spade_envs.sharing.known import address_of
    from spade_envs.sharing.remotes.address import Address

    return Address.read(address_of(remote)).label


def _add_signer(name: str, key: str, namespaces: tuple[str, ...], remote: str | None) -> None:
    from spade_envs.cli.output import say
    from spade_envs.errors import ConfigError
    from spade_envs.trust.settings import allow_signer, check_namespace, load
    from spade_envs.trust.signatures import Signer

    if remote is not None:
        raise click.UsageError("a signature counts wherever it comes from; leave --from out")
    if not name:
        raise click.UsageError("name the signer: spade-envs trust add alice --key alice.pub")
    if not namespaces:
        try:
            namespaces = (check_namespace(name),)
        except ConfigError:
            text = f"{name!r} is no namespace; say with --for whom they may sign for, or --for '*'"
            raise click.UsageError(text) from None
    text = _key_text(key)
    _warn(name, load())
    allow_signer(Signer(name, text, namespaces))
    say(f"signatures of {name} count for {', '.join(each or 'no owner' for each in namespaces)}")


def _key_text(key: str) -> str:
    """Return `TYPE BASE64` of a public key that is given in full or in a file."""
    text = key
    if not key.startswith(("ssh-", "ecdsa-", "sk-")):
        path = Path(key)
        if not path.is_file() or path.stat().st_size > 1 << 16:
            raise click.UsageError(f"--key {key}: no such file, and no public SSH key")
        text = path.read_text("utf-8", "replace")
        if "PRIVATE KEY" in text:
            raise click.UsageError(f"--key {key} is a private key; give the .pub file beside it")
    return " ".join(text.split()[:2])


def _trusted(settings: Settings) -> list[str]:
    signers = [each.name for each in settings.signers]
    return [*(each.name for each in settings.namespaces if each.name), *signers]


def _warn(name: str, settings: Settings) -> None:
    from spade_envs.cli.output import say
    from spade_envs.trust.consent import lookalike

    other = lookalike(name, _trusted(settings)) if name else None
    if other is not None:
        say(f"warning: {name!r} looks like {other!r}, which you trust already")


@trust_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Show whom you trust."""
    from spade_envs.cli.output import echo_json, print_table
    from spade_envs.trust.settings import load, settings_path

    known = load()
    signers = [
        {"name": each.name, "key": each.key, "namespaces": list(each.namespaces)}
        for each in known.signers
    ]
    allowed = [{"name": each.name, "remote": each.remote} for each in known.namespaces]
    if as_json:
        echo_json(
            {
                "file": str(settings_path()),
                "trust_certificate": known.trust_certificate,
                "require_signatures": known.require_signatures,
                "signers": signers,
                "namespaces": allowed,
            }
        )
        return
    rows = [(each.name or "(no owner)", each.remote or "any remote") for each in known.namespaces]
    if rows:
        print_table("Namespaces that may run", ("namespace", "from"), rows)
    keys = [(each.name, ", ".join(each.namespaces), each.key[-24:]) for each in known.signers]
    if keys:
        print_table("Signers", ("name", "may sign for", "key ends in"), keys)
    if not rows and not keys:
        click.echo("Nobody yet; see spade-envs trust add --help.")
    flags = (("trust_certificate", known.trust_certificate),
             ("require_signatures", known.require_signatures))  # fmt: skip
    told = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags)
    click.echo(f"{settings_path()}: {told}")


@trust_command.command("remove")
@click.argument("name", required=False, default="")
@click.option("--from", "remote", metavar="REMOTE", help="Only the consent for this remote.")
def remove_command(name: str, remote: str | None) -> None:
    """Take back what the namespace or signer NAME was allowed."""
    from spade_envs.cli.output import counted
    from spade_envs.errors import NotFound
    from spade_envs.trust.consent import whose
    from spade_envs.trust.settings import remove

    if not name and remote is None:
        raise click.UsageError("name a namespace or a signer, or a remote with --from")
    gone = remove(name, remote)
    if not gone and remote:
        gone = remove(name, _address(remote))
    if not gone:
        raise NotFound(f"{name or whose('')} is not trusted; see spade-envs trust list")
    click.echo(f"{counted(gone, 'line')} removed from trust.toml")


@trust_command.command("check")
@click.argument("refs", metavar="[ID]...", nargs=-1)
@store_option
def check_command(refs: tuple[str, ...], store: str | None) -> None:
    """Run the gates now on what was pulled and has not passed them here, instead of when it runs.

    They run in the sandbox, and need no consent. Without IDs: all of the store. Exit code 1 if one
    is refused.
    """
    from spade_envs.cli.main import FOUND
    from spade_envs.cli.output import clean, counted, progress, say
    from spade_envs.errors import Corrupt, NotCertified
    from spade_envs.trust.runs import certify, standing

    opened = existing_store(store)
    chosen = [find(ref, store) for ref in refs] if refs else [
        (opened, record) for record in opened.records() if record.withdrawn is None
    ]  # fmt: skip
    todo = [(each, record) for each, record in chosen if not standing(record.digest).certified]
    refused = []
    with progress(len(todo), "gates") as bar:
        for each, record in todo:
            try:
                certify(each, record)
            except (NotCertified, Corrupt) as error:
                refused.append(str(error))
            bar.advance(bar.task_ids[0])
    for text in refused:
        click.echo(clean(text))
    before = f", {len(chosen) - len(todo)} judged before" if len(chosen) > len(todo) else ""
    say(f"{counted(len(todo), 'version')} checked, {len(refused)} refused{before}")
    if refused:
        sys.exit(FOUND)


@click.command("sign")
@click.argument("refs", metavar="[ID]...", nargs=-1)
@click.option(
    "--key",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="Private SSH key, or the public half of one that your SSH agent holds.",
)
@click.option("--replace", is_flag=True, help="Sign anew what has a signature.")
@store_option
def sign_command(refs: tuple[str, ...], key: Path, replace: bool, store: str | None) -> None:
    """Sign versions of a store with ssh-keygen; without IDs, all of your own that lack it."""
    from spade_envs.cli.output import counted, say
    from spade_envs.trust.origin import origins_of
    from spade_envs.trust.vouching import sign_version

    key = Path(os.path.expanduser(key))
    if not key.is_file():
        raise click.UsageError(
            f"--key {key}: no such file; make one with: ssh-keygen -t ed25519 -f FILE"
        )
    pulled = 0
    if refs:
        chosen = [find(ref, store) for ref in refs]
    else:
        opened = existing_store(store)
        used = [(opened, record) for record in opened.records() if record.withdrawn is None]
        chosen = [(each, record) for each, record in used if not origins_of(record.digest)]
        pulled = len(used) - len(chosen)
    signed = sum(sign_version(opened, record, key, replace=replace) for opened, record in chosen)
    say(f"{counted(signed, 'version')} signed, {len(chosen) - signed} had a signature already")
    if pulled:
        say(f"{pulled} left out that came from a remote too, whoever made them; name them by ID")
