"""An editor, as far as a language server sees it: messages of the protocol, and files that are open."""
import json
import subprocess
import threading

SECONDS = 50  # after which a server that does not answer is ended


def place(text, token, number=0, behind=0):
    """The position of the number-th occurrence of the token, or so many code units of UTF-16 behind its beginning."""
    at = -1
    for _ in range(number + 1):
        at = text.index(token, at + 1)
    line = text[:at].split("\n")[-1]
    return {"line": text[:at].count("\n"), "character": len(line.encode("utf-16-le")) // 2 + behind}


def ranged(text, token, number=0):
    """The range of that occurrence."""
    return {"start": place(text, token, number), "end": place(text, token, number, len(token))}


class Server:
    """A server that was started, and what it said that nobody asked for."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.timer = threading.Timer(SECONDS, self.process.kill)
        self.timer.start()
        self.ids = 0

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send_text(self, text):
        data = text.encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))

    def receive(self):
        length = None
        while (line := self.process.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        if length is None:
            raise AssertionError(f"the server ended: {self.process.stderr.read().decode()}")
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, **params):
        self.send_text(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def answer(self, method, **params):
        """The whole answer to a request, which comes before anything else."""
        self.ids += 1
        self.send_text(json.dumps({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}))
        message = self.receive()
        assert message["id"] == self.ids, message
        return message

    def ask(self, method, **params):
        message = self.answer(method, **params)
        assert "error" not in message, message
        return message["result"]

    def initialize(self):
        return self.ask("initialize", capabilities={}, processId=None, rootUri=None)

    def end(self):
        """The exit status, after the input's end."""
        self.process.stdin.close()
        status = self.process.wait()
        self.timer.cancel()
        self.process.stdout.close()
        self.process.stderr.close()
        return status


class File:
    """A file that is open, with the diagnostics that its last version got."""

    def __init__(self, server, text, path="/models/model.mlir"):
        self.server, self.text, self.uri, self.version = server, text, "file://" + path, 1
        server.notify("textDocument/didOpen",
                      textDocument={"uri": self.uri, "languageId": "mlir", "version": 1, "text": text})
        self._receive()

    def _receive(self):
        message = self.server.receive()
        assert message["method"] == "textDocument/publishDiagnostics", message
        assert message["params"]["uri"] == self.uri, message
        self.diagnostics = message["params"]["diagnostics"]

    def change(self, text, changes=None):
        """Makes `text` the file's, by sending all of it or these changes."""
        self.text, self.version = text, self.version + 1
        self.server.notify("textDocument/didChange", textDocument={"uri": self.uri, "version": self.version},
                           contentChanges=changes or [{"text": text}])
        self._receive()

    def close(self):
        self.server.notify("textDocument/didClose", textDocument={"uri": self.uri})
        self._receive()

    def ask(self, method, token, number=0, behind=0, **params):
        """About that occurrence of the token in the text."""
        return self.server.ask("textDocument/" + method, textDocument={"uri": self.uri},
                               position=place(self.text, token, number, behind), **params)

    def hover(self, token, number=0, behind=0):
        """What is shown; None: nothing."""
        result = self.ask("hover", token, number, behind)
        return result and result["contents"]["value"]

    def definition(self, token, number=0, behind=0):
        return self._ranges(self.ask("definition", token, number, behind))

    def references(self, token, number=0, behind=0, with_definition=False):
        return self._ranges(self.ask("references", token, number, behind, context={"includeDeclaration": with_definition}))

    def symbols(self):
        return self.server.ask("textDocument/documentSymbol", textDocument={"uri": self.uri})

    def _ranges(self, locations):
        assert all(location["uri"] == self.uri for location in locations), locations
        return sorted((location["range"] for location in locations),
                      key=lambda found: (found["start"]["line"], found["start"]["character"]))
