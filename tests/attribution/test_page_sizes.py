"""A page size that the records of a rank speak against stops the replay."""

import pytest

from tests.attribution.made import DAY, POOL, hold, read, reasons

HOLDS = [
    *(hold(f"w{n}", f"01:0{n}:00.51234{n}", f"01:0{n}:01.56789{n}") for n in range(6)),
    hold(
        *("x", "02:00:00.512345", "02:00:09.598765"),
        decode_prompt_tokens=512,
        reserved_pages=8,
        transferred_pages=1,
    ),
]


def by_tokens(row: dict[str, object]) -> dict[str, object]:
    """The same hold, reserved in tokens; the pages that arrived are of 64."""
    kept = {name: value for name, value in row.items() if name != "reserved_pages"}
    return kept | {"reserved_tokens": row["decode_prompt_tokens"]}


@pytest.mark.parametrize(("page", "differs"), [(32, True), (64, False), (128, True)])
def test_pages_that_arrived_are_of_the_size_that_is_told(tmp_path, page, differs):
    pool = POOL | {"page_tokens": page, "pool_tokens": max(640, 10 * page)}
    case = read(tmp_path, pool, *map(by_tokens, HOLDS))
    assert reasons(case) == ({"page_size_differs"} if differs else set())


@pytest.mark.parametrize(
    ("at", "page", "differs"),
    [("01:30", 32, True), ("03:00", 32, True), ("03:00", 64, False)],
    ids=["before the read", "after it", "the same"],
)
def test_two_sizes_of_one_run_are_no_size(tmp_path, at, page, differs):
    told = POOL | {"page_tokens": page, "effective_at": f"{DAY}{at}:00Z"}
    assert ("page_size_differs" in reasons(read(tmp_path, POOL, *HOLDS, told))) is differs


def test_another_size_after_the_next_start_is_of_that_run(tmp_path):
    told = POOL | {"page_tokens": 32, "pool_tokens": 704, "effective_at": f"{DAY}03:00:00Z"}
    assert reasons(read(tmp_path, POOL, *HOLDS, told)) == set()
