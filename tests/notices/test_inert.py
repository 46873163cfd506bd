"""Templates of one's own: what a customer opens runs nothing and asks for nothing."""

import re

import pytest

from forensics.errors import UsageError
from forensics.notices.inert import POLICY, POLICY_TAG
from forensics.notices.templating import HTML_FILE, MARKDOWN_FILE, built_in, templates
from forensics.notices.wording import wording

SAID = wording()
URL = "http://asked.example/a.png"
SCRIPT = f"<script>document.title='owned';new Image().src='{URL}'</script>"
ACTIVE = [
    SCRIPT,
    f"<SCRIPT src={URL}></SCRIPT>",
    "{% raw %}{{ " + SCRIPT + " }}{% endraw %}",
    "<scr{# #}ipt>1</scr{# #}ipt>",
    "<scr{% if title %}ipt>1</script>{% endif %}",
    f'<img src="{URL}">',
    f"<img/src={URL}>",
    f"<svg><image href='{URL}'/></svg>",
    '<p onclick="alert(1)">x</p>',
    "<p title=x onmouseover=alert(1)>x</p>",
    f"<style>p {{ background: url({URL}) }}</style>",
    f"<style>p {{ background: u\\rl({URL}) }}</style>",
    f"<style>@import '{URL}';</style>",
    f"<style>p {{ background: image-set('{URL}' 1x) }}</style>",
    "<style>p { color: {{ account }} }</style>",
    f'<p style="background: url({URL})">x</p>',
    f'<p style="background: u&#114;l({URL})">x</p>',
    f'<table background="{URL}"></table>',
    f'<link rel="stylesheet" href="{URL}">',
    f'<meta http-equiv="refresh" content="0; url={URL}">',
    f'<base href="{URL}">',
    f"<iframe src='{URL}'></iframe>",
    f'<form action="{URL}"></form>',
    f"<object data='{URL}'></object>",
    f"<video poster='{URL}'></video>",
    '<a href="javascript:alert(1)">x</a>',
    f'<a href="{URL}">x</a>',
    '<a href="{{ account }}">x</a>',
    '<p class="{{ account }}">x</p>',
    f"<!--> {SCRIPT} <!-- -->",
    f"<![CDATA[ {SCRIPT} ]]>",
    f"<noscript><img src='{URL}'></noscript>",
    f"<textarea></textarea><plaintext>{SCRIPT}",
    "1 < 2",
]
INERT = """<title>{{ title }}</title><!-- a note -->
<style>p { color: #111 } @media print { p { margin: 0 } }</style></head>
<body class="a"><h1 id="t" aria-label="x">{{ title }}</h1>
<p style="margin: 0">{{ account }} &lt; <b>x</b></p><br/>
{% if rows %}<table><tr><th scope="col">a</th></tr></table>{% endif %}
<a href='mailto:us@one.example'>us</a><a href="#t">up</a></body></html>
"""
HEAD = f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{POLICY_TAG}\n'


@pytest.mark.parametrize("text", ACTIVE)
def test_a_page_that_could_act_is_refused(text, tmp_path):
    (tmp_path / HTML_FILE).write_text(f"{HEAD}<title>x</title></head><body>{text}</body></html>")
    with pytest.raises(UsageError, match=r"may not|no plain element"):
        templates(tmp_path, SAID)


@pytest.mark.parametrize(
    "text",
    [
        "<html><head><title>x</title>" + POLICY_TAG,
        f"<html><head><!-- {POLICY_TAG} --></head></html>",
        f"<p>{POLICY}</p>",
        "{% if rows %}" + POLICY_TAG + "{% endif %}",
        POLICY_TAG.replace("default-src 'none'", "default-src *"),
        "{{ account }}",
    ],
)
def test_the_policy_comes_before_all_that_it_is_for(text, tmp_path):
    (tmp_path / HTML_FILE).write_text(text)
    with pytest.raises(UsageError, match="the first element in the head has to be"):
        templates(tmp_path, SAID)


def test_what_is_inert_is_kept(tmp_path):
    (tmp_path / HTML_FILE).write_text(HEAD + INERT)
    (tmp_path / MARKDOWN_FILE).write_text("# {{ title }}\n\n[x] done! [up](#t) <!-- a note -->\n")
    assert 'class="a"' in templates(tmp_path, SAID).own_text
    (tmp_path / HTML_FILE).write_text(built_in(HTML_FILE))
    assert templates(tmp_path, SAID)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"![x]({URL})", "a picture"),
        ("!{{ case_title }}[x][y]\n\n[y]: http://asked.example", "a picture"),
        (f"<img src={URL}>", "HTML"),
        ("<scr{# #}ipt>", "HTML"),
        (f"<!-- x -- ><img src={URL}> -->", "HTML"),
        ("<?xml version='1.0'?>", "HTML"),
    ],
)
def test_markdown_holds_no_picture_and_no_html(text, what, tmp_path):
    (tmp_path / MARKDOWN_FILE).write_text(f"# {{{{ title }}}}\n\n{text}\n")
    with pytest.raises(UsageError, match=f"may not hold {what}"):
        templates(tmp_path, SAID)


@pytest.mark.long
@pytest.mark.browser
def test_a_notice_of_ones_own_asks_for_nothing(tmp_path, chromium):
    (tmp_path / HTML_FILE).write_text(HEAD + INERT)
    values = {"title": f"<img src={URL}>", "account": f"<script>{URL}", "rows": []}
    page, net = tmp_path / "notice.html", tmp_path / "net.json"
    page.write_text(templates(tmp_path, SAID).html.render(values))
    rules = "--host-resolver-rules=MAP * ~NOTFOUND"
    dom = chromium.dom(page.as_uri(), f"--log-net-log={net}", rules)
    assert "<title>&lt;img src" in dom
    assert not [url for url in re.findall(r'"url":"([^"]+)"', net.read_text()) if "asked" in url]
    page.write_text(f"{HEAD}</head><body><img src='{URL}'></body></html>".replace(POLICY_TAG, ""))
    chromium.dom(page.as_uri(), f"--log-net-log={net}", rules)
    assert URL in net.read_text()  # what would be asked for can be seen
