#include "tests/faults/bad_input/BadInputCases.h"

#include "runtime/io/Npy.h"
#include "runtime/io/Safetensors.h"
#include "tests/examples/Job.h"

#include <cstring>
#include <filesystem>

namespace splitcast {
namespace {

using runtime::ElementType;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

constexpr char kPlacement[] = R"(#p = #sbp.placement<"cpu", [dp = 2]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
)";

constexpr char kVariables[] = R"(sbp.variable @fc.weight : tensor<4x3xf32, #B> init #sbp.uniform<-0.5, 0.5>
sbp.variable @fc.bias : tensor<3xf32, #B> init #sbp.constant<0.0>
)";

constexpr char kTrain[] = R"(func.func @train(%x: tensor<8x4xf32, #S0> {sbp.name = "x"},
                 %labels: tensor<8xi64, #S0> {sbp.name = "labels"}) -> (tensor<f32> {sbp.name = "loss"}) {
  %w = sbp.read @fc.weight : tensor<4x3xf32>
  %b = sbp.read @fc.bias : tensor<3xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %1 = nn.add %0, %b : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %2 = nn.softmax_cross_entropy %1, %labels : (tensor<8x3xf32>, tensor<8xi64, #S0>) -> tensor<8xf32>
  %3 = nn.reduce_sum %2 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %loss = nn.scale %3 {value = 0.125 : f64} : (tensor<f32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.1>
  return %loss : tensor<f32>
}
)";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

void writeModules(const std::string &directory) {
  const std::string module = std::string(kPlacement) + kVariables + kTrain;
  auto write = [&](const char *name, const std::string &text) { writeFile(directory + "/" + name, text); };
  write("module.mlir", module);
  write("syntax.mlir", replaced(module, "nn.matmul %x, %w :", "nn.matmul %x %w :"));
  write("unknown_op.mlir", replaced(module, "nn.add", "nn.addd"));
  write("shapes.mlir", replaced(module, "tensor<4x3xf32, #B>", "tensor<5x3xf32, #B>"));
  write("extents.mlir", replaced(replaced(replaced(module, "tensor<4x3xf32, #B>", "tensor<5x3xf32, #B>"),
                                          "@fc.weight : tensor<4x3xf32>", "@fc.weight : tensor<5x3xf32>"),
                                 "#S0>, tensor<4x3xf32>) ->", "#S0>, tensor<5x3xf32>) ->"));
  write("no_variable.mlir", replaced(module, "sbp.read @fc.bias", "sbp.read @fc.bios"));
  write("empty.mlir", "");
  write("no_signature.mlir",
        "func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n");
  write("no_split.mlir", replaced(module, "[S(0)]", "[S(3)]"));
  write("frozen.mlir", replaced(replaced(module, "-0.5, 0.5>", "-0.5, 0.5> frozen"), "<0.0>", "<0.0> frozen"));
  write("no_gradient.mlir",
        replaced(module, "  %2 = nn.softmax_cross_entropy %1,",
                 "  %g = nn.relu_grad %1, %1 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>\n"
                 "  %2 = nn.softmax_cross_entropy %g,"));
  write("two_outputs.mlir", replaced(replaced(module, "{sbp.name = \"loss\"})",
                                              "{sbp.name = \"loss\"}, tensor<8xf32> {sbp.name = \"losses\"})"),
                                     "return %loss : tensor<f32>", "return %loss, %2 : tensor<f32>, tensor<8xf32>"));
  write("cuda.mlir", replaced(module, "\"cpu\"", "\"cuda\""));
  write("two_placements.mlir",
        replaced(module, "train(",
                 "train(%q: tensor<4xf32, #sbp.nd<#sbp.placement<\"cpu\", [a = 1, b = 2]>, [B, B]>>, "));
  write("partial.mlir", replaced(module, "#p, [S(0)]", "#p, [P]"));
  write("too_large.mlir", module + "sbp.variable @huge : tensor<4x4611686018427387904xf32, #B>\n");
  write("seeded.mlir", replaced(module, "lr = 0.1", "lr = 0.2"));
  write("init_file.mlir", replaced(module, "#sbp.uniform<-0.5, 0.5>", "#sbp.file<\"missing.safetensors\", \"w\">"));
}

