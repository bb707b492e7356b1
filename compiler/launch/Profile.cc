#include "compiler/launch/Profile.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace splitcast {
namespace {

using runtime::ProfiledOp;
using runtime::Profiler;

/// The most rows in the table of single ops.
constexpr size_t kMostRows = 40;

/// The sums of equal ops, or of ops of one kind.
struct Row {
  std::string kind, name;
  std::set<std::string> places; ///< of single ops: where the user's ops stand
  int64_t runs = 0;
  double seconds = 0, bytes = 0, flops = 0, boundSeconds = 0;
  bool hasBound = true; ///< whether the peaks of the machine give a least time
};

/// Returns the least seconds of one run at the machine's peaks. For starting a
/// collective, or waiting for it, they have no meaning.
double boundOf(const ProfiledOp &op, const runtime::Peaks &peaks) {
  return std::max(static_cast<double>(op.bytes) / peaks.movedBytesPerSecond,
                  op.flops > 0 ? op.flops / peaks.flopsPerSecond : 0);
}

void add(Row &row, const ProfiledOp &op, const runtime::Peaks &peaks) {
  const auto runs = static_cast<double>(op.runs - 1); // without the first
  row.runs += op.runs - 1;
  row.seconds += op.seconds;
  row.bytes += runs * static_cast<double>(op.bytes);
  row.flops += runs * op.flops;
  row.boundSeconds += runs * boundOf(op, peaks);
  row.hasBound &=
      !op.isSmall && !op.isOfRanks && peaks.movedBytesPerSecond > 0 && (op.flops == 0 || peaks.flopsPerSecond > 0);
}

std::string textOf(const Row &row, double total) {
  std::string text = absl::StrFormat("%9.3f %5.1f%% %8d ", row.seconds * 1e3, 100 * row.seconds / total, row.runs);
  const bool hasRate = row.seconds > 0;
  absl::StrAppend(&text, hasRate && row.bytes > 0 ? absl::StrFormat("%8.1f ", row.bytes / row.seconds * 1e-9)
                                                  : std::string(9, ' '));
  absl::StrAppend(&text, hasRate && row.flops > 0 ? absl::StrFormat("%8.1f ", row.flops / row.seconds * 1e-9)
                                                  : std::string(9, ' '));
  absl::StrAppend(&text, hasRate && row.hasBound ? absl::StrFormat("%5.0f%%", 100 * row.boundSeconds / row.seconds)
                                                 : std::string(6, ' '));
  absl::StrAppend(&text, "  ", row.kind, row.name.empty() ? "" : " ", row.name);
  if (!row.places.empty())
    absl::StrAppend(&text, "  (", *row.places.begin());
  if (row.places.size() > 1)
    absl::StrAppend(&text, " and ", row.places.size() - 1, " more");
  return absl::StrCat(text, row.places.empty() ? "\n" : ")\n");
}

std::vector<Row> sorted(std::map<std::string, Row> rows) {
  std::vector<Row> list;
  for (auto &[key, row] : rows)
    list.push_back(std::move(row));
  std::stable_sort(list.begin(), list.end(), [](const Row &a, const Row &b) { return a.seconds > b.seconds; });
  return list;
}

/// Returns the text as a JSON string. Symbols may have any bytes.
std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Says what the rates of the table are compared with.
std::string textOf(const runtime::Peaks &peaks) {
  if (peaks.movedBytesPerSecond == 0)
    return "";
  const std::string moved =
      absl::StrFormat(". A rank here moves at most %.1f GB/s (read and written)", peaks.movedBytesPerSecond * 1e-9);
  return peaks.flopsPerSecond == 0
             ? moved
             : absl::StrFormat("%s, and computes at most %.1f Gflop/s of f32", moved, peaks.flopsPerSecond * 1e-9);
}

} // namespace

absl::StatusOr<runtime::Peaks> peaksOf(runtime::Device &device, int threads) {
  if (device.kind() == "cpu")
    return runtime::measurePeaks(threads);
  constexpr int64_t kBytes = 256 << 20; // more than caches hold
  constexpr int kCopies = 5;
  runtime::Peaks peaks;
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::StreamClock> clock, device.createClock());
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Stream> stream, device.createStream("peaks"));
  absl::StatusOr<runtime::Buffer> both = device.allocate(2 * kBytes);
  if (!both.ok())
    return peaks;
  absl::Status status = device.clear(*both, *stream);
  for (int mark = 0; status.ok() && mark <= kCopies; ++mark) {
    status = clock->mark(*stream);
    if (status.ok() && mark < kCopies)
      status = device.copy(both->slice(kBytes, kBytes), both->slice(0, kBytes), *stream);
  }
  status.Update(stream->synchronize());
  device.release(*both);
  SPLITCAST_RETURN_IF_ERROR(status);
  SPLITCAST_ASSIGN_OR_RETURN(const std::vector<int64_t> times, clock->times());
  for (int copy = 0; copy < kCopies; ++copy)
    peaks.movedBytesPerSecond =
        std::max(peaks.movedBytesPerSecond, 2.0 * kBytes / (static_cast<double>(times[copy + 1] - times[copy]) * 1e-9));
  return peaks;
}

