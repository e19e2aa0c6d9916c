"""The server: the page, and the assistants over HTTP. Starlette and uvicorn underneath, from the extra `treadle[server]`."""
