"""Eleven kinds of text for the estimator, with what is not in the cases; random ones are the same in every run."""

from __future__ import annotations

import base64
import random
from pathlib import Path

from tests.http.streams import case

_ROWS = {row["name"]: row["sample"] * 100 for row in case("H15")["given"]["rows"]}
_RANDOM = random.Random(1)
_KOREAN = "서버 로그를 확인하고 배포 이후 계속 충돌하는 원인을 찾아 수정 절차를 파일에 적어 주세요. "
_THAI = "โปรดตรวจสอบบันทึกของเซิร์ฟเวอร์ หาสาเหตุที่ระบบล่มหลังการติดตั้ง แล้วเขียนขั้นตอนการแก้ไขลงในไฟล์ "
_RUSSIAN = "Проверьте журналы сервера, найдите причину сбоев после развёртывания и запишите шаги исправления в файл. "
_GERMAN = (
    "Prüfe die Protokolle des Servers, finde die Ursache der ständigen Abstürze nach der Auslieferung und schreibe "
    "die nötigen Schritte in eine Datei. "
)

KINDS: dict[str, str] = {
    **_ROWS,
    "korean": _KOREAN * 100,
    "thai": _THAI * 100,
    "russian": _RUSSIAN * 100,
    "german": _GERMAN * 100,
    "emoji": "🎉🚀👩‍💻🔥😀🇩🇪👍🏽🧑‍🚀💡📦" * 100,
    "base64": base64.b64encode(_RANDOM.randbytes(3000)).decode(),
    "code": Path(__file__).parents[2].joinpath("bumble_core", "loop.py").read_text("utf-8"),
}
