"""What the glossary's terms mean, in the script that a page shows them from."""

import pytest
from qkv_site.terms import terms

from tools.translations import skin

GLOSSARY = """<dl class="glossary"><dt id="term-entropy">entropy<a class="headerlink" href="#term-entropy">#</a></dt>
<dd><p>How spread <em>out</em> it is, 1.5 &lt; 2: <span class="math"><span class="katex">
<span class="katex-mathml"><math><mi>p</mi></math></span><span class="katex-html">p</span></span></span>, in
nats. It is 0 when one weight is 1.
In Chinese: 熵.</p></dd>
<dt id="term-key">鍵<a class="headerlink" href="#term-key">#</a></dt>
<dd><p>找到詞元的依據。鍵是 K 的列。</p></dd></dl>"""


def test_a_term_has_the_first_sentence_of_its_entry_with_formulas_as_mathml():
    assert terms(GLOSSARY) == {
        "term-entropy": ("entropy", "How spread <em>out</em> it is, 1.5 &lt; 2: <math><mi>p</mi></math>, in nats."),
        "term-key": ("鍵", "找到詞元的依據。"),
    }


@pytest.mark.parametrize(("language", "name"), [("en", "softmax"), ("zh_TW", "歸一化指數函數（softmax）")])
def test_on_a_chinese_site_a_term_has_its_chinese_name_first(language: str, name: str):
    skin.speak(language)
    try:
        found = terms('<dl class="glossary"><dt id="term-softmax">softmax</dt><dd><p>One. Two.</p></dd></dl>')
    finally:
        skin.speak("en")
    assert found == {"term-softmax": (name, "One.")}
