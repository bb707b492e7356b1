#include "compiler/python/BindSession.h"

#include "compiler/launch/SessionTensors.h"
#include "compiler/python/Arrays.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"
#include "compiler/python/ThisRank.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/Support/raw_ostream.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace splitcast::python {

namespace {

/// Nothing: stage 0; a stage; or the text or the dict of options of --enable-zero.
sbp::ZeroOptions zeroOf(const py::object &said) {
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  if (said.is_none())
    return zero;
  const std::string text = py::isinstance<py::dict>(said)  ? textOf(said.cast<py::dict>())
                           : py::isinstance<py::str>(said) ? textOf(said)
                                                           : absl::StrCat("stage=", textOf(said));
  if (const std::optional<std::string> wrong = sbp::parseEnableZero(text, &zero))
    raiseInvalid(absl::StrCat("enable_zero is '", text, "'; ", *wrong));
  return zero;
}

/// An input, and whether it has been given.
struct Input {
  TensorInfo info;
  absl::Span<std::byte> piece;
  bool isGiven = false;
};

struct Ports {
  std::vector<Input> inputs;
  std::vector<TensorInfo> outputs;
};

/// A session, until the job ends.
class OwnedSession {
public:
  static std::shared_ptr<OwnedSession> create(const std::shared_ptr<OwnedGraph> &graph, const py::object &enableZero,
                                              uint64_t seed) {
    const mlir::ModuleOp module = valueOrRaise(graph->graph.finish());
    ThisRank &job = ThisRank::get();
    SessionOptions options = sessionOptionsOf(job.launch());
    options.compile.zero = zeroOf(enableZero);
    options.seed = seed;
    auto result = std::make_shared<OwnedSession>();
    result->graph = graph;
    result->session = valueOrRaise(
        unlocked([&] { return Session::create(module, options, job.launch().device(), job.launch().communicator()); }));
    result->number = job.beforeEnd([session = result.get()] { session->session = nullptr; });
    return result;
  }
  ~OwnedSession() {
    if (session)
      ThisRank::get().forget(number);
  }

  Session &get() {
    if (!session)
      raise(absl::FailedPreconditionError("the job has ended, and its sessions with it"));
    return *session;
  }

  Ports &portsOf(const std::string &function) {
    if (auto found = known.find(function); found != known.end())
      return found->second;
    Ports ports;
    for (const TensorInfo &info : valueOrRaise(get().inputs(function)))
      ports.inputs.push_back({info, valueOrRaise(get().inputPiece(function, ports.inputs.size()))});
    ports.outputs = valueOrRaise(get().outputs(function));
    return known.emplace(function, std::move(ports)).first->second;
  }

  const Session::Variable &variable(const std::string &name) {
    for (const Session::Variable &each : variables())
      if (each.name == name)
        return each;
    raise(absl::NotFoundError(absl::StrCat("there is no variable '", name, "'; see Session.variables")));
  }
  const std::vector<Session::Variable> &variables() {
    if (allVariables.empty())
      allVariables = get().variables();
    return allVariables;
  }

private:
  std::shared_ptr<OwnedGraph> graph; ///< the session runs in its context
  std::unique_ptr<Session> session;
  int64_t number = 0; ///< of what closes it
  std::map<std::string, Ports> known;
  std::vector<Session::Variable> allVariables;
};

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

py::object inputView(const Input &input, const py::object &owner) {
  return viewOf(input.info, input.piece.data(), /*isWritable=*/true, owner);
}

/// Of the whole tensor, what this rank has: box by box.
void copyBoxes(const Input &input, const py::object &whole, const py::object &view) {
  const int64_t rows = input.info.boxes.front().empty() ? 1 : input.info.boxes.front().front().count;
  int64_t first = 0;
  for (const sbp::Box &box : input.info.boxes) {
    py::tuple of(box.size());
    for (size_t dim = 0; dim < box.size(); ++dim)
      of[dim] = py::slice(box[dim].begin, box[dim].begin + box[dim].count, 1);
    const py::object part = whole.attr("__getitem__")(of);
    if (input.info.boxes.size() == 1)
      return copyTo(view, part);
    copyTo(view.attr("__getitem__")(py::slice(first, first + rows, 1)), part);
    first += rows;
  }
}

void setInput(Input &input, const std::string &function, const py::object &given, bool isWhole,
              const py::object &owner) {
  const py::object view = inputView(input, owner);
  const std::string what = absl::StrCat("input '", input.info.name, "' of '", function, "'",
                                        isWhole ? " (whole)" : ", of this rank's rows,");
  const py::object array = arrayOf(given, input.info.type, isWhole ? input.info.shape : shapeOfPiece(input.info), what);
  if (isWhole)
    copyBoxes(input, array, view);
  else
    copyTo(view, array);
  input.isGiven = true;
}

std::string namesOf(const std::vector<Input> &inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string *to, const Input &each) { absl::StrAppend(to, each.info.name); });
}

