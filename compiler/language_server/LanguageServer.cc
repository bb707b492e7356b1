#include "compiler/language_server/LanguageServer.h"

#include "compiler/language_server/OpenFile.h"

#include "mlir/Tools/lsp-server-support/Logging.h"
#include "mlir/Tools/lsp-server-support/Transport.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <utility>

namespace splitcast {
namespace {

llvm::Error errorOf(lsp::ErrorCode code, const llvm::Twine &text) {
  return llvm::make_error<lsp::LSPError>(text.str(), code);
}

//===----------------------------------------------------------------------===//
// Methods
//===----------------------------------------------------------------------===//

class Methods {
public:
  Methods(const mlir::DialectRegistry &registry, lsp::MessageHandler &handler)
      : registry(registry),
        publish(handler.outgoingNotification<lsp::PublishDiagnosticsParams>("textDocument/publishDiagnostics")) {
    handler.method("initialize", this, &Methods::initialize);
    handler.method("shutdown", this, &Methods::shutdown);
    handler.notification("textDocument/didOpen", this, &Methods::didOpen);
    handler.notification("textDocument/didChange", this, &Methods::didChange);
    handler.notification("textDocument/didClose", this, &Methods::didClose);
    handler.method("textDocument/hover", this, &Methods::hover);
    handler.method("textDocument/definition", this, &Methods::definition);
    handler.method("textDocument/references", this, &Methods::references);
    handler.method("textDocument/documentSymbol", this, &Methods::documentSymbol);
  }

private:
  void initialize(const lsp::InitializeParams &, lsp::Callback<llvm::json::Value> reply) {
    // With "full" synchronization each change sends the whole text; it is
    // parsed anew after any change anyway.
    llvm::json::Object synchronization{{"openClose", true},
                                       {"change", static_cast<int>(lsp::TextDocumentSyncKind::Full)}};
    reply(llvm::json::Object{{"serverInfo", llvm::json::Object{{"name", "splitcast-lsp-server"}}},
                             {"capabilities", llvm::json::Object{{"textDocumentSync", std::move(synchronization)},
                                                                 {"hoverProvider", true},
                                                                 {"definitionProvider", true},
                                                                 {"referencesProvider", true},
                                                                 {"documentSymbolProvider", true}}}});
  }

  void shutdown(const lsp::NoParams &, lsp::Callback<std::nullptr_t> reply) { reply(nullptr); }

  void didOpen(const lsp::DidOpenTextDocumentParams &params) {
    read(params.textDocument.uri, params.textDocument.text, params.textDocument.version);
  }

  void didChange(const lsp::DidChangeTextDocumentParams &params) {
    OpenFile *file = find(params.textDocument.uri);
    std::string text = file ? file->text() : "";
    if (!file || failed(lsp::TextDocumentContentChangeEvent::applyTo(params.contentChanges, text)))
      return lsp::Logger::error("a change to '{0}' was ignored: {1}", params.textDocument.uri.file(),
                                file ? "its range is outside the text" : "the file is not open");
    read(params.textDocument.uri, std::move(text), params.textDocument.version);
  }

  void didClose(const lsp::DidCloseTextDocumentParams &params) {
    if (files.erase(params.textDocument.uri.file().str()) > 0)
      publish(lsp::PublishDiagnosticsParams(params.textDocument.uri, 0)); // clears the diagnostics
  }

  void read(const lsp::URIForFile &uri, std::string text, int64_t version) {
    auto file = std::make_unique<OpenFile>(registry, uri, std::move(text));
    lsp::PublishDiagnosticsParams params(uri, version);
    params.diagnostics = file->diagnostics();
    files[uri.file().str()] = std::move(file);
    publish(params);
  }

  void hover(const lsp::TextDocumentPositionParams &params, lsp::Callback<std::optional<lsp::Hover>> reply) {
    answer(params.textDocument.uri, reply, [&](OpenFile &file) { return file.hover(params.position); });
  }

  void definition(const lsp::TextDocumentPositionParams &params, lsp::Callback<std::vector<lsp::Location>> reply) {
    answer(params.textDocument.uri, reply, [&](OpenFile &file) { return file.definitions(params.position); });
  }

  void references(const lsp::ReferenceParams &params, lsp::Callback<std::vector<lsp::Location>> reply) {
    answer(params.textDocument.uri, reply,
           [&](OpenFile &file) { return file.references(params.position, params.context.includeDeclaration); });
  }

  void documentSymbol(const lsp::DocumentSymbolParams &params, lsp::Callback<std::vector<lsp::DocumentSymbol>> reply) {
    answer(params.textDocument.uri, reply, [&](OpenFile &file) { return file.symbols(); });
  }

  template <typename Result, typename Ask>
  void answer(const lsp::URIForFile &uri, lsp::Callback<Result> &reply, Ask ask) {
    if (OpenFile *file = find(uri))
      return reply(ask(*file));
    reply(errorOf(lsp::ErrorCode::InvalidParams,
                  "'" + uri.file() + "' is not open; send textDocument/didOpen before you ask about it"));
  }

