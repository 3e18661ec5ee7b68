"""Send and receive messages over a Unix socket pair: two lengths, then JSON, then data.

Both sides use this file. It imports only the standard library, because the rest of the grading
package does not exist on the student's side.
"""

from __future__ import annotations

import json
import socket
import struct

HEADER = struct.Struct(">II")
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Channel:
    """One end of a Unix socket pair; a message may be followed by a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def receive(self) -> tuple[dict, bytes]:
        """Return the next message and its data; raise EOFError at the end."""
        json_size, blob_size = HEADER.unpack(self._exactly(HEADER.size))
        data = self._exactly(json_size + blob_size)
        return json.loads(data[:json_size].decode()), data[json_size:]

    def receive_socket(self) -> socket.socket:
        """Return the socket that follows a message; raise EOFError if none does."""
        _, fds, _, _ = socket.recv_fds(self.sock, 1, 1)
        if not fds:
            raise EOFError
        return socket.socket(fileno=fds[0])

    def _exactly(self, size: int) -> bytes:
        parts, left = [], size
        while left:
            part = self.sock.recv(min(left, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def send(self, message: dict, blob: bytes = b"") -> None:
        """Send one message: a dict as JSON, and `blob` unchanged."""
        body = _encode(message).encode("utf-8", "replace")
        self.sock.sendall(HEADER.pack(len(body), len(blob)) + body + blob)
