#include "compiler/python/BindSession.h"

#include "compiler/Levels.h"
#include "compiler/launch/SavedRates.h"
#include "compiler/launch/SessionTensors.h"
#include "compiler/python/Arrays.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"
#include "compiler/python/ThisRank.h"
#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <unordered_map>

namespace nb = nanobind;

namespace splitcast::python {

namespace {

/// Parses enable_zero: None for stage 0, a stage, or the options of
/// --enable-zero as a text or dict.
sbp::ZeroOptions zeroOf(const nb::object &said) {
  sbp::ZeroOptions zero = CompileOptions::withoutZero();
  if (said.is_none())
    return zero;
  const std::string text = nb::isinstance<nb::dict>(said)  ? textOf(nb::borrow<nb::dict>(said))
                           : nb::isinstance<nb::str>(said) ? textOf(said)
                                                           : absl::StrCat("stage=", textOf(said));
  if (const std::optional<std::string> wrong = sbp::parseEnableZero(text, &zero))
    raiseInvalid(absl::StrCat("enable_zero is '", text, "'; ", *wrong));
  return zero;
}

/// An input and whether it has been given in this or an earlier run.
struct Input {
  TensorInfo info;
  absl::Span<std::byte> piece;
  bool isGiven = false;
};

/// The inputs and outputs of a function.
struct Ports {
  int64_t steps = 0;        ///< how many times the function has run
  bool areCompared = false; ///< whether what ranks have in common was equal in the first run
  std::vector<Input> inputs;
  std::vector<TensorInfo> outputs;
};

/// A session, which is destroyed when the job ends even if Python still refers
/// to this object.
class OwnedSession {
public:
  static std::unique_ptr<OwnedSession> create(const std::shared_ptr<OwnedGraph> &graph, const PolicyLike &enableZero,
                                              uint64_t seed, std::vector<std::string> notInFiles) {
    ThisRank::requireOwnProcess();
    const mlir::ModuleOp module = valueOrRaise(graph->graph.finish());
    ThisRank &job = ThisRank::get();
    SessionOptions options = sessionOptionsOf(job.launch());
    options.compile.zero = zeroOf(enableZero);
    options.seed = seed;
    options.notInFiles = std::move(notInFiles);
    auto result = std::make_unique<OwnedSession>();
    result->graph = graph;
    result->compileOptions = options.compile;
    result->session = valueOrRaise(
        unlocked([&] { return Session::create(module, options, job.launch().device(), job.launch().communicator()); }));
    result->number = job.beforeEnd([session = result.get()] { session->session = nullptr; });
    return result;
  }
  ~OwnedSession() {
    if (ThisRank::isForked()) {
      [[maybe_unused]] const Session *ofParent = session.release();
      return;
    }
    if (session)
      ThisRank::get().forget(number);
  }

  Session &get() {
    ThisRank::requireOwnProcess();
    if (!session)
      raise(absl::FailedPreconditionError("the session was closed when the job ended; use it before"));
    return *session;
  }