  OpenFile *find(const lsp::URIForFile &uri) {
    auto found = files.find(uri.file().str());
    return found == files.end() ? nullptr : found->second.get();
  }

  const mlir::DialectRegistry &registry;
  lsp::OutgoingNotification<lsp::PublishDiagnosticsParams> publish;
  std::map<std::string, std::unique_ptr<OpenFile>> files; ///< by path
};

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// Longer messages are refused, so that a wrong header cannot make the server
/// allocate without bound.
constexpr size_t kMostBytes = size_t{1} << 30;

/// Reads a line without its line ending; false at the end of the input.
bool readLine(std::FILE *in, std::string &line) {
  line.clear();
  for (int byte = std::getc(in); byte != EOF; byte = std::getc(in)) {
    if (byte != '\n') {
      line.push_back(static_cast<char>(byte));
      continue;
    }
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    return true;
  }
  return false;
}

/// Reads the lines of a header up to the empty line that ends it. `length`
/// becomes the length of the message that follows, or nothing if the header
/// gives no valid length.
bool readHeader(std::FILE *in, std::optional<size_t> &length) {
  length.reset();
  std::string line;
  while (readLine(in, line)) {
    llvm::StringRef field = line;
    if (field.empty())
      return true;
    size_t bytes = 0;
    if (field.consume_front_insensitive("Content-Length:") && !field.trim().getAsInteger(10, bytes) &&
        bytes <= kMostBytes)
      length = bytes;
  }
  return false;
}

/// Reads messages and calls their methods. lsp::JSONTransport is only used to
/// write: its reading loop ends at the first malformed message.
class Messages {
public:
  Messages(std::FILE *in, llvm::raw_ostream &out, const mlir::DialectRegistry &registry)
      : in(in), transport(in, out), handler(transport), methods(registry, handler) {}

  int run() {
    std::optional<size_t> length;
    while (readHeader(in, length)) {
      if (!length) {
        refuse(lsp::ErrorCode::ParseError,
               "the header of a message must give a Content-Length, an integer of at most 2^30");
        continue;
      }
      std::string text(*length, '\0');
      if (std::fread(text.data(), 1, text.size(), in) != text.size())
        break;
      llvm::Expected<llvm::json::Value> message = llvm::json::parse(text);
      if (!message)
        refuse(lsp::ErrorCode::ParseError, "a message is not valid JSON: " + llvm::toString(message.takeError()));
      else if (!take(*message))
        return state == State::ShutDown ? 0 : 1;
    }
    return 1;
  }

private:
  enum class State { New, Running, ShutDown };

  /// Returns false if it was the last message.
  bool take(llvm::json::Value &message) {
    llvm::json::Object *fields = message.getAsObject();
    if (!fields || fields->getString("jsonrpc") != llvm::StringRef("2.0")) {
      refuse(lsp::ErrorCode::InvalidRequest,
             "a message does not follow JSON-RPC 2.0; it must be an object with \"jsonrpc\": \"2.0\"");
      return true;
    }
    const llvm::json::Value *id = fields->get("id");
    std::optional<llvm::StringRef> method = fields->getString("method");
    const llvm::json::Value *given = fields->get("params");
    llvm::json::Value params = given ? *given : llvm::json::Value(nullptr);
    if (id && method)
      call(*method, std::move(params), *id);
    else if (method) // a message without a method is a response, and this server sends no requests
      return notify(*method, std::move(params));
    return true;
  }

  void call(llvm::StringRef method, llvm::json::Value params, const llvm::json::Value &id) {
    if (llvm::Error error = outOfTurn(method))
      return transport.reply(id, std::move(error));
    handler.onCall(method, std::move(params), id);
    if (method == "initialize")
      state = State::Running;
    if (method == "shutdown")
      state = State::ShutDown;
  }

  llvm::Error outOfTurn(llvm::StringRef method) const {
    if (state == State::New && method != "initialize")
      return errorOf(lsp::ErrorCode::ServerNotInitialized,
                     "'" + method + "' came before 'initialize'; send 'initialize' first");
    if (state == State::ShutDown)
      return errorOf(lsp::ErrorCode::InvalidRequest,
                     "'" + method + "' came after 'shutdown'; only 'exit' may follow it");
    if (state == State::Running && method == "initialize")
      return errorOf(lsp::ErrorCode::InvalidRequest, "'initialize' was sent twice; send it once, first of all");
    return llvm::Error::success();
  }

  bool notify(llvm::StringRef method, llvm::json::Value params) {
    // The protocol requires notifications to be ignored before 'initialize' and
    // after 'shutdown'.
    return method != "exit" && (state != State::Running || handler.onNotify(method, std::move(params)));
  }

  void refuse(lsp::ErrorCode code, const llvm::Twine &text) { transport.reply(nullptr, errorOf(code, text)); }

  std::FILE *in;
  lsp::JSONTransport transport; ///< for writing only
  lsp::MessageHandler handler;
  Methods methods;
  State state = State::New;
};

} // namespace

int serveEditor(std::FILE *in, llvm::raw_ostream &out, const mlir::DialectRegistry &registry) {
  return Messages(in, out, registry).run();
}

} // namespace splitcast
