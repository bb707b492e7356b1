// What is printed parses back to the same: placements, buckets and signatures whose names are any text.
#include "dialects/sbp/Sbp.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <random>

namespace splitcast::sbp {
namespace {

class RoundTripTest : public testing::Test {
protected:
  RoundTripTest() { context.loadDialect<SbpDialect>(); }

  int64_t below(int64_t count) { return std::uniform_int_distribution<int64_t>(0, count - 1)(random); }

  /// Identifiers, words of the syntax, and any bytes.
  std::string name() {
    static const char *const kWords[] = {"",  "dp",   "ranks", "true", "dense", "f32", "i32", "tensor", "loc", "x",
                                         "4", "a b",  "a\"b",  "a\\b", "@a",    "#a",  "!a",  "%a",     "_",   "a-b",
                                         "é", "a.b$", "0x1F",  "-",    "B",     "S",   "of",  "]",      ">",   "\n"};
    if (below(2) == 0)
      return kWords[below(std::size(kWords))];
    std::string text;
    for (int64_t length = below(6); length >= 0; --length)
      text += static_cast<char>(below(256));
    return text;
  }

  PlacementAttr placement() {
    Placement result{name(), {}, {}};
    for (int64_t axes = 1 + below(3); axes > 0; --axes)
      if (std::string axis = name(); result.axisIndex(axis) < 0)
        result.axes.push_back({axis, 1 + below(3)});
    if (below(2) == 0)
      for (int64_t position = result.numPositions(); position > 0; --position)
        result.ranks.push_back(position);
    return PlacementAttr::fromAlgebra(&context, result);
  }

  NdAttr signature(PlacementAttr placement) {
    NdSbp entries(placement.getNumAxes(), Sbp::broadcast());
    int64_t axis = below(placement.getNumAxes());
    const int64_t ranks = placement.getAxisSizes()[axis];
    Ends ends;
    for (int64_t i = 0; below(2) && i + 1 < ranks; ++i)
      ends.push_back(i + 3);
    if (!ends.empty())
      ends.push_back(8 * ranks);
    Slot slot{"b" + name(), 0, 8 * ranks, ends};
    entries[axis] = below(2)       ? Sbp::flat(slot)
                    : ends.empty() ? Sbp::split(below(2), 1 + below(3))
                                   : Sbp::splitTo(below(2), ends);
    return NdAttr::get(placement, entries);
  }

  mlir::MLIRContext context;
  std::mt19937_64 random{20240607};
};

TEST_F(RoundTripTest, AttributesOfAnyNames) {
  for (int i = 0; i < 500; ++i) {
    NdAttr attribute = signature(placement());
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    EXPECT_EQ(mlir::parseAttribute(text, &context), attribute) << text;
  }
}

TEST_F(RoundTripTest, ReasonsOfAnyNames) {
  for (int i = 0; i < 500; ++i) {
    mlir::StringAttr axis = mlir::StringAttr::get(&context, name());
    mlir::StringAttr named = mlir::StringAttr::get(&context, "b" + name());
    const mlir::Attribute reasons[] = {
        RowAttr::get(&context, RowAxis{axis, static_cast<RowAxis::Kind>(below(5)), 0, 0, 1}),
        WantedAttr::get(&context, Wanted{static_cast<Wanted::Kind>(below(6)), named, 0}),
    };
    for (mlir::Attribute reason : reasons) {
      std::string text;
      llvm::raw_string_ostream(text) << reason;
      EXPECT_EQ(mlir::parseAttribute(text, &context), reason) << text;
    }
  }
}

// By way of aliases, which are made of the names.
TEST_F(RoundTripTest, ModulesOfAnyNames) {
  for (int i = 0; i < 500; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    NdAttr attributes[] = {signature(placement()), signature(placement())};
    (*module)->setAttr("sbp.first", attributes[0]);
    (*module)->setAttr("sbp.second", attributes[1]);
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream);
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ((*parsed)->getAttr("sbp.first"), attributes[0]) << text;
    EXPECT_EQ((*parsed)->getAttr("sbp.second"), attributes[1]) << text;
  }
}

} // namespace
} // namespace splitcast::sbp
