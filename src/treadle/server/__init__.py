"""The server: pages, and the assistants over HTTP. Built on Starlette and uvicorn, from the extra `treadle[server]`."""
