"""The token of `mgem dashboard --token`: each browser is asked for it once, then recognised by a cookie.

The token has 256 random bits, so the number of attempts need not be limited.
"""

import hashlib
import hmac
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from boundary import refuse
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE_SECONDS = 365 * 24 * 3600
LARGEST_FORM = 4096  # bytes
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Token required – mGEM Explorer</title>
<style>
  :root { color-scheme: light dark; --text: #1A2027; --page: #FFFFFF; --box: #F3F5F8; --line: #6B7683; --main: #0065A3;
    --error: #B3261E }
  @media (prefers-color-scheme: dark) { :root { --text: #E8ECF1; --page: #12161C; --box: #1B222B; --line: #8793A0;
    --main: #1F78B4; --error: #FF9B92 } }
  body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif }
  main { box-sizing: border-box; max-width: 30rem; margin: 15vh auto 0; padding: 1.5rem 2rem 2rem; background: var(--box);
    border-radius: 8px }
  h1 { margin: 0 0 .5rem; font-size: 1.5rem }
  p { margin: 0 0 1rem }
  code { font-size: .9em; overflow-wrap: anywhere }
  label { display: block; margin-bottom: .25rem; font-weight: 600 }
  input { box-sizing: border-box; width: 100%; padding: .5rem; border: 1px solid var(--line); border-radius: 4px;
    background: var(--page); color: inherit; font: inherit }
  button { margin-top: 1rem; padding: .5rem 1.25rem; border: 0; border-radius: 4px; background: var(--main); color: #FFFFFF;
    font: inherit; cursor: pointer }
  :focus-visible { outline: 3px solid var(--main); outline-offset: 2px }
  [role=alert] { color: var(--error) }
</style>
<main>
  <h1>mGEM Explorer</h1>
  <p id="help">This dashboard asks each browser for its token once. It is part of the address that
    <code>mgem dashboard --token</code> printed, after <code>token=</code>.</p>
  {error}
  <form method="post">
    <label for="token">Token</label>
    <input id="token" name="token" type="password" autocomplete="current-password" required autofocus
      aria-describedby="{described_by}"{invalid}>
    <button>Open the dashboard</button>
  </form>
</main>
</html>
"""
WRONG_TOKEN = """<p id="error" role="alert">This is not the token of this dashboard. Copy it again from the terminal that
    started it.</p>"""


def require_token(app: ASGIApp, token: str) -> ASGIApp:
    """Answer only browsers with the cookie. A request with the token gets the cookie and a redirect without the token."""
    value = hmac.new(token.encode(), b"cookie of the mGEM dashboard", hashlib.sha256).hexdigest()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] == "/_stcore/health":  # it only answers "ok"
            await app(scope, receive, send)
            return
        has_cookie = _equal(HTTPConnection(scope).cookies.get(_cookie_name(scope), ""), value)
        offered = await _offered_token(scope, receive)
        if has_cookie and offered is None:
            await app(scope, receive, send)
        elif has_cookie or _equal(offered or "", token):
            await _admit(scope, value)(scope, receive, send)
        else:
            await refuse(_refusal(scope, offered), scope, receive, send)

    return guarded


def _equal(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode(), second.encode())


def _cookie_name(scope: Scope) -> str:
    """Return a name that contains the port, because browsers send the cookies of a host to all its ports."""
    return f"mgem_token_{scope['server'][1]}"


async def _offered_token(scope: Scope, receive: Receive) -> str | None:
    """Return the token in the URL or in the form of the token page, or None if there is neither."""
    if scope["type"] != "http":
        return None
    request = Request(scope, receive)
    is_form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    if request.method != "POST" or not is_form:  # Streamlit sends no such forms
        return request.query_params.get("token") if request.method == "GET" else None
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            return ""
    return parse_qs(body.decode("ascii", "replace")).get("token", [""])[0].strip()


def _admit(scope: Scope, value: str) -> Response:
    """Set the cookie, and redirect to the same URL without the token.

    The redirect is relative, so that it also works behind a proxy that adds a prefix to the path.
    SameSite is Lax, not Strict: with Strict, following a link in an email or chat would ask for the token again.
    """
    query = [(name, text) for name, text in parse_qsl(scope["query_string"].decode("latin-1"), True) if name != "token"]
    url = "./" + quote(scope["path"].rpartition("/")[2]) + (f"?{urlencode(query)}" if query else "")
    response = RedirectResponse(url, 303, {"cache-control": "no-store"})
    secure = scope["scheme"] in ("https", "wss")
    name = _cookie_name(scope)
    response.set_cookie(name, value, COOKIE_SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
    return response


def _refusal(scope: Scope, offered: str | None) -> Response:
    headers = {"cache-control": "no-store"}
    if scope["type"] == "websocket" or scope["method"] not in ("GET", "POST"):
        return PlainTextResponse("This dashboard needs a token. Open it in a browser to enter the token.\n", 403, headers)
    is_wrong = offered is not None
    page = PAGE.replace("{error}", WRONG_TOKEN if is_wrong else "")
    page = page.replace("{described_by}", "error" if is_wrong else "help")
    return HTMLResponse(page.replace("{invalid}", ' aria-invalid="true"' if is_wrong else ""), 403, headers)
