"""Settings: flag, else ATTEST_* in the environment, else attest.toml in the home, else default."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

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

    home: Path = Field(default_factory=default_home)  # database, indexes and uploads
    models_dir: Path = Field(default_factory=lambda: default_home() / "models")  # for every home
    database_url: str | None = None  # of another database than <home>/attest.db, for many users
    collection: str = Field(default="default", min_length=1)
    encoder: str = DEFAULT_ENCODER  # a name of the manifest, or a folder
    generator: str = DEFAULT_GENERATOR  # a name of the manifest, a folder, or a .gguf file
    generator_url: str | None = None  # of an engine that writes in its place: http://host/v1
    generator_model: str | None = None  # by that engine's name; None: the only one that it has
    generator_key: str | None = Field(default=None, repr=False)  # that the engine wants to see
    threads: int | None = Field(default=None, ge=1)  # cores to use; None: all of this process
    remember_questions: bool = True  # and what was thought of answers, for `attest adapt`
    ocr: bool = False  # read scanned pages by tesseract, if it is installed
    host: str = "127.0.0.1"
    port: int = Field(default=7860, ge=0, le=65535)
    open: bool = False  # serve other machines without a password or a key
    rate_limit: int = Field(default=600, ge=0)  # requests a minute of a caller; 0: as many as come
    max_upload_mb: int = Field(default=100, ge=1)  # of one request
    log_level: Literal["info", "warning", "error"] = "warning"  # info: a line for each request
    language: Literal["auto", "en", "ko"] = "auto"  # of the page; auto follows the browser

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
