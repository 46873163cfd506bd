"""The pictures on paper: every tier has its own mark, text stays text, nothing leaves the page."""

import json
from dataclasses import asdict

import msgspec
import pytest

from forensics.report.plates import days, lengths, plates, tenants
from forensics.report.plates.ink import WIDTH


def every(document):
    return [plate for some in plates(document).values() for plate in some]


def said(plate):
    return [shape["words"] for shape in plate.shapes if shape["kind"] == "words"]


def places(plate):
    for shape in plate.shapes:
        yield from shape.get("points") or [(shape["x"], shape["y"])]


def test_each_part_has_its_pictures(incident):
    assert {part: len(some) for part, some in plates(incident).items()} == {
        "recipients-part": 3,
        "sources-part": 1,
    }


def test_nothing_is_drawn_of_nothing(empty):
    assert every(empty) == []


def test_the_same_document_gives_the_same_shapes(incident):
    first, second = (json.dumps([asdict(one) for one in every(incident)]) for _ in range(2))
    assert first == second


def test_nothing_stands_beyond_the_edges(incident):
    for plate in every(incident):
        for x, y in places(plate):
            assert -6 <= x <= WIDTH
            assert -6 <= y <= plate.height


def test_each_day_and_tier_has_its_number(incident):
    text = said(days.draw(incident))
    for tier in ("confirmed", "probable", "possible", "not_assessable"):
        counts = [getattr(day, tier) for day in incident.days if getattr(day, tier)]
        assert all(f"{count:,}" in text for count in counts)
        assert (tier.replace("_", " ") in text) == bool(counts)


def test_no_two_tiers_have_the_same_outline(incident):
    shapes = {}
    for tier in ("confirmed", "probable", "possible", "not_assessable"):
        one = msgspec.structs.replace(incident.recipients[0], **dict.fromkeys(COUNTS, 0))
        one = msgspec.structs.replace(one, **{f"n_{tier}": 1})
        mark = tenants.draw([one], "x").shapes[1]
        shapes[tier] = (mark["kind"], len(mark.get("points", "")))
    assert len(set(shapes.values())) == len(shapes)


COUNTS = ("n_confirmed", "n_probable", "n_possible", "n_not_assessable")


def test_the_picture_of_tenants_says_how_many_there_are(incident):
    many = [
        msgspec.structs.replace(incident.recipients[0], tenant_id=f"t-{number}")
        for number in range(1_234)
    ]
    plate = tenants.draw(many, "Recipients")
    assert "20 of 1,234 tenants" in plate.caption
    assert sum(text.endswith(tuple("0123456789")) and ". t-" in text for text in said(plate)) == 20


def test_requests_on_one_spot_are_drawn_once(incident):
    few = incident.points[:1] * 5_000
    plate = lengths.draw(msgspec.structs.replace(incident, points=few))
    assert len(plate.shapes) < 1_000


def test_the_limits_stand_beside_their_lines(incident):
    text = said(lengths.draw(incident))
    assert any(line.startswith(("limit ", "threshold ")) for line in text)


@pytest.mark.parametrize("kind", ["lone day", "no cells"])
def test_little_is_drawn_too(kind, incident):
    changed = {"lone day": {"days": incident.days[:1]}, "no cells": {"lengths": []}}[kind]
    assert every(msgspec.structs.replace(incident, **changed))
