#include "tests/reference/Exchange.h"

#include "tests/reference/TreeSum.h"

using namespace mlir;

namespace splitcast::reference {
namespace {

/// First element of each block.
std::vector<int64_t> beginnings(ArrayRef<int64_t> blocks) {
  std::vector<int64_t> begins;
  int64_t begin = 0;
  for (int64_t block : blocks) {
    begins.push_back(begin);
    begin += block;
  }
  return begins;
}

class ExchangeRun {
public:
  ExchangeRun(ArrayRef<Call> calls, Precision precision) : calls(calls), precision(precision), size(calls.size()) {
    exchanged.bytesSent.resize(size);
    for (const Call &call : calls)
      exchanged.results.push_back(Tensor::zeros(call.resultType));
  }

  Exchanged run() {
    switch (calls.front().kind) {
    case ccl::CollectiveKind::AllGather:
      gatherBlocks(inputs(), calls.front().blocks);
      break;
    case ccl::CollectiveKind::ReduceScatter:
      reduceBlocks();
      break;
    case ccl::CollectiveKind::AllReduce:
      allReduce();
      break;
    case ccl::CollectiveKind::AllToAll:
      allToAll();
      break;
    }
    return std::move(exchanged);
  }

private:
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> tensors;
    for (const Call &call : calls)
      tensors.push_back(*call.input);
    return tensors;
  }

  /// Elements [from, from + count) of a tensor of rank `sender`, as rank `receiver` gets them.
  Tensor send(int64_t sender, int64_t receiver, const Tensor &source, int64_t from, int64_t count) {
    Tensor block = Tensor::zeros({count}, source.elementType);
    copyElements(source, from, count, block, 0);
    if (sender != receiver)
      exchanged.bytesSent[sender] += bytesOf(block);
    return block;
  }

  /// Every rank gets every rank's block.
  void gatherBlocks(ArrayRef<Tensor> ownBlocks, ArrayRef<int64_t> blocks) {
    std::vector<int64_t> begins = beginnings(blocks);
    for (int64_t sender = 0; sender < size; ++sender)
      for (int64_t receiver = 0; receiver < size; ++receiver)
        copyElements(send(sender, receiver, ownBlocks[sender], 0, blocks[sender]), 0, blocks[sender],
                     exchanged.results[receiver], begins[sender]);
  }

  /// The sum over ranks of elements [begin, begin + count) of their inputs, as `receiver` computes it.
  Tensor sumFor(int64_t receiver, int64_t begin, int64_t count) {
    std::vector<Tensor> addends;
    for (int64_t sender = 0; sender < size; ++sender)
      addends.push_back(send(sender, receiver, *calls[sender].input, begin, count));
    return treeSum(addends, precision);
  }

  void reduceBlocks() {
    const std::vector<int64_t> &blocks = calls.front().blocks;
    std::vector<int64_t> begins = beginnings(blocks);
    for (int64_t receiver = 0; receiver < size; ++receiver)
      copyElements(sumFor(receiver, begins[receiver], blocks[receiver]), 0, blocks[receiver],
                   exchanged.results[receiver], 0);
  }

  void allReduce() {
    int64_t elements = calls.front().input->numElements();
    if (bytesOf(*calls.front().input) <= ccl::kSmallAllReduceBytes) {
      for (int64_t receiver = 0; receiver < size; ++receiver)
        copyElements(sumFor(receiver, 0, elements), 0, elements, exchanged.results[receiver], 0);
      return;
    }
    std::vector<Tensor> sums;
    std::vector<int64_t> blocks;
    for (int64_t receiver = 0; receiver < size; ++receiver) {
      sbp::Interval piece = sbp::pieceOf(elements, size, receiver);
      sums.push_back(sumFor(receiver, piece.begin, piece.count));
      blocks.push_back(piece.count);
    }
    gatherBlocks(sums, blocks);
  }

  void allToAll() {
    for (int64_t receiver = 0; receiver < size; ++receiver) {
      std::vector<int64_t> to = beginnings(calls[receiver].received);
      for (int64_t sender = 0; sender < size; ++sender) {
        int64_t from = beginnings(calls[sender].blocks)[receiver], count = calls[sender].blocks[receiver];
        copyElements(send(sender, receiver, *calls[sender].input, from, count), 0, count, exchanged.results[receiver],
                     to[sender]);
      }
    }
  }

  ArrayRef<Call> calls;
  Precision precision;
  int64_t size;
  Exchanged exchanged;
};

} // namespace

Exchanged runCollective(ArrayRef<Call> calls, Precision precision) { return ExchangeRun(calls, precision).run(); }

} // namespace splitcast::reference