void writeNpy(const std::string &path, ElementType type, const std::vector<int64_t> &rowShape, int64_t rows,
              int64_t fill) {
  absl::StatusOr<runtime::NpyWriter> writer = runtime::NpyWriter::create(path, type, rowShape);
  int64_t elements = rows;
  for (int64_t extent : rowShape)
    elements *= extent;
  std::vector<int64_t> integers(elements, fill);
  std::vector<float> floats(elements, static_cast<float>(fill));
  bool isFloat = type == ElementType::F32;
  if (writer.ok() && writer->append(rows, isFloat ? static_cast<void *>(floats.data()) : integers.data()).ok())
    (void)writer->commit();
}

void writeInputs(const std::string &directory) {
  auto path = [&](const char *name) { return directory + "/" + name; };
  writeNpy(path("x.npy"), ElementType::F32, {8, 4}, 3, 1);
  writeNpy(path("other.npy"), ElementType::F32, {8, 4}, 3, 2);
  writeNpy(path("two.npy"), ElementType::F32, {8, 4}, 2, 1);
  writeNpy(path("labels.npy"), ElementType::I64, {8}, 3, 2);
  writeNpy(path("wide.npy"), ElementType::F32, {8, 5}, 3, 1);
  writeNpy(path("flat.npy"), ElementType::F32, {4}, 8, 1);
  writeNpy(path("integers.npy"), ElementType::I64, {8, 4}, 3, 1);
  writeNpy(path("high.npy"), ElementType::I64, {8}, 3, 3);
  const std::string whole = readFile(path("x.npy"));
  writeFile(path("short.npy"), whole.substr(0, whole.size() - 10));
  writeFile(path("header.npy"), whole.substr(0, 20));
  writeFile(path("no.npy"), "no NumPy file");
  writeFile(path("nothing"), "");
  for (const char *name : {"text", "bytes.npy"}) // the second has the name of an input's file
    writeFile(path(name), "As short as this.");
  std::filesystem::create_directory(path("folder"));
}

void writeVariables(const std::string &path, const std::vector<runtime::TensorToStore> &tensors) {
  absl::StatusOr<runtime::SafetensorsWriter> writer = runtime::SafetensorsWriter::create(path, tensors);
  for (const runtime::TensorToStore &tensor : tensors) {
    int64_t elements = 1;
    for (int64_t extent : tensor.shape)
      elements *= extent;
    std::vector<double> zeros(elements);
    if (!writer.ok() || !writer->write(tensor.name, 0, zeros.data(), elements).ok())
      return;
  }
  (void)writer->commit();
}

} // namespace

