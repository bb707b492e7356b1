#include "runtime/io/Renaming.h"

#include <gtest/gtest.h>

namespace splitcast::runtime {
namespace {

TEST(Renaming, FirstThatFits) {
  const std::vector<Renaming> renamings = {*Renaming::parse("wte.weight=tokens"),
                                           *Renaming::parse("h.*.ln.weight=h*.norm.scale"), *Renaming::parse("h.*=g*")};
  EXPECT_EQ(renamed("wte.weight", renamings), "tokens");
  EXPECT_EQ(renamed("h.10.ln.weight", renamings), "h10.norm.scale");
  EXPECT_EQ(renamed("h..ln.weight", renamings), "h.norm.scale");
  EXPECT_EQ(renamed("h.ln.weight", renamings), "gln.weight"); // before and after do not overlap
  EXPECT_EQ(renamed("h.x", renamings), "gx");
  EXPECT_EQ(renamed("other", renamings), "other");
}

TEST(Renaming, WhatIsRefused) {
  for (const char *text : {"", "a", "=b", "a=", "*=b", "a=*", "a*b*=c*", "a*=**"})
    EXPECT_FALSE(Renaming::parse(text).ok()) << text;
}

} // namespace
} // namespace splitcast::runtime
