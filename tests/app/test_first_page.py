"""The lens is the first page; old links to Explore, which used to be the first page, still work."""

from filled_store import known_store
from pages import MAIN, open_page, texts
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash


def open_address(path: str = "", **query: str | list[str]) -> AppTest:
    """Open a path as a browser does."""
    app = AppTest.from_file(str(MAIN), default_timeout=60)
    if path:
        app._page_hash = calc_hash(path)
    app.query_params.update(query)
    app.run()
    assert not app.exception
    return app


def test_lens_is_the_first_page(store):
    app = open_address()
    assert app.selectbox(key="lens of").value == "example"
    [introduction] = [one.value for one in app.markdown if "Drag" in one.value]
    assert introduction.count(".") == 3
    for words in ("further right", "higher", "nothing is trained", "cannot tell"):
        assert words in introduction


def test_old_lens_address_redirects_with_parameters(store):
    app = open_address("lens", of="example")
    assert app.selectbox(key="lens of").value == "example"
    assert app.query_params["of"] == "example"


def test_old_explore_link_opens_the_same_view(store):
    known_store(store.path)
    view = {"sweep": "s1", "axes": "cosine", "plots": ["Map", "Transfer"], "errors": "every seed", "front": "true"}
    old, new = open_address(**view), open_page("explore", **view)
    for app in (old, new):
        assert app.session_state["sweep"] == 1
        assert app.button_group(key="axes").value == "cosine"
        assert app.button_group(key="plots").value == new.button_group(key="plots").value
        assert app.selectbox(key="errors").value == "seeds"
        assert app.toggle(key="front").value
    assert len(old.button_group(key="plots").value) == 2
    assert old.query_params == new.query_params


def test_lens_links_to_explore(store):
    app = open_address()
    [button] = [one for one in app.button if one.label == "Train your own: Explore"]
    button.click().run()
    assert not app.exception
    assert "What does it cost to remember?" in texts(app)