void writeFiles(const std::string &directory) {
  writeModules(directory);
  writeInputs(directory);
  auto path = [&](const char *name) { return directory + "/" + name; };
  writeVariables(path("one.safetensors"), {{"fc.bias", ElementType::F32, {3}}});
  writeVariables(
      path("shape.safetensors"),
      {{"fc.bias", ElementType::F32, {3}}, {"fc.weight", ElementType::F32, {3, 4}}, {"lr", ElementType::F32, {}}});
  writeVariables(
      path("type.safetensors"),
      {{"fc.bias", ElementType::F64, {3}}, {"fc.weight", ElementType::F32, {4, 3}}, {"lr", ElementType::F32, {}}});
  for (const char *name : {"saved.safetensors", "other.safetensors"})
    writeVariables(
        path(name),
        {{"fc.bias", ElementType::F32, {3}}, {"fc.weight", ElementType::F32, {4, 3}}, {"lr", ElementType::F32, {}}});
  std::string other = readFile(path("other.safetensors"));
  other.back() = 1; // of a number
  writeFile(path("other.safetensors"), other);
  const std::string whole = readFile(path("shape.safetensors"));
  writeFile(path("short.safetensors"), whole.substr(0, whole.size() - 4));
  writeFile(path("header.safetensors"), whole.substr(0, 30));
  writeFile(path("no.safetensors"), "no safetensors file");
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

using Cases = std::vector<BadInput>;

const Cases kFlags = {
    {"UnknownFlag", {"run", "--stepz=3"}, {"unknown flag '--stepz'", "did you mean '--steps'", "--help"}},
    {"FlagTwice", {"run", "--steps=1", "--steps=2"}, {"--steps is given twice", "give it once"}},
    {"NotANumber", {"run", "--steps=many"}, {"--steps is 'many'", "an integer from 0 to"}},
    {"OutOfRange", {"run", "--timeout=0"}, {"--timeout is '0'", "a number from 0.1 to"}},
    {"NoValue", {"run", "--seed"}, {"--seed has no value", "--seed=N"}},
    {"SwitchWithValue", {"run", "--report=3"}, {"--report takes no value", "'3'"}},
    {"NoModule", {"bare"}, {"no MODULE.mlir is given", "usage: splitcast-run"}},
    {"TwoModules", {"run", "seeded.mlir"}, {"unexpected argument 'seeded.mlir'"}},
    {"Stage",
     {"run", "--enable-zero=stage=4"},
     {"--enable-zero is 'stage=4'", "stage is '4', which must be 0, 1, 2 or 3"}},
    {"Strategy", {"run", "--enable-zero=stage=2,strategy=row"}, {"strategy is 'row'", "bucket, tensor or whole"}},
    {"ZeroOption", {"run", "--enable-zero=stag=2"}, {"no option 'stag'", "options are stage, strategy"}},
    {"ZeroTwice", {"run", "--enable-zero=stage=2,stage=3"}, {"'stage' twice"}},
    {"Contradiction",
     {"run", "--enable-zero=stage=2,strategy=tensor,bucket-bytes=100"},
     {"bucket-bytes applies to buckets, but strategy=tensor makes none", "leave one of the two out"}},
    {"ExampleContradiction",
     {"examples/classifier/classifier", "--enable-zero=strategy=tensor bucket-bytes=5"},
     {"bucket-bytes applies to buckets, but strategy=tensor makes none"}},
    {"Axis", {"run", "--enable-zero=stage=2,axis=tp"}, {"tp", "dp", "give one of these"}},
    {"Device", {"run", "--device=tpu"}, {"--device is 'tpu'", "it must be cpu or cuda"}},
    // Whether there is no backend, no GPU, or one that the module is not for.
    {"DeviceMissing", {"run", "--device=cuda"}, {"--device=cpu"}},
    {"InputSyntax", {"run", "--input=x"}, {"--input is 'x'", "NAME=FILE.npy"}},
};

const Cases kModules = {
    {"ModuleMissing", {"bare", "missing.mlir"}, {"'missing.mlir'", "No such file"}},
    {"ModuleIsFolder", {"bare", "folder"}, {"'folder'"}},
    {"Syntax", {"bare", "syntax.mlir"}, {"syntax.mlir:10:", "expected ':'"}},
    {"UnknownOp", {"bare", "unknown_op.mlir"}, {"unknown_op.mlir:11:", "nn.addd"}},
    {"VariableShape", {"bare", "shapes.mlir"}, {"shapes.mlir:8:", "'sbp.read' op", "4x3", "5x3", "must be the same"}},
    {"Extents",
     {"bare", "extents.mlir"},
     {"extents.mlir:10:", "'nn.matmul' op contracts 4", "with 5", "must be equal"}},
    {"NoVariable", {"bare", "no_variable.mlir"}, {"no_variable.mlir:9:", "@fc.bios", "no such sbp.variable"}},
    {"EmptyModule", {"bare", "empty.mlir"}, {"empty.mlir", "no placement", "sbp.placement"}},
    {"NoSignature", {"bare", "no_signature.mlir"}, {"no_signature.mlir", "no placement", "a signature"}},
    {"NoSuchDimension", {"bare", "no_split.mlir"}, {"no_split.mlir:", "S(3)"}},
    {"TwoPlacements",
     {"bare", "two_placements.mlir"},
     {"two_placements.mlir:6:", "another placement", "[a = 1, b = 2]", "[dp = 2]", "has one placement"}},
    {"PartialInput", {"bare", "partial.mlir"}, {"partial.mlir:6:", "@train takes argument 0 as P", "as B or S"}},
    {"TooLarge",
     {"bare", "too_large.mlir"},
     {"too_large.mlir:", "4x4611686018427387904xf32", "more than 2^63 - 1 bytes"}},
    {"NothingToTrain", {"bare", "frozen.mlir"}, {"'nn.minimize' op", "depends on no trainable variable"}},
    {"NoGradient", {"bare", "no_gradient.mlir"}, {"'nn.minimize' op", "'nn.relu_grad' has no gradient", "freeze"}},
    {"OtherDevices", {"bare", "cuda.mlir"}, {"\"cuda\"", "\"cpu\""}},
    {"RanksTooMany", {"run"}, {"placement has 2 ranks", "3 are running", "start as many"}, 3},
    {"RanksTooFew", {"run"}, {"placement has 2 ranks", "1 are running", "start as many"}, 0},
    {"InitFileMissing",
     {"bare", "init_file.mlir", "--input=x=x.npy", "--input=labels=labels.npy"},
     {"variable @", "'missing.safetensors'", "No such file"}},
    {"Function", {"run", "--function=predict"}, {"no function 'predict'", "train"}},
    {"OtherModules",
     {"run"},
     {"different programs", "rank 0: program", "rank 1: program"},
     2,
     {"bare", "seeded.mlir", "--input=x=x.npy", "--input=labels=labels.npy"}},
    {"OtherStages", {"run"}, {"different flags", "--enable-zero=stage=3"}, 2, {"run", "--enable-zero=stage=3"}},
    {"OtherSeeds", {"run"}, {"different flags", "rank 1: ", "--seed=5"}, 2, {"run", "--seed=5"}},
    {"OtherThreads", {"run", "--threads=1"}, {"--threads=1", "--threads=2"}, 2, {"run", "--threads=2"}},
    {"OtherFunctions", {"run", "--function=train"}, {"different flags", "--function=t"}, 2, {"run", "--function=t"}},
    {"OtherOutputs", {"run"}, {"different flags", "--save-variables=FILE"}, 2, {"run", "--save-variables=v"}},
    {"OtherLengths",
     {"run"},
     {"different inputs", "3 steps of @train", "2 steps of @train"},
     2,
     {"run", "--input=x=two.npy"}},
    {"OtherContents",
     {"run"},
     {"different inputs", "'x' of ", "of which a sample is"},
     2,
     {"run", "--input=x=other.npy"}},
    {"OtherVariables",
     {"run", "--load-variables=saved.safetensors"},
     {"different files of variables", "rank 0: ", "rank 1: "},
     2,
     {"run", "--load-variables=other.safetensors"}},
    {"OneRankWithBadFlag", {"run"}, {"unknown flag '--bad'"}, 2, {"run", "--bad"}},
    {"OneRankWithoutModule",
     {"run"},
     {"'missing.mlir'"},
     2,
     {"bare", "missing.mlir", "--input=x=x.npy", "--input=labels=labels.npy"}},
};

const Cases kFiles = {
    {"NoInput",
     {"bare", "module.mlir", "--input=x=x.npy"},
     {"input 'labels'", "has no file", "--input=labels=FILE.npy"}},
    {"UnknownInput", {"run", "--input=y=x.npy"}, {"no input 'y'", "'x' (8x4 f32)", "'labels' (8 i64)"}},
    {"InputTwice", {"bare", "module.mlir", "--input=x=x.npy", "--input=x=x.npy"}, {"'x' is given twice"}},
    {"InputMissing", {"run", "--input=x=missing.npy"}, {"'missing.npy'", "No such file"}},
    {"InputIsFolder", {"run", "--input=x=folder"}, {"'folder'"}},
    {"InputEmpty", {"run", "--input=x=nothing"}, {"'nothing'"}},
    {"InputIsNoNpy", {"run", "--input=x=no.npy"}, {"'no.npy'", ".npy"}},
    {"InputCutOff", {"run", "--input=x=short.npy"}, {"'short.npy'", "bytes"}},
    {"InputHeaderCutOff", {"run", "--input=x=header.npy"}, {"'header.npy'"}},
    {"InputType", {"run", "--input=x=integers.npy"}, {"'integers.npy'", "3x8x4 i64", "takes STEPSx8x4 f32"}},
    {"InputShape", {"run", "--input=x=wide.npy"}, {"'wide.npy'", "3x8x5 f32", "takes STEPSx8x4 f32"}},
    {"InputRank", {"run", "--input=x=flat.npy"}, {"'flat.npy'", "8x4 f32", "takes STEPSx8x4 f32"}},
    {"TooManySteps", {"run", "--steps=4"}, {"--steps is 4", "has 3", "fewer steps or a longer file"}},
    {"LabelOutOfRange", {"run", "--input=labels=high.npy"}, {"step 1", "3"}},
    {"UnknownOutput", {"run", "--output=y=y.npy"}, {"no output 'y'", "'loss' (f32)"}},
    {"OutputTwice", {"run", "--output=loss=a.npy", "--output=loss=b.npy"}, {"'loss' is given twice"}},
    {"FileTwice", {"run", "--output=loss=a", "--metrics=a"}, {"'a' is to be written twice"}},
    {"FileTwiceOtherwise", {"run", "--output=loss=./a", "--metrics=a"}, {"is to be written twice"}},
    {"FileReadAndWritten", {"run", "--metrics=x.npy"}, {"'x.npy' is to be read and to be written"}},
    {"ModuleWritten", {"run", "--save-variables=folder/../module.mlir"}, {"module.mlir' is to be read and to be"}},
    {"LoadedWritten",
     {"run", "--load-variables=saved.safetensors", "--output=loss=saved.safetensors"},
     {"'saved.safetensors' is to be read and to be written"}},
    {"ProfileWritesTheModule", {"run", "--profile=module.mlir"}, {"'module.mlir' is to be read and to be written"}},
    {"ProfileWritesWhatIsLoaded",
     {"run", "--load-variables=saved.safetensors", "--profile=saved.safetensors"},
     {"'saved.safetensors' is to be read and to be written"}},
    {"ProfileIsSavedVariables", {"run", "--profile=v", "--save-variables=v"}, {"'v' is to be written twice"}},
    {"LoadNothing", {"run", "--load-variables="}, {"--load-variables is empty", "leave the flag out"}},
    {"ProfileFolder", {"run", "--profile=missing/p.json", "--output=loss=loss.npy"}, {"missing/p.json"}},
    {"SaveIntoCheckpoints",
     {"run", "--checkpoint=folder", "--save-variables=./folder/v"},
     {"'./folder/v' is to be written into 'folder'", "belongs to checkpoints"}},
    {"OutputFolder", {"run", "--output=loss=missing/loss.npy"}, {"missing/loss.npy"}},
    {"OutputFolderOfTwo",
     {"bare", "two_outputs.mlir", "--input=x=x.npy", "--input=labels=labels.npy", "--output=loss=missing/loss.npy",
      "--output=losses=losses.npy"},
     {"missing/loss.npy"}},
    {"OutputFolderOfTheOther",
     {"bare", "two_outputs.mlir", "--input=x=x.npy", "--input=labels=labels.npy", "--output=loss=loss.npy",
      "--output=losses=missing/losses.npy"},
     {"missing/losses.npy"}},
    {"MetricsFolder", {"run", "--metrics=missing/m.jsonl", "--output=loss=loss.npy"}, {"missing/m.jsonl"}},
    {"SaveFolder", {"run", "--save-variables=missing/v", "--metrics=m.jsonl", "--output=loss=loss.npy"}, {"missing/v"}},
    {"LoadMissing", {"run", "--load-variables=missing.safetensors"}, {"'missing.safetensors'", "No such file"}},
    {"LoadEmpty", {"run", "--load-variables=nothing"}, {"'nothing'"}},
    {"LoadNoSafetensors", {"run", "--load-variables=no.safetensors"}, {"'no.safetensors'"}},
    {"LoadCutOff", {"run", "--load-variables=short.safetensors"}, {"'short.safetensors'", "bytes"}},
    {"LoadHeaderCutOff", {"run", "--load-variables=header.safetensors"}, {"'header.safetensors'"}},
    {"LoadIncomplete",
     {"run", "--load-variables=one.safetensors"},
     {"'one.safetensors'", "no tensor 'fc.weight'", "[4, 3]"}},
    {"LoadShape",
     {"run", "--load-variables=shape.safetensors"},
     {"'shape.safetensors'", "'fc.weight'", "[3, 4]", "[4, 3]", "saved from the same model"}},
    {"LoadType", {"run", "--load-variables=type.safetensors"}, {"'type.safetensors'", "'fc.bias'", "F64", "f32"}},
};

const Cases kExamples = {
    {"NoText", {"examples/text_model/text_model"}, {"no text is given", "--text=FILE"}},
    {"TextMissing", {"examples/text_model/text_model", "--text=missing"}, {"'missing'", "No such file"}},
    {"TextTooShort", {"examples/text_model/text_model", "--text=text", "--window=17"}, {"'text'", "17", "18"}},
    {"TextEmpty",
     {"examples/text_model/text_model", "--text=nothing"},
     {"'nothing'", "is empty", "at least 17 tokens"}},
    {"TextOfOneRankMissing",
     {"examples/text_model/text_model", "--text=text", "--window=3"},
     {"'missing'"},
     2,
     {"examples/text_model/text_model", "--text=missing", "--window=3"}},
    {"TextIsOverwritten",
     {"examples/text_model/text_model", "--text=text", "--window=3", "--losses=./text"},
     {"'./text' is to be read and to be written"}},
    {"TextIsOverwrittenByTheProfile",
     {"examples/text_model/text_model", "--text=text", "--window=3", "--profile=text"},
     {"'text' is to be read and to be written"}},
    {"TextIsOverwrittenByInputs",
     {"examples/text_model/text_model", "--text=folder/../bytes.npy", "--window=3", "--write-inputs=."},
     {"'./bytes.npy' is to be read and to be written"}},
    {"InputsAreOverwritten",
     {"examples/classifier/classifier", "--write-inputs=.", "--losses=x.npy"},
     {"x.npy' is to be written twice"}},
    {"MetricsIntoCheckpoints",
     {"examples/classifier/classifier", "--resume=folder", "--metrics=folder/step-000000004.json"},
     {"is to be written into 'folder'"}},
    {"ExampleLoad",
     {"examples/classifier/classifier", "--load-variables=one.safetensors"},
     {"'one.safetensors'", "no tensor"}},
    {"ExampleMlirFolder", {"examples/classifier/classifier", "--write-mlir=missing/m.mlir"}, {"missing/m.mlir"}},
    {"ExampleInputsFolder", {"examples/classifier/classifier", "--write-inputs=missing"}, {"missing/"}},
    {"ExampleLossesFolder",
     {"examples/classifier/classifier", "--losses=missing/l", "--metrics=m.jsonl"},
     {"missing/l"}},
    {"ExampleFlag", {"examples/recipe/recipe", "--layers=0"}, {"--layers is '0'", "from 1 to"}},
    {"GptNoText", {"examples/gpt/gpt"}, {"no training data is given", "--text=FILE"}},
    {"GptHeads",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--width=10", "--heads=4"},
     {"--width=10 is not a multiple of --heads=4"}},
    {"GptTextTooShort", {"examples/gpt/gpt", "--text=text", "--context=17"}, {"'text'", "17", "18"}},
    {"GptTokensAndText", {"examples/gpt/gpt", "--text=text", "--tokens=text"}, {"--text and --tokens", "one of them"}},
    {"GptTokenBytes", {"examples/gpt/gpt", "--tokens=text", "--token-bytes=3"}, {"--token-bytes is '3'", "1, 2 or 4"}},
    {"GptTokensSample", {"examples/gpt/gpt", "--tokens=text", "--sample=9"}, {"--sample=9", "give --sample=0"}},
    {"GptValidation",
     {"examples/gpt/gpt", "--tokens=text", "--token-bytes=1", "--vocabulary=256", "--context=3", "--validation=none"},
     {"'none'", "check the path"}},
    {"GptGroupParts",
     {"examples/gpt/gpt", "--text=text", "--group=biases:*.bias"},
     {"--group=biases:*.bias has 2 parts", "write NAME:PATTERN,...:OPTIMIZER"}},
    {"GptGroupOptimizer",
     {"examples/gpt/gpt", "--text=text", "--group=biases:*.bias:adamx"},
     {"--group=biases:*.bias:adamx: 'adamx' is no optimizer; it must be"}},
    {"GptGroupName",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--group=no decay:*.bias:sgd"},
     {"has a bad group 'no decay': parameters are called \"no decay\"; a name must consist of letters"}},
    {"GptGroupOfNone",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--group=biases:*.biases:sgd"},
     {"has group \"biases\" of [\"*.biases\"], but trains no variable of such a name"}},
    {"GptGroupsOverlap",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--group=a:*.bias:sgd", "--group=b:h0.*:sgd"},
     {"in groups \"a\" and \"b\"; a variable is in one"}},
    {"GptMuonOfAll",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--optimizer=muon"},
     {"but muon updates matrices alone; put variables of other shapes into a group with another optimizer"}},
    {"GptClipNorm", {"examples/gpt/gpt", "--text=text", "--clip-norm=-1"}, {"--clip-norm is '-1'", "from 0 to"}},
    {"GptClipsTwice",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--clip-norm=1", "--clip-value=1"},
     {"clip_norm", "clip_value", "by one of them"}},
    {"GptNoDecay",
     {"examples/gpt/gpt", "--text=text", "--optimizer=adam", "--weight-decay=0.5"},
     {"--weight-decay=0.5", "adam has no 'weight_decay'"}},
    {"GptDecayTwice",
     {"examples/gpt/gpt", "--text=text", "--optimizer=adamw,weight-decay=0.3", "--weight-decay=0.1"},
     {"sets weight-decay", "leave one of them out"}},
    {"GptShortSchedule",
     {"examples/gpt/gpt", "--text=text", "--schedule=linear,steps=5,warmup=5"},
     {"warmup = 5", "steps = 5", "there must be more"}},
    {"GptLossIsNone",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--lr=1e6", "--optimizer=sgd", "--steps=50"},
     {"the loss is nan", "lower the learning rate", "last checkpoint"}},
    {"GptNeoxHeads",
     {"examples/gpt/gpt", "--text=text", "--neox", "--width=24", "--heads=2"},
     {"--neox rotates pairs", "whose width is 12", "a multiple of 8"}},
    {"GptFreezesNothing",
     {"examples/gpt/gpt", "--text=text", "--context=3", "--freeze=ln.*,h99.*"},
     {"freeze has the pattern 'h99.*'", "matches none of the", "write a whole name"}},
    {"GptDropout", {"examples/gpt/gpt", "--text=text", "--dropout=1"}, {"--dropout is '1'", "from 0 to"}},
    {"ExampleOtherSteps",
     {"examples/recipe/recipe", "--width=8", "--layers=2"},
     {"different flags", "--width=8", "--width=9"},
     2,
     {"examples/recipe/recipe", "--width=9", "--layers=2"}},
};

} // namespace

void PrintTo(const BadInput &input, std::ostream *out) { *out << input.name; }

const std::vector<BadInput> &badInputs() {
  static const std::vector<BadInput> all = [] {
    std::vector<BadInput> cases;
    for (const Cases *part : {&kFlags, &kModules, &kFiles, &kExamples})
      cases.insert(cases.end(), part->begin(), part->end());
    return cases;
  }();
  return all;
}

} // namespace splitcast
