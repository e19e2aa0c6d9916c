"""Receivers on loopback: of webhooks, and of e-mail."""

import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def web_receiver():
    """Yield the address of a receiver, the requests that it got, and the statuses that it responds with, then 200."""
    got, statuses = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((dict(self.headers), body))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/hook", got, statuses


@contextmanager
def mail_receiver():
    """Yield the port of a mail server, and the e-mails that it got."""
    got = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            self.say("220 ready")
            while line := self.rfile.readline().decode().strip():
                word = line.split(":")[0].split()[0].upper()
                if word == "DATA":
                    self.say("354 go on")
                    lines = []
                    while (text := self.rfile.readline()) not in (b".\r\n", b""):
                        lines.append(text)
                    got.append(b"".join(lines).decode())
                self.say("221 bye" if word == "QUIT" else "250 fine")
                if word == "QUIT":
                    return

        def say(self, words):
            self.wfile.write(f"{words}\r\n".encode())

    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)) as server:
        yield server.server_address[1], got
