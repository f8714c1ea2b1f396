"""Commands for who may use the service: keys for programs, the password of the page."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.options import Home, Json, assistant, show
from rag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from index.keys import Access, Keys, StoredKey
    from rag.assistant import Assistant


def create(
    name: Annotated[str, typer.Argument(help="What it is for, to tell it from others by.")],
    write: Annotated[
        bool, typer.Option("--write", help="It may add and remove documents, too.")
    ] = False,
    collections: Annotated[
        list[str] | None,
        typer.Option("-c", "--collection", help="A collection it is for; repeatable."),
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make a key for a program; its text is shown this once."""
    from rag import shapes
    from rag.access import new_key

    with assistant(home, None) as attest:
        access: Access = "write" if write else "read"
        key, text = new_key(_keys(attest), name, access=access, collections=collections or ())
    if as_json:
        show(key, True, lambda made: shapes.key(made) | {"key": text}, str)
    else:
        typer.echo(text)
        typer.echo(f"key {key.id}: keep it, it cannot be shown again", err=True)


def list_keys(home: Home = None, as_json: Json = False) -> None:
    """List the keys, without their texts."""
    from rag import shapes

    with assistant(home, None) as attest:
        keys = _keys(attest).all()
    show(keys, as_json, lambda all_: {"keys": [shapes.key(k) for k in all_]}, _table)


def revoke(
    key: Annotated[int, typer.Argument(help="The number of a key.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make a key open nothing from now on."""
    from rag import shapes

    with assistant(home, None) as attest:
        revoked = _keys(attest).revoke(key)
    show(revoked, as_json, shapes.key, lambda one: _table([one]))


def password(
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Take it from the first line of standard input.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the password away.")] = False,
    home: Home = None,
) -> None:
    """Set the password of the page; whoever is signed in has to give the new one."""
    from rag.access import set_password

    with assistant(home, None) as attest:
        keys = _keys(attest)
        if remove:
            keys.set_password(None)
            typer.echo("the page has no password now")
            return
        set_password(keys, _line() if stdin else _asked())
    typer.echo("the page has a password now; a server that runs asks for it at once")


def _table(keys: "Sequence[StoredKey]") -> str:
    if not keys:
        return "there are no keys: make one with `attest keys create NAME`"
    lines = [f"{'id':>4}  {'begins':<12}{'may':<7}{'used':<26}name"]
    for key in keys:
        used = "revoked" if key.revoked_at else key.used_at or "never"
        where = "" if key.collections is None else f" ({', '.join(key.collections)})"
        lines.append(f"{key.id:>4}  {key.shown:<12}{key.access:<7}{used:<26}{key.name}{where}")
    return "\n".join(lines)


def _line() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _asked() -> str:
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask at: give the password by --stdin")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))


def _keys(attest: "Assistant") -> "Keys":
    from index.keys import Keys

    return Keys(attest.catalog.database)


keys_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Make, list and revoke keys for programs."
)
keys_app.command("create")(create)
keys_app.command("list")(list_keys)
keys_app.command("revoke")(revoke)