std::string profileTable(const Profiler &profiler, const runtime::Peaks &peaks) {
  std::map<std::string, Row> byKind, byName;
  double total = 0;
  for (const ProfiledOp &op : profiler.ops()) {
    if (op.runs < 2)
      continue;
    total += op.seconds;
    const std::string type = op.isSmall ? " of small floats" : "";
    Row &kind = byKind[op.kind + type];
    kind.kind = op.kind + type;
    add(kind, op, peaks);
    Row &name = byName[op.kind + type + " " + op.name];
    name.kind = op.kind + type;
    name.name = op.name;
    if (!op.place.empty())
      name.places.insert(op.place);
    add(name, op, peaks);
  }
  std::string text =
      absl::StrFormat("rank 0's ops, without the first run of each: %.3f ms%s\n       ms            runs     GB/s  "
                      "Gflop/s  of peak\n",
                      total * 1e3, textOf(peaks));
  for (const Row &row : sorted(std::move(byKind)))
    absl::StrAppend(&text, textOf(row, total));
  absl::StrAppend(&text, "by op:\n");
  const std::vector<Row> names = sorted(std::move(byName));
  for (size_t i = 0; i < std::min(names.size(), kMostRows); ++i)
    absl::StrAppend(&text, textOf(names[i], total));
  if (names.size() > kMostRows)
    absl::StrAppend(&text, "and ", names.size() - kMostRows, " more, which are in the trace\n");
  return text;
}

/// Returns the numbers of a trace's rows, by stream: that which computes comes
/// first.
static std::map<std::string, size_t> rowsOf(const Profiler &profiler) {
  std::map<std::string, size_t> rows;
  for (const ProfiledOp &op : profiler.ops())
    rows[op.stream] = 0;
  size_t next = 1;
  for (auto &[stream, row] : rows)
    row = stream == "compute" ? 0 : next++;
  return rows;
}

std::string traceEvents(const Profiler &profiler, int64_t rank, int64_t shift) {
  std::string text =
      absl::StrCat(R"({"ph":"M","name":"process_name","pid":)", rank, R"(,"args":{"name":"rank )", rank, "\"}},\n");
  std::map<std::pair<std::string, int64_t>, const std::map<std::string, int64_t> *> live;
  for (const runtime::LiveBytes &bytes : profiler.liveBytes())
    live[{bytes.plan, bytes.index}] = &bytes.byRole;
  const std::map<std::string, size_t> rows = rowsOf(profiler);
  for (const auto &[stream, row] : rows)
    absl::StrAppend(&text, R"({"ph":"M","name":"thread_name","pid":)", rank, R"(,"tid":)", row, R"(,"args":{"name":)",
                    quoted(stream), "}},\n");
  for (const runtime::ProfiledRun &run : profiler.runs()) {
    const ProfiledOp &op = profiler.ops()[run.op];
    absl::StrAppendFormat(&text,
                          R"({"ph":"X","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"cat":%s,"name":%s,"args":{"plan":%s,)"
                          R"("op":%d,"at":%s,"bytes":%d,"flops":%.0f}},)"
                          "\n",
                          rank, rows.at(op.stream), static_cast<double>(run.begin + shift) * 1e-3,
                          static_cast<double>(run.end - run.begin) * 1e-3, quoted(op.kind),
                          quoted(op.kind == "kernel" ? op.name : absl::StrCat(op.kind, " ", op.name)), quoted(op.plan),
                          op.index, quoted(op.place), op.bytes, op.flops);
    const auto found = live.find({op.plan, op.index});
    if (found == live.end())
      continue;
    absl::StrAppendFormat(&text,
                          R"({"ph":"C","pid":%d,"ts":%.3f,"name":"arena","args":%s},)"
                          "\n",
                          rank, static_cast<double>(run.begin + shift) * 1e-3, nlohmann::json(*found->second).dump());
  }
  return text;
}

/// Returns what to add to this rank's clock to get that of rank 0, up to the
/// microseconds that a barrier takes. The clocks of machines begin at different
/// times.
static absl::StatusOr<int64_t> shiftOf(runtime::Communicator &ranks) {
  SPLITCAST_RETURN_IF_ERROR(ranks.barrier({"comparison of clocks"}));
  const int64_t mine = runtime::StreamClock::now();
  absl::StatusOr<std::vector<std::string>> all = ranks.exchange(absl::StrCat(mine), {"comparison of clocks"});
  int64_t first = mine;
  if (all.ok())
    (void)absl::SimpleAtoi(all->front(), &first);
  return all.ok() ? absl::StatusOr<int64_t>(first - mine) : all.status();
}

absl::Status writeProfile(const std::string &path, const Profiler &profiler, const runtime::Peaks &peaks,
                          runtime::Communicator &ranks) {
  SPLITCAST_ASSIGN_OR_RETURN(int64_t shift, shiftOf(ranks));
  absl::StatusOr<std::vector<std::string>> events =
      ranks.exchange(traceEvents(profiler, ranks.rank(), shift), {"gathering of the profile"});
  if (!events.ok() || ranks.rank() != 0)
    return events.status();
  printf("%s", profileTable(profiler, peaks).c_str()); // it does not depend on the file
  SPLITCAST_ASSIGN_OR_RETURN(runtime::PendingFile file, runtime::PendingFile::create(path));
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (const std::string &ofRank : *events)
    absl::StrAppend(&text, ofRank);
  text.resize(text.size() - 2); // the last comma
  absl::StrAppend(&text, "\n]}\n");
  absl::Status status = file.file().append(text);
  return status.ok() ? file.commit() : status;
}

} // namespace splitcast
