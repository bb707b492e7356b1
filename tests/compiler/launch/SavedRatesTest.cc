//===- SavedRatesTest.cc - What a file decides, and what the command decides ---------===//
//
// That unlike rates are errors is tested where they are loaded: checkpoint_test and //tests/python:session_test.
//
//===----------------------------------------------------------------------===//
#include "compiler/launch/SavedRates.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace splitcast {
namespace {

TEST(SavedRates, AreInTheGuideAsInTheCode) {
  std::ifstream file("docs/guide.md");
  std::stringstream guide;
  guide << file.rdbuf();
  EXPECT_NE(guide.str().find(decisionTable()), std::string::npos) << "docs/guide.md lacks this table:\n"
                                                                  << decisionTable();
}

TEST(SavedRates, CanBeChosenByTwoWords) {
  SavedRates rates;
  for (const char *word : {"", "saved", "command"})
    EXPECT_TRUE(rates.choose(word).ok());
  EXPECT_EQ(rates.choose("file").message(), "it must be saved or command");
}

} // namespace
} // namespace splitcast
