"""Settings: flag, else ATTEST_* in the environment, else attest.toml in the home, else default."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from rag.errors import UsageError
from rag.models import DEFAULT_ENCODER, DEFAULT_GENERATOR, lasting
from rag.remote import engine_address

if TYPE_CHECKING:
    from index.records import MilvusAddress

PREFIX = "ATTEST_"
FILE = "attest.toml"


def default_home() -> Path:
    """The platform's folder for a program's data of this user."""
    return platformdirs.user_data_path("attest", appauthor=False)


class Settings(BaseSettings):
    """Everything that can be set. Use `load_settings` where a wrong value must read well."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True
    )

    home: Path = Field(
        default_factory=default_home,
        description="folder of the database, indexes and uploads; it can be copied while nothing "
        "runs",
    )
    models_dir: Path = Field(
        default_factory=lambda: default_home() / "models",
        description="folder where models are kept, for every home",
    )
    database_url: str | None = Field(
        default=None,
        repr=False,  # it may hold a password
        description="another database than `attest.db` in the home, for many users: "
        "`postgresql+psycopg://user@host/name`",
    )
    index: Literal["embedded", "milvus"] = Field(
        default="embedded",
        description="what is searched: `embedded` are files in the home, `milvus` is a server that "
        "several machines share",
    )
    milvus_uri: str = Field(
        default="http://localhost:19530",
        description="address of that server; `/name` at its end is a database of it, and a path "
        "that ends in `.db` a folder of Milvus Lite, for one process at a time",
    )
    milvus_token: str | None = Field(
        default=None,
        repr=False,
        description="a key, or `user:password`, that the server wants to see; better in the "
        "environment than in a file",
    )
    collection: str = Field(
        default="default", min_length=1, description="the collection that is meant if none is named"
    )
    encoder: str = Field(
        default=DEFAULT_ENCODER,
        description="a name that `attest models` lists, or a folder; a collection keeps the one "
        "that it was made with",
    )
    generator: str = Field(
        default=DEFAULT_GENERATOR,
        description="a name that `attest models` lists, a folder, or a `.gguf` file",
    )
    generator_url: str | None = Field(
        default=None,
        description="address of an engine that writes in the generator's place and speaks OpenAI's "
        "chat completions: `http://host/v1`",
    )
    generator_model: str | None = Field(
        default=None, description="the model's name with that engine; if not set, its only one"
    )
    generator_key: str | None = Field(
        default=None,
        repr=False,
        description="a key that the engine wants to see; better in the environment than in a file",
    )
    threads: int | None = Field(
        default=None, ge=1, description="processor cores to use; if not set, all of this process"
    )
    remember_questions: bool = Field(
        default=True,
        description="keep the questions that are asked, the sources opened and the thumbs, in the "
        "home, for `attest adapt`",
    )
    ocr: bool = Field(
        default=False, description="read scanned pages and pictures by `tesseract`, if installed"
    )
    host: str = Field(default="127.0.0.1", description="address that `attest serve` listens on")
    port: int = Field(default=7860, ge=0, le=65535, description="its port; 0 takes a free one")
    open: bool = Field(
        default=False, description="serve other machines without a password or a key"
    )
    rate_limit: int = Field(
        default=600,
        ge=0,
        description="requests a minute of one caller, where others than this machine may come; 0: "
        "as many as come",
    )
    max_upload_mb: int = Field(default=100, ge=1, description="megabytes of one request's files")
    log_level: Literal["info", "warning", "error"] = Field(
        default="warning",
        description="of `attest serve`; `info` is a line for each request, without questions or "
        "documents",
    )
    language: Literal["auto", "en", "ko"] = Field(
        default="auto", description="of the page; `auto` follows the browser"
    )

    @field_validator("milvus_uri")
    @classmethod
    def _milvus(cls, uri: str) -> str:
        if uri.endswith(".db"):
            return str(Path(uri).expanduser().absolute())
        found = urlsplit(uri)
        if found.scheme not in ("http", "https") or not found.hostname:
            raise ValueError("write http://HOST:19530, or a path that ends in .db")
        if found.username or found.password:
            raise ValueError("an address holds no user or password: give them as milvus_token")
        return uri

    @field_validator("generator_url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        return None if url is None else engine_address(url)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        home = init_settings().get("home") or env_settings().get("home") or default_home()
        file = TomlConfigSettingsSource(settings_cls, Path(home).expanduser() / FILE)
        return init_settings, env_settings, file

    @property
    def milvus(self) -> "MilvusAddress | None":
        """Where the indexes lie, where that is not the home."""
        if self.index == "embedded":
            return None
        from index.records import MilvusAddress  # loads numpy

        return MilvusAddress(self.milvus_uri, self.milvus_token)

    def model_post_init(self, context: Any) -> None:
        for name in ("home", "models_dir"):
            object.__setattr__(self, name, getattr(self, name).expanduser().absolute())
        for name in ("encoder", "generator"):
            object.__setattr__(self, name, lasting(getattr(self, name)))


def load_settings(flags: Mapping[str, Any]) -> Settings:
    """Settings with the flags that were given (None: not given).

    Raises:
        UsageError: an unknown key or a value that cannot be, with where it comes from.
    """
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    if unknown := sorted(k for k in os.environ if k.startswith(PREFIX) and k not in known):
        raise UsageError(f"unknown setting in the environment: {', '.join(unknown)}")
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise UsageError(f"setting {name!r}: {first['msg']}") from error
    except ValueError as error:  # a TOML file that cannot be parsed
        raise UsageError(f"{FILE} cannot be read: {error}") from error
