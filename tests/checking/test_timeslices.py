"""The same time from every file: places found by a few looks, and what all have in common."""

from datetime import UTC, datetime
from pathlib import Path

from forensics.checking.glance import Glance, glance
from forensics.checking.sample import take
from forensics.checking.stamps import MICRO
from forensics.checking.timeslices import PROBE, Stretch, place, ranges, stretches, together
from forensics.sources.files import Input, expand

BEGIN = int(datetime(2026, 8, 28, tzinfo=UTC).timestamp())


def log(path: Path, seconds: list[int], width: int = 200) -> Input:
    """Write one line for each second after the beginning."""
    with path.open("w") as file:
        for second in seconds:
            at = datetime.fromtimestamp(BEGIN + second, UTC)
            file.write(f"[{at:%Y-%m-%d %H:%M:%S}] ".ljust(width - 1, "x") + "\n")
    return expand(path)[0]


def seen(source: Input, share: int = 100_000) -> Glance:
    found = glance(source, share, lambda _: None)
    assert found is not None
    return found


def test_a_place_is_found_in_a_file_of_uneven_traffic(tmp_path: Path) -> None:
    busy = [*range(0, 10_000, 10), *range(10_000, 20_000), *range(20_000, 60_000, 10)]
    source = log(tmp_path / "node.log", busy)
    told: list[int] = []
    with (tmp_path / "node.log").open("rb") as file:
        for at in (5_000, 15_000, 40_000):
            wanted = (BEGIN + at) * MICRO
            found = place(file, seen(source), wanted, 60 * MICRO, 10, told.append)
            first, exact = (
                next(n for n, second in enumerate(busy) if second > moment) * 200
                for moment in (at - 60, at)
            )
            assert first - 2 * PROBE <= found <= exact + PROBE, "near enough to read on"
    assert sum(told) <= 30 * PROBE


def test_stretches_lie_where_most_files_are_and_fit_the_share(tmp_path: Path) -> None:
    files = [
        seen(log(tmp_path / "a.log", list(range(0, 40_000, 4)))),
        seen(log(tmp_path / "b.log", list(range(20_000, 60_000, 4)))),
    ]
    found = stretches(files, 300_000, None)
    assert len(found) == 2
    for stretch in found:
        start = stretch.start // MICRO - BEGIN
        assert start >= 20_000
        assert start + stretch.length // MICRO <= 40_000
    bytes_each = found[0].length * files[0].rate
    assert bytes_each * 2 <= 100_000, "a third of the share"


def test_stretches_lie_within_the_window_of_the_case(tmp_path: Path) -> None:
    files = [seen(log(tmp_path / f"{n}.log", list(range(0, 40_000, 4)))) for n in "ab"]
    window = ((BEGIN + 1_000) * MICRO, (BEGIN + 9_000) * MICRO)
    for stretch in stretches(files, 60_000, window):
        assert stretch.within(window)


def test_no_stretch_where_files_have_no_time_in_common(tmp_path: Path) -> None:
    assert stretches([], 100_000, None) == []
    one = seen(log(tmp_path / "a.log", [0] * 3_000))
    assert stretches([one], 100_000, None) == []


def test_what_was_read_of_a_stretch_holds_its_time_in_every_file(tmp_path: Path) -> None:
    share = 300_000
    files = [
        seen(log(tmp_path / "a.log", list(range(0, 40_000, 2))), share),
        seen(log(tmp_path / "b.log", list(range(0, 40_000, 8))), share),
    ]
    wanted = stretches(files, share, None)
    read = []
    for found in files:
        spans = ranges(found, wanted, share, lambda _: None)
        sample = take(found.source, share * 5 // 8, lambda _: None, spans)
        from forensics.checking import glance as at_a_glance
        from forensics.checking import stamps

        shown = [stamps.stamps(piece.data) for piece in sample.pieces]
        read.append((at_a_glance.places(sample.pieces, shown), 0))
    common = together(read, wanted)
    assert len(common) == len(wanted)
    for (start, end), stretch in zip(common, wanted, strict=True):
        assert start <= stretch.start + stretch.length // 10
        assert end >= stretch.start + stretch.length * 9 // 10


def test_a_file_that_lacks_a_stretch_it_covers_leaves_none() -> None:
    wanted = [Stretch(100, 20)]
    whole = ([(0, 0), (9, 50), (10, 95), (19, 130), (20, 190), (29, 200)], 0)
    holed = ([(0, 0), (9, 50), (10, 150), (19, 200)], 0)
    elsewhere = ([(0, 300), (9, 350)], 0)
    assert together([whole, elsewhere], wanted) == [(95, 130)]
    assert together([whole, holed], wanted) == []


def test_a_file_not_in_order_of_time_is_not_sought_in(tmp_path: Path) -> None:
    mixed = [*range(4_000, 8_000), *range(4_000), *range(8_000, 12_000)]
    assert not seen(log(tmp_path / "mixed.log", mixed)).sorted
    assert seen(log(tmp_path / "sorted.log", sorted(mixed))).sorted
