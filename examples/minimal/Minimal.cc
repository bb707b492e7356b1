// Trains a classifier on all ranks of the job. ZeRO stage 3 splits parameters, gradients and optimizer state among
// them. examples/python/minimal.py is the same program in Python.
//
//   mpirun -n 2 bazel-bin/examples/minimal/minimal
#include "compiler/graph/Graph.h"
#include "compiler/launch/Launch.h"
#include "compiler/launch/SessionTensors.h"

#include <cstdio>

using namespace splitcast;

constexpr int64_t kRows = 64, kFeatures = 16, kClasses = 4, kSteps = 20;

absl::Status train(Launch &launch) {
  Graph graph({launch.options().deviceKind, {{"dp", launch.size()}}});
  Tensor x = graph.input("x", ElementType::F32, {kRows, kFeatures}, split(0));
  Tensor labels = graph.input("labels", ElementType::I64, {kRows}, split(0));
  Tensor logits = linear(relu(linear(x, "hidden", 32)), "classes", kClasses);
  Tensor loss = mean(softmaxCrossEntropy(logits, labels));
  graph.minimize(loss, AdamW{.lr = 1e-2});
  graph.output("loss", loss);
  SPLITCAST_ASSIGN_OR_RETURN(mlir::ModuleOp module, graph.finish());

  SessionOptions options = sessionOptionsOf(launch);
  options.compile.zero.policy.setStage(3);
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                             Session::create(module, options, launch.device(), launch.communicator()));

  // Each rank writes only its own rows of the inputs.
  SPLITCAST_ASSIGN_OR_RETURN(InputPiece<float> myX, inputOf<float>(*session, "main", "x"));
  SPLITCAST_ASSIGN_OR_RETURN(InputPiece<int64_t> myLabels, inputOf<int64_t>(*session, "main", "labels"));
  const int64_t firstRow = myX.boxes[0][0].begin;
  for (size_t i = 0; i < myX.elements.size(); ++i) {
    const int64_t row = firstRow + static_cast<int64_t>(i) / kFeatures, feature = static_cast<int64_t>(i) % kFeatures;
    myX.elements[i] = feature % kClasses == row % kClasses ? 1.0F : 0.125F * static_cast<float>((row + feature) % 5);
  }
  for (size_t i = 0; i < myLabels.elements.size(); ++i)
    myLabels.elements[i] = (firstRow + static_cast<int64_t>(i)) % kClasses;

  for (int64_t step = 1; step <= kSteps; ++step) {
    SPLITCAST_RETURN_IF_ERROR(session->run("main"));
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const float> value, outputOf<float>(*session, "main", "loss"));
    if (launch.rank() == 0)
      printf("step %2d  loss %.6f\n", static_cast<int>(step), value[0]);
  }
  return absl::OkStatus();
}

int main(int argc, char **argv) {
  Flags flags("minimal", "[flags]\nTrains a small classifier on all ranks of the job.");
  LaunchOptions options;
  options.addTo(flags);
  return launchMain(flags, argc, argv, options, train);
}