  std::string textOf(const std::string &level) {
    if (level == "plan") {
      std::string text;
      llvm::raw_string_ostream os(text);
      get().plan().print(os);
      return os.str();
    }
    const mlir::ModuleOp source = valueOrRaise(graph->graph.finish());
    const int64_t rank = ThisRank::get().launch().rank();
    return valueOrRaise(unlocked([&] { return textOfLevel(source, compileOptions, rank, level); }));
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

  nb::dict described; ///< what Session.variables returns copies of

  const Session::Variable &variable(const std::string &name) {
    const std::vector<Session::Variable> &all = variables();
    if (auto found = places.find(name); found != places.end())
      return all[found->second];
    raise(absl::NotFoundError(absl::StrCat("there is no variable '", name, "'; the names are in Session.variables")));
  }
  const std::vector<Session::Variable> &variables() {
    if (allVariables.empty()) {
      allVariables = get().variables();
      for (size_t i = 0; i < allVariables.size(); ++i)
        places[allVariables[i].name] = i;
    }
    return allVariables;
  }

private:
  CompileOptions compileOptions;
  std::shared_ptr<OwnedGraph> graph; ///< kept alive because the session runs in its MLIR context
  std::unique_ptr<Session> session;
  int64_t number = 0; ///< from ThisRank::beforeEnd
  std::map<std::string, Ports> known;
  std::vector<Session::Variable> allVariables;
  std::unordered_map<std::string, size_t> places; ///< in these, by name
};

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Array inputView(const Input &input, const nb::object &owner) {
  return viewOf(input.info, input.piece.data(), /*isWritable=*/true, owner);
}

nb::tuple slicesOf(const sbp::Box &box) {
  nb::list slices;
  for (const sbp::Interval &dim : box)
    slices.append(nb::slice(dim.begin, dim.begin + dim.count, int64_t{1}));
  return nb::tuple(slices);
}

/// Copies this rank's boxes of the whole tensor into its piece, where they are
/// stacked along the first dimension.
void copyBoxes(const Input &input, const nb::object &whole, const nb::object &view) {
  const int64_t rows = input.info.boxes.front().empty() ? 1 : input.info.boxes.front().front().count;
  int64_t first = 0;
  for (const sbp::Box &box : input.info.boxes) {
    const nb::object part = whole.attr("__getitem__")(slicesOf(box));
    if (input.info.boxes.size() == 1)
      return copyTo(view, part);
    copyTo(view.attr("__getitem__")(nb::slice(first, first + rows, int64_t{1})), part);
    first += rows;
  }
}

void setInput(Input &input, const std::string &function, const nb::object &given, bool isWhole,
              const nb::object &owner) {
  const nb::object view = inputView(input, owner);
  const std::string what = absl::StrCat("input '", input.info.name, "' of '", function, "'",
                                        isWhole ? ", a whole tensor," : ", of this rank's rows,");
  const nb::object array = arrayOf(given, input.info.type, isWhole ? input.info.shape : shapeOfPiece(input.info), what);
  if (isWhole)
    copyBoxes(input, array, view);
  else
    copyTo(view, array);
  input.isGiven = true;
}

std::string namesOf(const std::vector<Input> &inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string *to, const Input &each) { absl::StrAppend(to, each.info.name); });
}

void setInputs(Ports &ports, const std::string &function, const nb::dict &given, bool isWhole,
               const nb::object &owner) {
  size_t known = 0;
  for (Input &input : ports.inputs) {
    if (given.contains(input.info.name)) {
      ++known;
      setInput(input, function, given[input.info.name.c_str()], isWhole, owner);
    } else if (!input.isGiven) {
      raiseInvalid(absl::StrCat("input '", input.info.name, "' of '", function,
                                "' is not given, nor was it in an earlier run; its inputs are ",
                                namesOf(ports.inputs)));
    }
  }
  if (known == given.size())
    return;
  for (const auto &item : given) {
    const std::string name = stringOf(item.first);
    if (std::none_of(ports.inputs.begin(), ports.inputs.end(),
                     [&](const Input &each) { return each.info.name == name; }))
      raiseInvalid(absl::StrCat("'", function, "' has no input '", name, "'; its inputs are ", namesOf(ports.inputs)));
  }
}

std::string digestOf(const void *data, size_t bytes) {
  return absl::StrCat(absl::Hex(llvm::xxh3_64bits(llvm::StringRef(static_cast<const char *>(data), bytes))));
}

/// Which part of an input this rank has, and a digest of the contents.
std::string digestOf(const Input &input) {
  std::string text;
  for (const sbp::Box &box : input.info.boxes)
    for (const sbp::Interval &dim : box)
      absl::StrAppend(&text, dim.begin, "+", dim.count, ",");
  return absl::StrCat(text, " ", digestOf(input.piece.data(), input.piece.size()));
}

/// Raises an error on all ranks if two ranks have the same part of an input, but
/// not the same contents. All ranks call it at the same point. Session::run
/// compares in each run, but cannot name the input, and ends the job.
void compareInputs(Session &session, const Ports &ports, const std::string &function) {
  const std::string mine = absl::StrJoin(
      ports.inputs, "\n", [](std::string *to, const Input &each) { absl::StrAppend(to, digestOf(each)); });
  const std::vector<std::string> all = valueOrRaise(unlocked(
      [&] { return session.ranksOfSession().exchange(mine, {absl::StrCat("comparing inputs of '", function, "'")}); }));
  std::map<std::pair<size_t, std::string>, std::pair<std::string, size_t>> seen; // by input and part: a digest, a rank
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const std::vector<std::string> lines = absl::StrSplit(all[rank], '\n');
    for (size_t index = 0; index < std::min(lines.size(), ports.inputs.size()); ++index) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(lines[index], absl::MaxSplits(' ', 1));
      const auto &[digest, first] = seen.try_emplace({index, parts.first}, parts.second, rank).first->second;
      if (digest != parts.second)
        raiseInvalid(absl::StrCat("ranks ", first, " and ", rank, " give different values for input '",
                                  ports.inputs[index].info.name, "' of '", function,
                                  "', but its layout says that they have the same part of it; give all of them the "
                                  "same values, or declare the input with a layout such as split(0), so that each has "
                                  "rows of its own"));
    }
  }
}

