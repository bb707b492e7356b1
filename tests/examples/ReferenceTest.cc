//===- ReferenceTest.cc - The examples beside the oracle ---------------------------===//
//
// The losses of an example across ranks, with ZeRO and fused kernels, are those of the global interpreter, which runs
// each op of the module alone, as if there were one rank; both start from the saved variables and take the written
// batches.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines.h"
#include "passes/global/Passes.h"
#include "runtime/io/Npy.h"
#include "runtime/io/Safetensors.h"
#include "tests/examples/Job.h"
#include "tests/reference/GlobalInterpreter.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <gtest/gtest.h>
#include <sstream>

namespace splitcast {
namespace {

constexpr int64_t kSteps = 20;

void runExample(const std::string &directory, const Command &command, const std::vector<std::string> &arguments) {
  Job job;
  job.ranks = 3;
  job.directory = directory;
  job.commands = {command};
  job.commands[0].insert(job.commands[0].end(), arguments.begin(), arguments.end());
  JobResult result = runJob(job);
  ASSERT_TRUE(result.succeeded()) << result.describe();
}

/// Elements as a tensor holds them.
template <typename T> void fill(reference::Tensor &tensor, const std::vector<T> &values) {
  if (tensor.isFloat())
    tensor.floats.assign(values.begin(), values.end());
  else
    tensor.integers.assign(values.begin(), values.end());
}

template <typename T> std::vector<T> readStored(const runtime::SafetensorsFile &file, const std::string &name) {
  std::vector<T> values(file.find(name)->elements);
  EXPECT_TRUE(file.read(name, 0, static_cast<int64_t>(values.size()), values.data()).ok()) << name;
  return values;
}

/// Sets a variable to what a file holds under its name.
absl::Status load(const runtime::SafetensorsFile &file, const std::string &name, reference::Tensor &tensor) {
  if (!file.find(name))
    return absl::NotFoundError(name);
  if (tensor.elementType.isF64())
    fill(tensor, readStored<double>(file, name));
  else
    fill(tensor, readStored<float>(file, name));
  return absl::OkStatus();
}

template <typename T> std::vector<T> readStep(const runtime::NpyFile &file, int64_t step, int64_t elements) {
  std::vector<T> values(elements);
  EXPECT_TRUE(file.read(step * elements, elements, values.data()).ok());
  return values;
}

/// The inputs of a step, from the files that carry their names.
std::vector<reference::Tensor> readInputs(mlir::func::FuncOp function, const std::string &directory, int64_t step) {
  std::vector<reference::Tensor> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType());
    reference::Tensor tensor = reference::Tensor::zeros(type);
    std::string name = function.getArgAttrOfType<mlir::StringAttr>(i, "sbp.name").str();
    absl::StatusOr<runtime::NpyFile> file = runtime::NpyFile::open(directory + "/" + name + ".npy");
    EXPECT_TRUE(file.ok()) << file.status();
    if (tensor.isFloat())
      fill(tensor, readStep<float>(*file, step, type.getNumElements()));
    else
      fill(tensor, readStep<int64_t>(*file, step, type.getNumElements()));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<double> losses(const std::string &path) {
  std::istringstream lines(readFile(path));
  std::vector<double> values;
  std::string step, rounded, exact;
  while (lines >> step >> rounded >> exact)
    values.push_back(std::strtod(exact.c_str(), nullptr));
  return values;
}

void compareWithInterpreter(const Command &command) {
  std::string directory = makeDirectory();
  std::string text;
  for (int64_t i = 0; i < 200; ++i)
    text += "Square of " + std::to_string(i) + ": " + std::to_string(i * i) + "\n";
  writeFile(directory + "/text", text);
  runExample(directory, command, {"--steps=0", "--save-variables=variables", "--write-mlir=module.mlir"});
  runExample(directory, command,
             {"--steps=" + std::to_string(kSteps), "--enable-zero=stage=3", "--losses=losses", "--write-inputs=."});
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(directory + "/module.mlir", &context);
  ASSERT_TRUE(module);
  mlir::PassManager manager(&context);
  manager.addPass(createDifferentiatePass());
  manager.addPass(createExpandOptimizersPass());
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  absl::StatusOr<runtime::SafetensorsFile> file = runtime::SafetensorsFile::open(directory + "/variables");
  ASSERT_TRUE(file.ok()) << file.status();
  reference::InterpreterOptions options;
  options.initializer = [&](sbp::VariableOp variable, reference::Tensor &tensor) {
    return load(*file, variable.getSymName().str(), tensor);
  };
  auto interpreter = reference::GlobalInterpreter::create(*module, options);
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();
  std::vector<double> expected = losses(directory + "/losses");
  ASSERT_EQ(expected.size(), static_cast<size_t>(kSteps));
  auto function = module->lookupSymbol<mlir::func::FuncOp>("train");
  for (int64_t step = 0; step < kSteps; ++step) {
    auto results = interpreter->run("train", readInputs(function, directory, step));
    ASSERT_TRUE(results.ok()) << results.status();
    double loss = results->front().floats.front();
    EXPECT_LE(std::fabs(loss - expected[step]), 1e-5 * std::fabs(loss)) << "step " << step + 1;
  }
}

TEST(Reference, Classifier) { compareWithInterpreter({programPath("examples/classifier/classifier")}); }

TEST(Reference, TextModel) {
  compareWithInterpreter({programPath("examples/text_model/text_model"), "--text=text", "--batch=32", "--window=6",
                          "--width=8", "--hidden=24"});
}

TEST(Reference, Gpt) {
  compareWithInterpreter({programPath("examples/gpt/gpt"), "--text=text", "--batch=8", "--layers=2", "--heads=2",
                          "--width=16", "--context=10", "--dropout=0.2", "--sample=0", "--accumulate=4",
                          "--recompute=all"});
}

TEST(Reference, Recipe) {
  compareWithInterpreter({programPath("examples/recipe/recipe"), "--layers=3", "--width=24", "--batch=6"});
}

} // namespace
} // namespace splitcast