void setInputs(Ports &ports, const std::string &function, const py::dict &given, bool isWhole,
               const py::object &owner) {
  size_t known = 0;
  for (Input &input : ports.inputs) {
    if (given.contains(input.info.name)) {
      ++known;
      setInput(input, function, given[input.info.name.c_str()], isWhole, owner);
    } else if (!input.isGiven) {
      raiseInvalid(absl::StrCat("input '", input.info.name, "' of '", function,
                                "' is not given, and was not before; its inputs are ", namesOf(ports.inputs)));
    }
  }
  if (known == given.size())
    return;
  for (const auto &item : given) {
    const std::string name = py::str(item.first);
    if (std::none_of(ports.inputs.begin(), ports.inputs.end(),
                     [&](const Input &each) { return each.info.name == name; }))
      raiseInvalid(absl::StrCat("'", function, "' has no input '", name, "'; its inputs are ", namesOf(ports.inputs)));
  }
}

py::dict run(const py::object &self, const std::string &function, const py::dict &inputs, bool isWhole) {
  auto &owned = self.cast<OwnedSession &>();
  Session &session = owned.get();
  Ports &ports = owned.portsOf(function);
  setInputs(ports, function, inputs, isWhole, self);
  raiseUnlessOk(unlocked([&] { return session.run(function); }));
  py::dict results;
  for (size_t index = 0; index < ports.outputs.size(); ++index) {
    const absl::Span<const std::byte> piece = valueOrRaise(session.outputPiece(function, index));
    results[ports.outputs[index].name.c_str()] = viewOf(ports.outputs[index], piece.data(), false, self);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

py::dict describe(const TensorInfo &info) {
  py::list boxes;
  for (const sbp::Box &box : info.boxes) {
    py::list slices;
    for (const sbp::Interval &dim : box)
      slices.append(py::slice(dim.begin, dim.begin + dim.count, 1));
    boxes.append(py::tuple(slices));
  }
  py::dict result;
  result["dtype"] = py::cast(info.type);
  result["shape"] = py::tuple(py::cast(info.shape));
  result["local_shape"] = py::tuple(py::cast(shapeOfPiece(info)));
  result["boxes"] = boxes;
  return result;
}

py::dict inputsOf(OwnedSession &session, const std::string &function) {
  py::dict result;
  for (const Input &input : session.portsOf(function).inputs)
    result[input.info.name.c_str()] = describe(input.info);
  return result;
}

py::dict outputsOf(OwnedSession &session, const std::string &function) {
  py::dict result;
  for (const TensorInfo &info : session.portsOf(function).outputs)
    result[info.name.c_str()] = describe(info);
  return result;
}

py::object inputOf(const py::object &self, const std::string &function, const std::string &name) {
  Ports &ports = self.cast<OwnedSession &>().portsOf(function);
  for (Input &input : ports.inputs)
    if (input.info.name == name) {
      input.isGiven = true;
      return inputView(input, self);
    }
  raise(absl::NotFoundError(
      absl::StrCat("'", function, "' has no input '", name, "'; its inputs are ", namesOf(ports.inputs))));
}

py::dict reportOf(OwnedSession &session, const std::string &function) {
  const MemoryReport memory = session.get().memoryReport(function);
  const CommunicationReport communication = session.get().communicationReport(function);
  py::list collectives;
  int64_t bytes = 0;
  for (const CommunicationReport::Entry &entry : communication.entries) {
    py::dict each;
    each["collective"] = entry.collective;
    each["calls"] = entry.calls;
    each["bytes_sent"] = entry.bytesSent;
    each["messages"] = entry.messages;
    collectives.append(each);
    bytes += entry.bytesSent;
  }
  py::dict result;
  result["peak_bytes"] = memory.peakBytes();
  result["parameter_bytes"] = memory.parameters;
  result["optimizer_state_bytes"] = memory.optimizerState;
  result["persistent_bytes"] = memory.persistentBytes;
  result["arena_bytes"] = memory.arenaBytes;
  result["bytes_sent"] = bytes;
  result["collectives"] = collectives;
  std::string text;
  llvm::raw_string_ostream os(text);
  print(memory, os);
  print(communication, os);
  result["text"] = os.str();
  return result;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

py::dict variablesOf(OwnedSession &session) {
  py::dict result;
  for (const Session::Variable &each : session.variables())
    result[each.name.c_str()] = py::make_tuple(each.type, py::tuple(py::cast(each.shape)));
  return result;
}

py::object readVariable(OwnedSession &session, const std::string &name) {
  const Session::Variable &variable = session.variable(name);
  py::object result = emptyArray(variable.type, variable.shape);
  void *data = dataOf(result);
  raiseUnlessOk(unlocked([&] { return session.get().readVariable(name, data); }));
  return result;
}

void writeVariable(OwnedSession &session, const std::string &name, const py::object &value) {
  const Session::Variable &variable = session.variable(name);
  const py::object array =
      contiguous(arrayOf(value, variable.type, variable.shape, absl::StrCat("the value of variable '", name, "'")));
  const void *data = dataOf(array);
  raiseUnlessOk(unlocked([&] { return session.get().writeVariable(name, data); }));
}

std::vector<std::string> loadWeights(OwnedSession &session, const std::string &path,
                                     const std::vector<std::pair<std::string, std::string>> &renamings) {
  std::vector<runtime::Renaming> parsed;
  for (const auto &[from, to] : renamings)
    parsed.push_back(valueOrRaise(runtime::Renaming::parse(absl::StrCat(from, "=", to))));
  return valueOrRaise(unlocked([&] { return session.get().loadWeights(path, parsed); }));
}

std::string planOf(OwnedSession &session) {
  std::string text;
  llvm::raw_string_ostream os(text);
  session.get().plan().print(os);
  return os.str();
}

void bindVariables(py::class_<OwnedSession, std::shared_ptr<OwnedSession>> &session) {
  session.def_property_readonly("variables", &variablesOf,
                                "{name: (dtype, global shape)}, the optimizer's state among them.");
  session.def("read", &readVariable, py::arg("name"),
              "The whole variable, on every rank, which all call it. A rank holds it all meanwhile.");
  session.def("write", &writeVariable, py::arg("name"), py::arg("value"),
              "Sets the whole variable; every rank gives the same, at the same point.");
  session.def(
      "save",
      [](OwnedSession &of, const std::string &path) {
        raiseUnlessOk(unlocked([&] { return of.get().saveVariables(path); }));
      },
      py::arg("path"),
      "All variables, whole, to one safetensors file, which appears when it is complete. All ranks call it.");
  session.def(
      "load",
      [](OwnedSession &of, const std::string &path) {
        raiseUnlessOk(unlocked([&] { return of.get().loadVariables(path); }));
      },
      py::arg("path"), "What save() wrote, whatever the ranks and the stage were. All ranks call it.");
  session.def("load_weights", &loadWeights, py::arg("path"),
              py::arg("renamings") = std::vector<std::pair<std::string, std::string>>(),
              "The variables but for the optimizer's state, of a file that may have more, whose names are given back. "
              "renamings: (pattern, name) of the file's names.");
}

} // namespace

void bindSession(py::module_ &module, py::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> &graph) {
  py::class_<OwnedSession, std::shared_ptr<OwnedSession>> session(
      module, "Session", "A compiled graph on this rank. Every rank calls the same methods in the same order.");
  session.def(
      "run",
      [](const py::object &self, const std::string &function, bool whole, const py::kwargs &inputs) {
        return run(self, function, inputs, whole);
      },
      py::arg("function"), py::kw_only(), py::arg("whole") = false,
      "Runs a function on inputs given by name, and gives its results by name.\n\nAn input is this rank's "
      "piece, see inputs(); with whole=True the global tensor, of which each rank takes its own. It may be "
      "anything with the buffer protocol, __array__ or DLPack, of the input's type, and is copied once; what "
      "is left out stays. Results are this rank's pieces: views, valid until the next run.");
  session.def(
      "step",
      [](const py::object &self, bool whole, const py::kwargs &inputs) { return run(self, "train", inputs, whole); },
      py::kw_only(), py::arg("whole") = false, "run(\"train\", ...).");
  session.def_property_readonly("functions", [](OwnedSession &of) { return of.get().functions(); });
  session.def("inputs", &inputsOf, py::arg("function") = "train",
              "{name: {dtype, shape, local_shape, boxes}}: boxes are the slices of the global tensor that this rank's "
              "piece has, one after the other; as many as micro-batches that it is cut into.");
  session.def("outputs", &outputsOf, py::arg("function") = "train", "As inputs(), of the results.");
  session.def("input", &inputOf, py::arg("function"), py::arg("name"),
              "This rank's piece of an input, to be written in place: what is there counts as given.");
  session.def("report", &reportOf, py::arg("function") = "train",
              "What one run needs on this rank, known before it: bytes of memory and of each collective; \"text\" is "
              "for people.");
  session.def("plan", &planOf, "The plan of this rank as MLIR.");
  bindVariables(session);
  graph.def("compile", &OwnedSession::create, py::kw_only(), py::arg("enable_zero") = py::none(), py::arg("seed") = 0,
            "Compiles the graph for this rank. All ranks call it, and compare what they compiled.\n\nenable_zero: a "
            "stage, or options of --enable-zero as a text or a dict, \"stage=2,compute-type=bf16\" or {\"stage\": 2, "
            "\"compute_type\": \"bf16\"}. seed: of what variables hold at first.");
}

} // namespace splitcast::python
