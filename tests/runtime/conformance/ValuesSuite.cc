//===- ValuesSuite.cc - What the collectives compute, and what they send ---===//
#include "tests/runtime/conformance/SuiteSupport.h"

#include "absl/time/clock.h"

#include <cmath>

namespace splitcast::runtime::conformance {
namespace {

NullStream stream;

/// The first of `count` elements for which found(i) is not expected(i), or -1.
template <typename Found, typename Expected> int64_t firstWrong(int64_t count, Found found, Expected expected) {
  for (int64_t i = 0; i < count; ++i)
    if (found(i) != expected(i))
      return i;
  return -1;
}

} // namespace

// After an all-gather every rank holds every block, the guards around the buffer are whole, and each rank has sent what
// the algebra says.
CONFORMANCE(AllGather) {
  auto communicator = createCommunicator(context);
  for (const Blocks &blocks : blockPatterns(context.size(), 1)) {
    GuardedBuffer data(total(blocks));
    int64_t begin = beginOf(blocks, context.rank());
    for (int64_t i = 0; i < blocks[context.rank()]; ++i)
      data.as<int8_t>()[begin + i] = integerAt(context.rank(), begin + i);
    const std::optional<ccl::Traffic> before = context.sent();
    finish(context, communicator->allGather(data.buffer(), blocks, stream, {"all-gather"}));
    CONFORM(hasSent(context, before, ccl::allGatherTraffic(blocks, context.rank())));
    for (int64_t r = 0; r < context.size(); ++r)
      CONFORM_EQ(firstWrong(
                     blocks[r], [&](int64_t i) { return data.as<int8_t>()[beginOf(blocks, r) + i]; },
                     [&](int64_t i) { return integerAt(r, beginOf(blocks, r) + i); }),
                 -1);
    CONFORM(data.isIntact());
  }
}

/// One rank writes late, in each round another; nobody reads before all have written, and nobody writes before all have
/// read.
static void gatherThere(RankContext &context, Communicator &ranks, Buffer data, const Blocks &blocks, int64_t round) {
  const int64_t rank = ranks.rank(), begin = beginOf(blocks, rank);
  if (rank == round % ranks.size())
    absl::SleepFor(absl::Milliseconds(10));
  auto *elements = reinterpret_cast<int8_t *>(data.data);
  for (int64_t i = 0; i < blocks[rank]; ++i)
    elements[begin + i] = integerAt(rank + round, begin + i);
  const std::optional<ccl::Traffic> before = context.sent();
  finish(context, ranks.allGather(data, blocks, stream, {"all-gather"}));
  const std::optional<ccl::Traffic> after = context.sent();
  CONFORM(!after || after->bytes == before->bytes);
  for (int64_t r = 0; r < ranks.size(); ++r)
    CONFORM_EQ(firstWrong(
                   blocks[r], [&](int64_t i) { return elements[beginOf(blocks, r) + i]; },
                   [&](int64_t i) { return integerAt(r + round, beginOf(blocks, r) + i); }),
               -1);
  CONFORM_EQ(ranks.barrier({"all have read"}), absl::OkStatus());
}

// Memory of which the ranks have one copy: an all-gather in a part of it moves nothing, and waits for all; what lies
// elsewhere is moved as ever.
CONFORMANCE(SharedGather) {
  auto communicator = createCommunicator(context);
  std::vector<int64_t> others; // of this rank's kind
  for (int64_t rank = context.rank() % 2; rank < context.size(); rank += 2)
    others.push_back(rank);
  auto group = communicator->split(others, {"every other rank"});
  CONFORM(group.ok());
  for (Communicator *ranks : {communicator.get(), group->get()}) {
    Blocks blocks;
    for (int64_t rank = 0; rank < ranks->size(); ++rank)
      blocks.push_back(rank == 1 ? 0 : 3000 + 7 * rank);
    constexpr int64_t kBegin = 128;
    auto memory = ranks->shareMemory(kBegin + total(blocks), {"sharing"});
    CONFORM(memory.ok());
    if (!memory.ok())
      return;
    CONFORM(*memory || !context.sharesMemory() || ranks->size() == 1);
    if (!*memory)
      continue;
    const Buffer all = (*memory)->buffer();
    CONFORM_EQ(firstWrong(all.bytes, [&](int64_t i) { return all.data[i]; }, [](int64_t) { return std::byte{0}; }), -1);
    CONFORM_EQ(ranks->barrier({"all have looked"}), absl::OkStatus());
    for (int64_t round = 0; round < context.size(); ++round)
      gatherThere(context, *ranks, all.slice(kBegin, total(blocks)), blocks, round);
    GuardedBuffer elsewhere(ranks->size());
    elsewhere.as<int8_t>()[ranks->rank()] = static_cast<int8_t>(ranks->rank() + 1);
    finish(context, ranks->allGather(elsewhere.buffer(), Blocks(ranks->size(), 1), stream, {"elsewhere"}));
    CONFORM_EQ(firstWrong(
                   ranks->size(), [&](int64_t i) { return elsewhere.as<int8_t>()[i]; },
                   [](int64_t i) { return static_cast<int8_t>(i + 1); }),
               -1);
  }
}

template <typename T> static void reduceScatterOf(RankContext &context, bool inPlace) {
  auto communicator = createCommunicator(context);
  for (const Blocks &blocks : blockPatterns(context.size(), sizeof(T))) {
    const Blocks bytes = times(blocks, sizeof(T));
    GuardedBuffer data(total(bytes));
    GuardedBuffer workspace(ccl::reduceScatterWorkspace(bytes, context.rank(), communicator->chunkBytes()));
    for (int64_t i = 0; i < total(blocks); ++i)
      data.as<T>()[i] = integerAt(context.rank(), i);
    const std::optional<ccl::Traffic> before = context.sent();
    int64_t begin = beginOf(blocks, context.rank()), own = bytes[context.rank()];
    GuardedBuffer elsewhere(own);
    Buffer output = inPlace ? data.buffer().slice(begin * sizeof(T), own) : elsewhere.buffer();
    finish(context, communicator->reduceScatter(data.buffer(), blocks, elementType<T>(), output, workspace.buffer(),
                                                stream, {"reduce-scatter"}));
    CONFORM(hasSent(context, before, ccl::reduceScatterTraffic(bytes, context.rank())));
    const T *sums = reinterpret_cast<const T *>(output.data);
    CONFORM_EQ(firstWrong(
                   blocks[context.rank()], [&](int64_t i) { return sums[i]; },
                   [&](int64_t i) { return T(integerSum(context.size(), begin + i)); }),
               -1);
    CONFORM(data.isIntact() && workspace.isIntact() && elsewhere.isIntact());
  }
}

// After a reduce-scatter a rank's own block is the exact sum of integers, with a workspace of exactly the size stated.
CONFORMANCE(ReduceScatterF32) { reduceScatterOf<float>(context, /*inPlace=*/true); }
CONFORMANCE(ReduceScatterF64) { reduceScatterOf<double>(context, /*inPlace=*/true); }
CONFORMANCE(ReduceScatterBF16) { reduceScatterOf<BF16>(context, /*inPlace=*/true); }
CONFORMANCE(ReduceScatterF16) { reduceScatterOf<F16>(context, /*inPlace=*/true); }
// The sum may go elsewhere, so that the bucket is free at once.
CONFORMANCE(ReduceScatterElsewhere) { reduceScatterOf<float>(context, /*inPlace=*/false); }

template <typename T> static void allReduceOf(RankContext &context) {
  auto communicator = createCommunicator(context);
  const int64_t small = ccl::kSmallAllReduceBytes / sizeof(T), chunk = ccl::kChunkBytes / sizeof(T);
  for (int64_t elements : {int64_t{0}, int64_t{1}, small - 1, small, small + 1, chunk + 1, chunk * context.size(),
                           (2 * chunk + 1) * context.size() + 1}) {
    GuardedBuffer data(elements * sizeof(T));
    GuardedBuffer workspace(
        ccl::allReduceWorkspace(elements, sizeof(T), context.size(), context.rank(), communicator->chunkBytes()));
    for (int64_t i = 0; i < elements; ++i)
      data.as<T>()[i] = integerAt(context.rank(), i);
    const std::optional<ccl::Traffic> before = context.sent();
    finish(context, communicator->allReduce(data.buffer(), elements, elementType<T>(), workspace.buffer(), stream,
                                            {"all-reduce"}));
    CONFORM(hasSent(context, before, ccl::allReduceTraffic(elements, sizeof(T), context.size(), context.rank())));
    CONFORM_EQ(firstWrong(
                   elements, [&](int64_t i) { return data.as<T>()[i]; },
                   [&](int64_t i) { return T(integerSum(context.size(), i)); }),
               -1);
    CONFORM(data.isIntact() && workspace.isIntact());
  }
}

// After an all-reduce every rank holds the exact sum of integers, on both sides of the size up to which one round is
// used.
CONFORMANCE(AllReduceF32) { allReduceOf<float>(context); }
CONFORMANCE(AllReduceF64) { allReduceOf<double>(context); }
CONFORMANCE(AllReduceBF16) { allReduceOf<BF16>(context); }
CONFORMANCE(AllReduceF16) { allReduceOf<F16>(context); }

/// The first number whose neighbour is 2 away, and as many ones as there are other ranks: rounded at each addition, the
/// sum stays what it is.
template <typename T> static void roundedOnce(RankContext &context) {
  auto communicator = createCommunicator(context);
  const int64_t elements = 5, size = context.size();
  const double coarse = std::ldexp(1.0, T::kBits);
  GuardedBuffer data(elements * sizeof(T));
  GuardedBuffer workspace(
      ccl::allReduceWorkspace(elements, sizeof(T), size, context.rank(), communicator->chunkBytes()));
  std::fill_n(data.as<T>(), elements, T(context.rank() == 0 ? coarse : 1));
  finish(context, communicator->allReduce(data.buffer(), elements, elementType<T>(), workspace.buffer(), stream,
                                          {"all-reduce"}));
  for (int64_t i = 0; i < elements; ++i)
    CONFORM_EQ(data.as<T>()[i].bits, T(coarse + static_cast<double>(size - 1)).bits);
}

// Small floats are added in f32, and rounded once.
CONFORMANCE(SumsOfBF16AreRoundedOnce) { roundedOnce<BF16>(context); }
CONFORMANCE(SumsOfF16AreRoundedOnce) { roundedOnce<F16>(context); }

// Block s of rank r's input is block r of rank s's output; blocks are ragged, some empty, one larger than a chunk.
CONFORMANCE(AllToAll) {
  auto communicator = createCommunicator(context);
  const int64_t size = context.size(), rank = context.rank();
  for (int64_t scale : {int64_t{1}, int64_t{1000}, ccl::kChunkBytes - 1}) {
    auto bytesFrom = [&](int64_t from, int64_t to) { return (from + 2 * to) % 3 * scale; };
    auto valueAt = [](int64_t from, int64_t to, int64_t i) { return integerAt(3 * from + to, i); };
    Blocks sends, receives;
    for (int64_t r = 0; r < size; ++r) {
      sends.push_back(bytesFrom(rank, r));
      receives.push_back(bytesFrom(r, rank));
    }
    GuardedBuffer input(total(sends)), output(total(receives));
    for (int64_t r = 0; r < size; ++r)
      for (int64_t i = 0; i < sends[r]; ++i)
        input.as<int8_t>()[beginOf(sends, r) + i] = valueAt(rank, r, i);
    const std::optional<ccl::Traffic> before = context.sent();
    finish(context, communicator->allToAll(input.buffer(), sends, output.buffer(), receives, stream, {"all-to-all"}));
    CONFORM(hasSent(context, before, ccl::allToAllTraffic(sends, rank)));
    for (int64_t r = 0; r < size; ++r)
      CONFORM_EQ(firstWrong(
                     receives[r], [&](int64_t i) { return output.as<int8_t>()[beginOf(receives, r) + i]; },
                     [&](int64_t i) { return valueAt(r, rank, i); }),
                 -1);
    CONFORM(input.isIntact() && output.isIntact());
  }
}

/// The tree sum of the ranks' rough values, or of the same values beginning with rank 1's.
template <typename T> static T roughSum(int64_t size, int64_t index, bool rotated) {
  T addends[kMaxRanks] = {};
  for (int64_t r = 0; r < size; ++r)
    addends[r] = static_cast<T>(roughAt(rotated ? (r + 1) % size : r, index));
  return counterSum<T>({addends, static_cast<size_t>(size)});
}

template <typename T> static void treeOrderOf(RankContext &context) {
  auto communicator = createCommunicator(context);
  const int64_t size = context.size();
  int64_t differs = 0;
  for (int64_t elements : {int64_t{300}, ccl::kChunkBytes / int64_t{sizeof(T)} + 1000}) {
    Blocks blocks;
    for (int64_t r = 0; r < size; ++r)
      blocks.push_back(sbp::pieceOf(elements, size, r).count);
    GuardedBuffer reduced(elements * sizeof(T)), scattered(elements * sizeof(T));
    const int64_t chunk = communicator->chunkBytes();
    GuardedBuffer workspace(std::max(ccl::reduceScatterWorkspace(times(blocks, sizeof(T)), context.rank(), chunk),
                                     ccl::allReduceWorkspace(elements, sizeof(T), size, context.rank(), chunk)));
    for (int64_t i = 0; i < elements; ++i)
      reduced.as<T>()[i] = scattered.as<T>()[i] = static_cast<T>(roughAt(context.rank(), i));
    finish(context, communicator->allReduce(reduced.buffer(), elements, elementType<T>(), workspace.buffer(), stream,
                                            {"all-reduce"}));
    Buffer block =
        scattered.buffer().slice(beginOf(blocks, context.rank()) * sizeof(T), blocks[context.rank()] * sizeof(T));
    finish(context, communicator->reduceScatter(scattered.buffer(), blocks, elementType<T>(), block, workspace.buffer(),
                                                stream, {"reduce-scatter"}));
    auto expected = [&](int64_t i) { return roughSum<T>(size, i, false); };
    CONFORM_EQ(firstWrong(elements, [&](int64_t i) { return reduced.as<T>()[i]; }, expected), -1);
    int64_t begin = beginOf(blocks, context.rank());
    CONFORM_EQ(firstWrong(
                   blocks[context.rank()], [&](int64_t i) { return scattered.as<T>()[begin + i]; },
                   [&](int64_t i) { return expected(begin + i); }),
               -1);
    for (int64_t i = 0; i < 300; ++i)
      differs += expected(i) != roughSum<T>(size, i, true);
  }
  // Two addends commute; of more, the test would prove nothing if their order did not matter.
  CONFORM_EQ(differs > 0, size > 2);
}

// Sums are those of the tree over the rank index, bit by bit, in both reductions and at every size.
CONFORMANCE(TreeOrderF32) { treeOrderOf<float>(context); }
CONFORMANCE(TreeOrderF64) { treeOrderOf<double>(context); }

} // namespace splitcast::runtime::conformance
