//===- ScheduleBuilder.h - Builds a schedule like one that a user may write ----------===//
//
// A schedule of one to five runs of functions that are not parts of one step. Some run for one micro-batch, some for
// several, and some for all of them in two runs with another run in between. They take whole or cut inputs, may use the
// micro-batch's number, and carry values that others add to or replace. The first run may be kept from step to step.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_SCHEDULEBUILDER_H
#define SPLITCAST_TESTS_PROPERTY_SCHEDULEBUILDER_H

#include "tests/property/FunctionBuilder.h"

namespace splitcast::property {

class ScheduleBuilder {
public:
  /// `optimizer` is for a loss that one of its functions may minimize.
  ScheduleBuilder(ModelState &model, bool ofIntegers, mlir::Attribute optimizer);

  /// Builds the functions, the variables that they carry, and the schedule.
  void build();

  /// Returns a call with random data for the inputs.
  differential::Call call();

private:
  struct Run {
    mlir::func::FuncOp function;
    int64_t begin, end;
    std::vector<int64_t> takes, cuts;
    bool isNumbered, isKept;
    std::vector<int64_t> gives, joins;
  };
  struct Input {
    FunctionBuilder::Input of;
    bool isCut;
  };

  FunctionBuilder startSegment();
  void addKept();
  void addSegment(bool mayBeSplit);
  void addRun(FunctionBuilder &segment, int64_t begin, int64_t end, bool givesParts);
  void create();

  ModelState &model;
  Random &random;
  bool ofIntegers;
  mlir::Attribute optimizer;
  int64_t microBatches;
  std::vector<FunctionBuilder::Carried> carried;
  std::vector<Run> runs;
  std::vector<Input> inputs;
  int64_t numFunctions = 0, numResults = 0;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_SCHEDULEBUILDER_H
