"""The server of the dashboard: Streamlit behind the network boundary, however it is started.

`mgem dashboard` starts it with all settings as flags; `streamlit run app/main.py` works as well.
"""

import logging
import os
from pathlib import Path

import streamlit as st
from backend_address import name_backend
from boundary import guard_network
from descriptors import guard_descriptors, raise_descriptor_limit
from explore.opened_sources import open_source
from feed import Feed
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from token_gate import require_token

logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # otherwise it reports every start and stop on stderr
raise_descriptor_limit()

# Removed from the environment, so that processes started by the dashboard do not inherit the token.
token = os.environ.pop("MGEM_DASHBOARD_TOKEN", "")
proxies = frozenset(os.environ.pop("MGEM_DASHBOARD_HOSTS", "").split())
middleware = [Middleware(guard_network, proxies=proxies, has_token=bool(token)), Middleware(guard_descriptors)]
if token:
    middleware.append(Middleware(require_token, token=token))
middleware.append(Middleware(name_backend))
routes = [WebSocketRoute("/feed", Feed(open_source).serve)]
app = st.App(Path(__file__).with_name("dashboard.py"), routes=routes, middleware=middleware)
