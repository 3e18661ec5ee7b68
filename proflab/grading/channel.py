"""How messages cross a Unix socket pair: two lengths, that much JSON, that much data.

Used on both sides; imports the standard library only, because a student's side has no more of the
grading package than the file that it is in.
"""

from __future__ import annotations

import json
import socket
import struct

HEADER = struct.Struct(">II")


class Channel:
    """One end of a Unix socket pair that carries messages, and with a message a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def receive(self) -> tuple[dict, bytes, socket.socket | None]:
        """The next message, its data and the socket that came with it; EOFError at the end."""
        header, fds = b"", []
        while len(header) < HEADER.size:
            chunk, got, _, _ = socket.recv_fds(self.sock, HEADER.size - len(header), 1)
            if not chunk:
                raise EOFError
            header, fds = header + chunk, fds + got
        json_size, blob_size = HEADER.unpack(header)
        message = json.loads(self._exactly(json_size))
        blob = self._exactly(blob_size)
        return message, blob, socket.socket(fileno=fds[0]) if fds else None

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = self.sock.recv(min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, message: dict, blob: bytes = b"") -> None:
        """Send one message."""
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        self.sock.sendall(HEADER.pack(len(body), len(blob)) + body + blob)
