#include "compiler/launch/LaunchFiles.h"

#include "compiler/graph/Graph.h"
#include "runtime/api/StatusMacros.h"
#include "tests/differential/Sessions.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <random>
#include <sys/resource.h>

namespace splitcast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<sbp::Run> rowsOf(const sbp::Shape &shape, const std::vector<sbp::Box> &boxes) {
  std::vector<sbp::Run> rows;
  EXPECT_TRUE(forEachRow(shape, boxes, [&](const sbp::Run &row) {
                rows.push_back(row);
                return absl::OkStatus();
              }).ok());
  return rows;
}

/// Every element of the box, one by one: where it is in the tensor, in the box's order.
std::vector<int64_t> elementsOf(const sbp::Shape &shape, const sbp::Box &box, size_t dim = 0, int64_t base = 0) {
  if (dim == shape.size())
    return {base};
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < box[dim].count; ++i)
    for (int64_t element : elementsOf(shape, box, dim + 1, base * shape[dim] + box[dim].begin + i))
      elements.push_back(element);
  return elements;
}

TEST(ForEachRow, WholeTensorsAndLeadingSplitsAreOneRow) {
  EXPECT_THAT(rowsOf({}, {{}}), ElementsAre(sbp::Run{0, 0, 1}));
  EXPECT_THAT(rowsOf({4, 3}, {{{0, 4}, {0, 3}}}), ElementsAre(sbp::Run{0, 0, 12}));
  EXPECT_THAT(rowsOf({4, 3}, {{{2, 2}, {0, 3}}}), ElementsAre(sbp::Run{6, 0, 6}));
  EXPECT_THAT(rowsOf({4, 3}, {{{1, 2}, {1, 2}}}), ElementsAre(sbp::Run{4, 0, 2}, sbp::Run{7, 2, 2}));
}

TEST(ForEachRow, BoxesLieOneAfterTheOther) {
  // Rows 1 and 2 of each half of 8, and columns 0 and 2 of 4.
  EXPECT_THAT(rowsOf({8, 3}, {{{1, 2}, {0, 3}}, {{5, 2}, {0, 3}}}), ElementsAre(sbp::Run{3, 0, 6}, sbp::Run{15, 6, 6}));
  EXPECT_THAT(rowsOf({2, 4}, {{{0, 2}, {0, 1}}, {{0, 2}, {2, 1}}}),
              ElementsAre(sbp::Run{0, 0, 1}, sbp::Run{4, 1, 1}, sbp::Run{2, 2, 1}, sbp::Run{6, 3, 1}));
}

TEST(ForEachRow, EmptyBoxesHaveNone) {
  EXPECT_THAT(rowsOf({4, 3}, {{{4, 0}, {0, 3}}}), ElementsAre());
  EXPECT_THAT(rowsOf({0, 3}, {{{0, 0}, {0, 3}}}), ElementsAre());
  EXPECT_THAT(rowsOf({4, 3}, {{{0, 4}, {3, 0}}}), ElementsAre());
}

TEST(ForEachRow, AgreesWithElementByElement) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    sbp::Shape shape;
    sbp::Box box;
    for (size_t dim = 0, rank = random() % 5; dim < rank; ++dim) {
      int64_t extent = 1 + random() % 4, begin = random() % (extent + 1);
      shape.push_back(extent);
      box.push_back({begin, static_cast<int64_t>(random() % (extent - begin + 1))});
    }
    std::vector<int64_t> elements;
    for (const sbp::Run &row : rowsOf(shape, {box})) {
      EXPECT_EQ(row.local, static_cast<int64_t>(elements.size()));
      for (int64_t i = 0; i < row.count; ++i)
        elements.push_back(row.logical + i);
    }
    EXPECT_EQ(elements, elementsOf(shape, box));
    const int64_t total = sbp::numElements(shape), most = 1 + static_cast<int64_t>(random() % 5);
    std::vector<int64_t> inParts;
    for (int64_t begin = 0; begin < total; begin += most)
      EXPECT_TRUE(forEachRowWithin(shape, {box}, begin, most, [&](const sbp::Run &row) {
                    EXPECT_EQ(row.local, static_cast<int64_t>(inParts.size()));
                    EXPECT_TRUE(begin <= row.logical && row.logical + row.count <= begin + most);
                    for (int64_t i = 0; i < row.count; ++i)
                      inParts.push_back(row.logical + i);
                    return absl::OkStatus();
                  }).ok());
    EXPECT_EQ(inParts, elements);
  }
}