/// Returns an output: a number as an array of its own, so that it stays when the
/// next run overwrites it, else a view.
Array outputOf(const TensorInfo &info, absl::Span<const std::byte> piece, const nb::object &owner) {
  if (!info.shape.empty())
    return viewOf(info, piece.data(), false, owner);
  Array number = emptyArray(info.type, info.shape);
  std::memcpy(dataOf(number), piece.data(), piece.size());
  return number;
}

DictOf<Array> run(const nb::object &self, const std::string &function, const nb::dict &inputs, bool isWhole) {
  const Turn turn;
  auto &owned = nb::cast<OwnedSession &>(self);
  Session &session = owned.get();
  Ports &ports = owned.portsOf(function);
  setInputs(ports, function, inputs, isWhole, self);
  if (!ports.areCompared && ThisRank::get().launch().size() > 1)
    compareInputs(session, ports, function);
  ports.areCompared = true;
  const absl::Status status = unlocked([&] { return session.run(function); });
  ++ports.steps;
  if (!status.ok())
    raise(absl::Status(status.code(),
                       absl::StrCat("step ", ports.steps, " of @", function, ": ", std::string(status.message()))));
  DictOf<Array> results;
  for (size_t index = 0; index < ports.outputs.size(); ++index) {
    const absl::Span<const std::byte> piece = valueOrRaise(session.outputPiece(function, index));
    results[ports.outputs[index].name.c_str()] = outputOf(ports.outputs[index], piece, self);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

AnyDict describe(const TensorInfo &info) {
  nb::list boxes;
  for (const sbp::Box &box : info.boxes)
    boxes.append(slicesOf(box));
  AnyDict result;
  result["dtype"] = info.type;
  result["shape"] = tupleOf(info.shape);
  result["local_shape"] = tupleOf(shapeOfPiece(info));
  result["boxes"] = boxes;
  return result;
}

DictOf<AnyDict> inputsOf(OwnedSession &session, const std::string &function) {
  DictOf<AnyDict> result;
  for (const Input &input : session.portsOf(function).inputs)
    result[input.info.name.c_str()] = describe(input.info);
  return result;
}

DictOf<AnyDict> outputsOf(OwnedSession &session, const std::string &function) {
  DictOf<AnyDict> result;
  for (const TensorInfo &info : session.portsOf(function).outputs)
    result[info.name.c_str()] = describe(info);
  return result;
}

Array inputOf(const nb::object &self, const std::string &function, const std::string &name) {
  const Turn turn;
  auto &owned = nb::cast<OwnedSession &>(self);
  (void)owned.get(); // it is open
  Ports &ports = owned.portsOf(function);
  for (Input &input : ports.inputs)
    if (input.info.name == name) {
      input.isGiven = true;
      return inputView(input, self);
    }
  raise(absl::NotFoundError(
      absl::StrCat("'", function, "' has no input '", name, "'; its inputs are ", namesOf(ports.inputs))));
}

AnyDict reportOf(OwnedSession &session, const std::string &function) {
  if (const auto inputs = session.get().inputs(function); !inputs.ok())
    raise(inputs.status());
  const MemoryReport memory = session.get().memoryReport(function);
  const CommunicationReport communication = session.get().communicationReport(function);
  nb::list collectives;
  int64_t bytes = 0;
  for (const CommunicationReport::Entry &entry : communication.entries) {
    nb::dict each;
    each["collective"] = entry.collective;
    each["calls"] = entry.calls;
    each["bytes_sent"] = entry.bytesSent;
    each["messages"] = entry.messages;
    collectives.append(each);
    bytes += entry.bytesSent;
  }
  AnyDict result;
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

using Described = DictOf<std::pair<ElementType, Shape>>;

Described variablesOf(OwnedSession &session) {
  if (session.described.size() == 0)
    for (const Session::Variable &each : session.variables())
      session.described[each.name.c_str()] = nb::make_tuple(each.type, tupleOf(each.shape));
  return nb::borrow<Described>(session.described.attr("copy")());
}

Array readVariable(OwnedSession &session, const std::string &name) {
  const Session::Variable &variable = session.variable(name);
  Array result = emptyArray(variable.type, variable.shape);
  void *data = dataOf(result);
  raiseUnlessOk(unlocked([&] { return session.get().readVariable(name, data); }));
  return result;
}

/// Raises an error on all ranks unless all of them give the same value.
void requireAlike(Session &session, const void *data, size_t bytes, const std::string &name) {
  if (ThisRank::get().launch().size() == 1)
    return;
  const std::string digest = digestOf(data, bytes);
  const std::vector<std::string> all = valueOrRaise(unlocked(
      [&] { return session.ranksOfSession().exchange(digest, {absl::StrCat("comparing values of '", name, "'")}); }));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      raiseInvalid(absl::StrCat("ranks 0 and ", rank, " write different values to variable '", name,
                                "'; write() sets the whole variable, so give all of them the same value"));
}

void writeVariable(OwnedSession &session, const std::string &name, const nb::object &value) {
  const Session::Variable &variable = session.variable(name);
  const nb::object array =
      contiguous(arrayOf(value, variable.type, variable.shape, absl::StrCat("the value of variable '", name, "'")));
  const void *data = dataOf(array);
  requireAlike(session.get(), data, nb::cast<size_t>(array.attr("nbytes")), name);
  raiseUnlessOk(unlocked([&] { return session.get().writeVariable(name, data); }));
}

/// Calls `load`, which loads variables of the file `path`. `rates` says which learning rates count: "saved", "command",
/// or an empty text, if they must agree.
void loadWithRates(OwnedSession &session, const std::string &path, const std::string &rates,
                   absl::FunctionRef<absl::Status()> load) {
  SavedRates rule;
  rule.setName("rates=");
  if (const absl::Status status = rule.choose(rates); !status.ok())
    raise(absl::InvalidArgumentError(absl::StrCat("rates is '", rates, "'; ", std::string(status.message()))));
  raiseUnlessOk(unlocked([&] { return rule.load(session.get(), path, load); }));
}

std::vector<std::string> loadWeights(OwnedSession &session, const std::string &path,
                                     const std::vector<std::pair<std::string, std::string>> &renamings) {
  std::vector<runtime::Renaming> parsed;
  for (const auto &[from, to] : renamings)
    parsed.push_back(valueOrRaise(runtime::Renaming::parse(absl::StrCat(from, "=", to))));
  return valueOrRaise(unlocked([&] { return session.get().loadWeights(path, parsed); }));
}

void bindVariables(nb::class_<OwnedSession> &session) {
  session.def_prop_ro("variables", &variablesOf,
                      "All variables as {name: (dtype, global shape)}, including the optimizer's state.");
  session.def(
      "read", &readVariable, nb::arg("name"),
      "The whole variable, gathered on every rank. All ranks must call it, and each needs memory for all of it.");
  session.def("write", &writeVariable, nb::arg("name"), nb::arg("value").none(),
              "Sets the whole variable. All ranks must call it at the same point with the same value.");
  session.def(
      "save",
      [](OwnedSession &of, const std::string &path) {
        raiseUnlessOk(unlocked([&] { return of.get().saveVariables(path); }));
      },
      nb::arg("path"),
      "Saves all variables, whole, to a safetensors file, which appears once it is complete. All ranks must call it.");
  session.def(
      "load",
      [](OwnedSession &of, const std::string &path, const std::string &rates) {
        loadWithRates(of, path, rates, [&] { return of.get().loadVariables(path); });
      },
      nb::arg("path"), nb::arg("rates") = "",
      "Loads a file of save(), whatever the number of ranks and the stage were. All ranks must call it. If the file's "
      "learning rates are not those of the session, this raises InvalidError, unless rates says which count: "
      "\"saved\", those of the file, or \"command\", those of the session.");
  session.def("load_weights", &loadWeights, nb::arg("path"),
              nb::arg("renamings") = std::vector<std::pair<std::string, std::string>>(),
              "Loads all variables except the optimizer's state, and returns the names of the tensors that were not "
              "used. renamings: pairs (pattern of names in the file, variable name).");
  session.def(
      "load_known",
      [](OwnedSession &of, const std::string &path, const std::string &rates) {
        runtime::LoadedVariables loaded;
        loadWithRates(of, path, rates, [&] {
          SPLITCAST_ASSIGN_OR_RETURN(loaded, of.get().loadKnown(path));
          return absl::OkStatus();
        });
        return std::pair(std::move(loaded.kept), std::move(loaded.unused));
      },
      nb::arg("path"), nb::arg("rates") = "",
      "Loads the variables that the file and this session both have, the optimizer's state included, as for a model of "
      "which other parts are trained than when the file was saved. Returns the names of the variables that stay as "
      "they "
      "were, and of the tensors that were not used. All ranks must call it. rates is that of load().");
}

} // namespace

void bindSession(nb::module_ &module, nb::class_<OwnedGraph> &graph) {
  nb::class_<OwnedSession> session(
      module, "Session", nb::is_weak_referenceable(),
      "A compiled graph on this rank. All ranks must call the same methods in the same order.");
  session.def(
      "run",
      [](const nb::object &self, const std::string &function, Truth whole, const nb::kwargs &inputs) {
        return run(self, function, inputs, whole);
      },
      nb::arg("function"), nb::kw_only(), nb::arg("whole") = false, nb::arg("inputs"),
      "Runs a function on inputs given by name, and returns its results by name.\n\nEach input is this rank's "
      "piece, see inputs(); with whole=True it is the global tensor, from which each rank takes its piece. An input "
      "may be anything with the buffer protocol, __array__ or DLPack that has the input's type, or one whose values it "
      "holds without loss; it is copied once. An input that is left out keeps its last value. In each run, ranks that "
      "have the same part of an input must give the same values for it. Results without dimensions are arrays of their "
      "own; others are views of "
      "this rank's pieces, valid until the next run. Only one thread at a time may use the sessions of a process.");
  session.def(
      "step",
      [](const nb::object &self, Truth whole, const nb::kwargs &inputs) { return run(self, "train", inputs, whole); },
      nb::kw_only(), nb::arg("whole") = false, nb::arg("inputs"), "The same as run(\"train\", ...).");
  session.def_prop_ro("functions", [](OwnedSession &of) { return of.get().functions(); });
  session.def("inputs", &inputsOf, nb::arg("function") = "train",
              "The inputs as {name: {dtype, shape, local_shape, boxes}}. boxes: the slices of the global tensor that "
              "make up this rank's piece, one after the other; one for each micro-batch that the input is cut into.");
  session.def("outputs", &outputsOf, nb::arg("function") = "train", "The results, in the form of inputs().");
  session.def("input", &inputOf, nb::arg("function"), nb::arg("name"),
              "This rank's piece of an input, to be written in place. The input then counts as given.");
  session.def("report", &reportOf, nb::arg("function") = "train",
              "The bytes of memory and of each collective that one run needs on this rank, known before it runs. "
              "\"text\" is the same in words.");
  session.def("plan", [](OwnedSession &of) { return of.textOf("plan"); }, "This rank's plan as MLIR.");
  session.def(
      "ir", &OwnedSession::textOf, nb::arg("level") = "global",
      "The module as MLIR at the end of a level: \"source\", as the graph has it; \"zero\", with backward, updates "
      "and the storage that ZeRO gives to variables; \"global\", with all signatures and explicit boxing, the same "
      "on all ranks; \"local\", this rank's program; \"plan\", this rank's plan.");
  bindVariables(session);
  graph.def(
      "compile", &OwnedSession::create, nb::kw_only(), nb::arg("enable_zero") = nb::none(), nb::arg("seed") = 0,
      nb::arg("not_in_files") = std::vector<std::string>(),
      "Compiles the graph for this rank. All ranks must call it; they check that they compiled the same "
      "graph.\n\nenable_zero: a stage, or options of --enable-zero as a text or a dict, "
      "\"stage=2,compute-type=bf16\" or {\"stage\": 2, \"compute_type\": \"bf16\"}. seed: the seed of the "
      "variables' initial values. not_in_files: names of variables that save() leaves out and load() leaves as they "
      "are.");
}

} // namespace splitcast::python
