"""A log that is moved aside, copied or packed, once or several times, with a watch or without."""

import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forensics.incident import Incident
from forensics.live.watch.asked import Asked
from forensics.live.watch.ring import Ring
from forensics.live.watch.siblings import bases
from forensics.live.watch.told import Output
from forensics.live.watch.watch import Watch

SETTLE = 10.0


def record(number: int, **more: Any) -> str:
    """One short transfer."""
    row = {
        "hop": "decode", "request_id": f"r{number}", "completion_tokens": 20, "http_status": 200,
        "received_at": f"2026-09-01T10:00:{number:02d}Z",
        "reserved_pages": 8, "transferred_pages": 1,
    }  # fmt: skip
    return json.dumps(row | more) + "\n"


class Scene:
    """One log that is named as a file, and a watch over it that can be killed."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.log, self.folder = folder / "decode-01.log", folder
        self.out, self.clock, self._runs = folder / "found.ndjson", 1000.0, 0
        patch.setattr("time.monotonic", lambda: self.clock)
        self.watch: Watch | None = None

    def append(self, *numbers: int) -> None:
        with self.log.open("a") as file:
            file.write("".join(map(record, numbers)))

    def aside(self, name: str) -> Path:
        return self.log.with_name(f"{self.log.name}{name}")

    def rotate(self) -> None:
        """Move it aside, and what was moved aside one further."""
        for number in (3, 2, 1):
            if self.aside(f".{number}").exists():
                self.aside(f".{number}").rename(self.aside(f".{number + 1}"))
        self.log.rename(self.aside(".1"))
        self.log.touch()

    def start(self) -> Watch:
        self._runs += 1
        (scratch := self.folder / f"scratch-{self._runs}").mkdir()
        asked, state = Asked(settle=SETTLE), self.folder / "state"
        return Watch([str(self.log)], Incident(), scratch, Output(self.out, ()), state, asked)

    def step(self, *, last: bool = False) -> Watch:
        self.watch = self.watch or self.start()
        self.watch.step(last=last)
        self.clock += 1
        return self.watch

    def kill(self) -> None:
        """Nothing is saved, nothing is told: what a run leaves at any moment is what there is."""
        assert self.watch is not None
        self.watch.close()
        self.watch = None

    def end(self) -> tuple[list[str], list[str]]:
        """Findings and events, after all has come to rest."""
        self.step()
        self.clock += 2 * SETTLE
        self.step()
        self.step(last=True)
        rows = [json.loads(line) for line in self.out.read_text().splitlines()]
        found = [row["request_id"] for row in rows if row["event"] == "finding"]
        return sorted(found), [row["event"] for row in rows if row["event"] != "finding"]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    made = Scene(tmp_path, monkeypatch)
    yield made
    if made.watch is not None:
        made.watch.close()


def test_what_came_after_an_emptying_outlasts_a_kill_before_it_rests(scene: Scene) -> None:
    scene.append(1)
    scene.step()
    shutil.copy(scene.log, scene.aside(".1"))
    os.truncate(scene.log, 0)
    scene.append(2)
    scene.append(3)
    scene.step()
    scene.kill()
    assert scene.end() == (["r1", "r2", "r3"], ["truncated"])


@pytest.mark.parametrize("down", [False, True], ids=["between two looks", "while it is down"])
def test_what_was_moved_aside_twice_is_found_where_it_lies(scene: Scene, down: bool) -> None:
    scene.append(1)
    scene.step()
    if down:
        scene.kill()
    for number in (2, 3):
        scene.append(number)
        scene.rotate()
    scene.append(4)
    assert scene.end() == (["r1", "r2", "r3", "r4"], ["rotated"])


def _packed(scene: Scene) -> None:
    scene.aside(".2.gz").write_bytes(gzip.compress(scene.aside(".2").read_bytes()))
    scene.aside(".2").unlink()


def _dated(scene: Scene) -> None:
    scene.aside(".2").rename(scene.aside("-20260901"))
    scene.aside(".1").rename(scene.aside("-20260902"))


def _renamed(scene: Scene) -> None:
    scene.aside(".2").rename(scene.aside(".2026-09-01T10-00"))


@pytest.mark.parametrize("then", [_packed, _dated, _renamed])
def test_it_is_known_by_its_content_whatever_it_is_called(
    scene: Scene, then: Callable[[Scene], None]
) -> None:
    scene.append(1)
    scene.step()
    scene.kill()
    for number in (2, 3):
        scene.append(number)
        scene.rotate()
    then(scene)
    scene.append(4)
    assert scene.end() == (["r1", "r2", "r3", "r4"], ["rotated"])
    assert scene.watch is not None
    assert scene.watch.counts.records == 3, "the first was read by the killed run"


def test_what_lies_nowhere_any_more_is_told_with_where_it_began(scene: Scene) -> None:
    scene.append(1)
    scene.step()
    scene.append(2)
    scene.rotate()
    scene.rotate()
    scene.rotate()
    scene.aside(".2").unlink()
    found, events = scene.end()
    assert (found, events) == (["r1", "r2"], ["rotated", "lost"])
    lost = json.loads(scene.out.read_text().splitlines()[1])
    assert {name: lost[name] for name in ("what", "certain", "generations")} == {
        "what": "between", "certain": True, "generations": 1,
    }  # fmt: skip


def test_the_rest_of_a_log_that_was_removed_while_it_was_down_is_told_once(scene: Scene) -> None:
    scene.append(1)
    scene.step()
    scene.log.write_text(scene.log.read_text() + record(2)[:40])
    scene.step()
    scene.kill()
    (other := scene.folder / "archive").mkdir()
    scene.log.rename(other / scene.log.name)
    scene.append(3)
    scene.step()
    scene.step()
    scene.kill()
    assert scene.end() == (["r1", "r3"], ["rotated", "lost"])
    lost = [row for row in map(json.loads, scene.out.read_text().splitlines()) if "what" in row]
    read = {"what": "rest", "certain": True, "after_bytes": len(record(1)), "after_lines": 1}
    assert [{name: row[name] for name in read} for row in lost] == [read]


def test_many_restarts_repeat_no_event_and_count_nothing_twice(scene: Scene) -> None:
    counted = 0
    for number in range(1, 4):
        scene.append(number)
        counted += scene.step().counts.records
        scene.kill()
        scene.append(10 + number)
        if number % 2:
            scene.rotate()
        counted += scene.step().counts.records
        scene.kill()
    found, events = scene.end()
    assert found == sorted(f"r{n}" for n in (1, 2, 3, 11, 12, 13))
    assert events == ["rotated", "rotated"]
    assert scene.watch is not None
    assert counted + scene.watch.counts.records == 6


def test_a_writer_may_go_on_in_the_file_that_was_moved_aside(scene: Scene) -> None:
    scene.append(1)
    scene.step()
    with scene.log.open("a") as old:
        scene.rotate()
        scene.step()
        old.write(record(2)[:30])
        old.flush()
        scene.step()
        scene.kill()
        scene.step()
        old.write(record(2)[30:])
    scene.append(3)
    assert scene.end() == (["r1", "r2", "r3"], ["rotated"])


def test_a_run_that_is_killed_in_its_first_look_has_seen_what_was_there(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    scene.append(1)
    with monkeypatch.context() as patch:
        patch.setattr(Ring, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            scene.step()
    scene.kill()
    for number in (2, 3):
        scene.append(number)
        scene.rotate()
    _packed(scene)
    assert scene.end() == (["r1", "r2", "r3"], ["rotated"])


def test_what_is_written_between_copying_and_emptying_is_read_once(scene: Scene) -> None:
    scene.append(1)
    scene.step()
    shutil.copy(scene.log, scene.aside(".1"))
    scene.append(2)
    scene.step()
    os.truncate(scene.log, 0)
    scene.append(3)
    assert scene.end() == (["r1", "r2", "r3"], ["truncated"])
    assert scene.watch is not None
    assert scene.watch.counts.records == 3


def test_files_that_were_there_before_and_were_not_named_stay_unread(scene: Scene) -> None:
    scene.append(1)
    scene.rotate()
    scene.append(2)
    scene.step()
    scene.rotate()
    scene.kill()
    assert scene.end() == (["r2"], ["rotated"])


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("a.log.1", "a.log"), ("a.log.12.gz", "a.log"), ("a.log-20260901", "a.log"),
        ("a.log.2026-09-01.zst", "a.log"), ("a-2026-09-01.log", "a.log"), ("a.log.old", "a.log"),
        ("a.log.gz", "a.log"), ("decode-01.log", None), ("decode-1.log", None),
        ("gateway.ndjson", None), ("a.log.err", None),
    ],
)  # fmt: skip
def test_names_of_generations(name: str, base: str | None) -> None:
    assert (base in bases(name)) if base else bases(name) == ()
