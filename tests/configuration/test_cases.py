"""The cases of kind H22 from `tests/cases/cases.yaml`: strict reading of the configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bumble_core.configuration import read_settings
from bumble_core.configuration.values import values_of
from bumble_core.errors import ConfigError
from bumble_core.types.settings import Settings
from tests.installed import CHECKOUT, Installed

CASES = yaml.safe_load((CHECKOUT / "tests" / "cases" / "cases.yaml").read_text(encoding="utf-8"))["cases"]
ROWS: list[dict[str, Any]] = next(case for case in CASES if case["id"] == "H22_config_yaml")["given"]["rows"]
WRONG = [row for row in ROWS if "error_contains" in row or "error_contains_any" in row]
RIGHT = [row for row in ROWS if row not in WRONG]
TEXTS: dict[str, dict[str, object]] = {
    "name_no": {"agent.name": "no"},
    "model_looks_like_number": {"agent.models": ["12:30", "1_000"]},
}
LOCALES = {"utf-8": {"LANG": "C.UTF-8"}, "c": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}}


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [str(row["name"]) for row in rows]


def written(row: dict[str, Any], folder: Path) -> Path:
    file = folder / "bumble.yaml"
    file.write_bytes(row["yaml"].encode("utf-8"))
    return file


def expected(row: dict[str, Any]) -> dict[str, object]:
    given: dict[str, object] = row.get("value") or TEXTS[row["name"]]
    return {} if given == {"all": "defaults"} else given


@pytest.mark.parametrize("row", WRONG, ids=names(WRONG))
def test_a_wrong_file_is_one_message_with_file_line_and_key(row: dict[str, Any], tmp_path: Path) -> None:
    file = written(row, tmp_path)
    with pytest.raises(ConfigError) as caught:
        read_settings(file)
    message = str(caught.value)
    assert message.startswith(f"{file}:")
    assert all(part in message for part in row.get("error_contains", ()))
    assert any(part in message for part in row.get("error_contains_any", ("",)))


@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
@pytest.mark.parametrize("row", WRONG, ids=names(WRONG))
def test_the_command_line_refuses_it_with_status_2(
    row: dict[str, Any], locale: dict[str, str], installed: Installed
) -> None:
    ended = installed.bumble("config", "show", "--config", str(written(row, installed.work)), **locale)
    assert (ended.status, ended.out) == (2, "")
    assert "Traceback" not in ended.err
    assert all(part in ended.err for part in row.get("error_contains", ()))


@pytest.mark.parametrize("row", RIGHT, ids=names(RIGHT))
def test_a_right_file_is_read_as_it_stands(row: dict[str, Any], tmp_path: Path) -> None:
    defaults = {".".join(key): value for key, value in values_of(Settings())}
    settings = read_settings(written(row, tmp_path))
    assert {".".join(key): value for key, value in values_of(settings)} == {**defaults, **expected(row)}


@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
@pytest.mark.parametrize("row", RIGHT, ids=names(RIGHT))
def test_the_command_line_reads_it_in_any_locale(
    row: dict[str, Any], locale: dict[str, str], installed: Installed
) -> None:
    file = written(row, installed.work)
    ended = installed.bumble("config", "show", "--json", "--config", str(file), **locale)
    assert ended.status == 0
    assert {each["key"]: each["value"] for each in yaml.safe_load(ended.out)} == expected(row)