TEST(ForEachRow, StopsAtTheFirstError) {
  int64_t calls = 0;
  absl::Status status = forEachRow({3, 3}, {{{0, 3}, {0, 1}}}, [&](const sbp::Run &) {
    return ++calls == 2 ? absl::DataLossError("here") : absl::OkStatus();
  });
  EXPECT_EQ(status.message(), "here");
  EXPECT_EQ(calls, 2);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

constexpr int64_t kSteps = 2, kRows = 7, kColumns = 5;

/// Twice the input, by rows and by columns.
std::string doublingText(int64_t ranks) {
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("f");
  Tensor x = graph.input("x", ElementType::F32, {kRows, kColumns}, split(0));
  Tensor y = add(x, x);
  graph.output("rows", boxTo(y, split(0)));
  graph.output("columns", boxTo(y, split(1)));
  graph.output("all", boxTo(y, broadcast()));
  return *graph.text();
}

absl::Status runSteps(Session &session, runtime::Communicator &communicator, const std::string &directory,
                      int64_t partBytes) {
  std::vector<NamedFile> files;
  for (const char *name : {"rows", "columns", "all"})
    files.push_back({name, directory + "/" + name});
  absl::StatusOr<StepInputs> inputs = StepInputs::open(session, "f", {{"x", directory + "/x"}});
  absl::StatusOr<StepOutputs> outputs = StepOutputs::open(session, "f", files, communicator, partBytes);
  absl::Status status = inputs.status();
  status.Update(outputs.status());
  for (int64_t step = 0; status.ok() && step < kSteps; ++step) {
    status.Update(inputs->feed(session, step));
    status.Update(session.run("f"));
    status.Update(outputs->write(session, communicator));
  }
  return status.ok() ? outputs->commit() : status;
}

std::vector<float> countedInputs() {
  std::vector<float> x(kSteps * kRows * kColumns);
  std::iota(x.begin(), x.end(), 0.0F);
  return x;
}

/// With a session of doublingText on each rank, and a file of its inputs in `directory`.
absl::Status onSessions(int64_t ranks, const std::string &directory, const differential::SessionBody &body) {
  const std::string text = doublingText(ranks);
  auto file = runtime::NpyWriter::create(directory + "/x", ElementType::F32, {kRows, kColumns});
  EXPECT_TRUE(file.ok() && file->append(kSteps, countedInputs().data()).ok() && file->commit().ok());
  return differential::onSessions(ranks, text, SessionOptions(), body);
}

/// ranks, partBytes
class Steps : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {};

// Outputs that lie on several ranks are put together in parts, which end anywhere: within rows, and between ranks.
TEST_P(Steps, OutputsAreWhole) {
  const auto [ranks, partBytes] = GetParam();
  const std::string directory = testing::TempDir();
  absl::Status status =
      onSessions(ranks, directory, [&, most = partBytes](Session &session, runtime::Communicator &communicator) {
        return runSteps(session, communicator, directory, most);
      });
  ASSERT_TRUE(status.ok()) << status;
  std::vector<float> doubled = countedInputs();
  for (float &value : doubled)
    value *= 2;
  for (const char *name : {"rows", "columns", "all"}) {
    auto written = runtime::NpyFile::open(directory + "/" + name);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->shape(), (std::vector<int64_t>{kSteps, kRows, kColumns}));
    std::vector<float> found(doubled.size());
    ASSERT_TRUE(written->read(0, written->numElements(), found.data()).ok());
    EXPECT_EQ(found, doubled) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Steps, testing::Combine(testing::Values(3, 4), testing::Values(1, 12, 48, 1 << 20)));

/// While it exists, this process can make no file longer.
class ShortFiles {
public:
  explicit ShortFiles(rlim_t bytes) : handler(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &was), 0);
    const rlimit narrow = {bytes, was.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
  }
  ShortFiles(const ShortFiles &) = delete;
  ShortFiles &operator=(const ShortFiles &) = delete;
  ~ShortFiles() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &was), 0);
    std::signal(SIGXFSZ, handler);
  }

private:
  rlimit was = {};
  void (*const handler)(int);
};

// Rank 0 has no room for the third of twelve parts: no rank waits for it, and all say why.
TEST(StepOutputs, AllRanksFailWhereOneCannotWrite) {
  constexpr int64_t kRanks = 3;
  const std::string directory = testing::TempDir();
  std::vector<absl::Status> statuses(kRanks);
  absl::Status status = onSessions(kRanks, directory, [&](Session &session, runtime::Communicator &communicator) {
    std::optional<ShortFiles> limit;
    SPLITCAST_RETURN_IF_ERROR(communicator.barrier({"ready"}));
    if (communicator.rank() == 0)
      limit.emplace(128 + 24); // the header, and two parts
    statuses[communicator.rank()] = runSteps(session, communicator, directory, 12);
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(absl::IsUnavailable(statuses[rank])) << statuses[rank];
    EXPECT_THAT(std::string(statuses[rank].message()), HasSubstr("File too large")) << rank;
  }
  EXPECT_THAT(std::string(statuses[1].message()), StartsWith("rank 0 failed: '" + directory + "/rows."));
}

} // namespace
} // namespace splitcast
