"""Whatever happens to logs, and whenever a watch is killed: nothing is lost, repeated or silent."""

from pathlib import Path

import pytest

from tests.live.rotating import World

QUICK = range(3)
MANY = range(100, 200)


def lived(folder: Path, seed: int, *, acts: int, judged: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        world = World(folder / str(seed), seed, patch, judged=judged)
        try:
            for _ in range(acts):
                world.act()
            world.end()
            world.check()
        finally:
            world.over()


@pytest.mark.parametrize("seed", QUICK)
def test_each_record_is_read_once_and_each_finding_told_once(tmp_path: Path, seed: int) -> None:
    lived(tmp_path, seed, acts=25, judged=False)


@pytest.mark.long
@pytest.mark.parametrize("judged", [False, True], ids=["judged in the end", "judged at each look"])
def test_so_it_is_over_many_lives(tmp_path: Path, *, judged: bool) -> None:
    for seed in MANY:
        lived(tmp_path, seed, acts=25 if judged else 40, judged=judged)
