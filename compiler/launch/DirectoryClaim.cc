#include "compiler/launch/DirectoryClaim.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace splitcast {

namespace {

constexpr char kPrefix[] = "job-", kSuffix[] = ".json", kPartial[] = ".partial";
constexpr int64_t kMaxNoteBytes = 4096;
/// A file that was to become a claim, and is older than this, belongs to a job that was killed.
constexpr time_t kPartialSeconds = 3600;

std::string nameOf(int64_t number) { return absl::StrFormat("%s%09d%s", kPrefix, number, kSuffix); }

/// Returns the number of a claim's file; 0 if the name is not of one.
int64_t numberOf(const std::string &name) {
  int64_t number = 0;
  const bool isNumber = absl::StartsWith(name, kPrefix) && absl::EndsWith(name, kSuffix) &&
                        absl::SimpleAtoi(name.substr(4, name.size() - 9), &number);
  return isNumber && number > 0 && nameOf(number) == name ? number : 0;
}

std::string randomId() {
  std::random_device random;
  std::string id;
  for (int word = 0; word < 4; ++word)
    absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  return id;
}

std::string noteOf(int64_t number, const std::string &id) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  const nlohmann::ordered_json json = {
      {"job", number}, {"host", host}, {"process", getpid()}, {"began", absl::FormatTime(absl::Now())}, {"id", id}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Returns which job this is, for messages.
std::string textOf(int64_t number, const std::string &note) {
  const auto json = nlohmann::json::parse(note, nullptr, /*allow_exceptions=*/false);
  const auto field = [&](const char *name) {
    auto found = json.is_object() ? json.find(name) : json.end();
    return found == json.end() ? "unknown" : found->is_string() ? found->get<std::string>() : found->dump();
  };
  return absl::StrCat("job ", number, " (process ", field("process"), " on host ", field("host"), ", begun ",
                      field("began"), ")");
}

absl::StatusOr<std::string> readNote(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::File file, runtime::File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t bytes, file.sizeBytes());
  std::string text(std::min(bytes, kMaxNoteBytes), '\0');
  absl::Status status = file.readAt(0, static_cast<int64_t>(text.size()), text.data());
  return status.ok() ? absl::StatusOr<std::string>(std::move(text)) : status;
}

absl::StatusOr<std::vector<std::string>> namesIn(const std::string &directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error)
    return runtime::fileError(absl::StatusCode::kUnavailable, directory,
                              absl::StrCat("cannot be listed: ", error.message(), "; check the path and its rights"));
  return names;
}

absl::StatusOr<int64_t> largestIn(const std::string &directory) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(directory));
  int64_t largest = 0;
  for (const std::string &name : names)
    largest = std::max(largest, numberOf(name));
  return largest;
}

/// Gives the file a second name, unless that name is taken. A network file system may report that it is taken though
/// this call took it, if the first answer was lost; so the caller compares contents.
///   Errors  AlreadyExists: the name is taken. Those of File.
absl::Status linkAs(const std::string &from, const std::string &to, const std::string &contents) {
  if (::link(from.c_str(), to.c_str()) == 0)
    return absl::OkStatus();
  const int error = errno;
  if (error == EEXIST)
    return runtime::fileError(absl::StatusCode::kAlreadyExists, to, "is taken");
  const bool hasNoLinks = error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
  if (!hasNoLinks)
    return runtime::fileError(absl::StatusCode::kUnavailable, to,
                              absl::StrCat("cannot be created: ", std::strerror(error), "; check the directory"));
  absl::StatusOr<runtime::File> file = runtime::File::create(to);
  if (file.status().code() == absl::StatusCode::kFailedPrecondition)
    return absl::AlreadyExistsError(file.status().message());
  SPLITCAST_RETURN_IF_ERROR(file.status());
  absl::Status status = file->append(contents);
  if (status.ok())
    status = file->sync();
  if (!status.ok()) // the directory would belong to a job that does not begin
    ::unlink(to.c_str());
  return status;
}

/// Makes the directory's entries permanent. Some file systems cannot, which only matters if the machine crashes.
void syncDirectory(const std::string &directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  (void)::fsync(descriptor);
  ::close(descriptor);
}

} // namespace

std::string DirectoryClaim::path() const { return absl::StrCat(directory, "/", nameOf(ownNumber)); }

absl::StatusOr<DirectoryClaim> DirectoryClaim::take(const std::string &directory, int64_t above,
                                                    absl::FunctionRef<absl::Status()> mayTake) {
  constexpr int kAttempts = 1000; // of which each fails only if another job has just begun
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    SPLITCAST_ASSIGN_OR_RETURN(const int64_t largest, largestIn(directory));
    above = std::max(above, largest) + 1; // the listing may be out of date: never the same number twice
    DirectoryClaim claim(directory, above, noteOf(above, randomId()));
    bool isTaken = false;
    SPLITCAST_RETURN_IF_ERROR(claim.link(mayTake, isTaken));
    // Since the listing, others may have taken this number and later ones, and
    // removed the file of this one again.
    if (!isTaken || !claim.check().ok()) {
      claim.giveBack();
      continue;
    }
    absl::Status refused = mayTake();
    if (!refused.ok()) {
      claim.giveBack();
      return refused;
    }
    syncDirectory(directory);
    return claim;
  }
  return runtime::fileError(absl::StatusCode::kUnavailable, directory,
                            absl::StrCat("other jobs have begun in it ", kAttempts,
                                         " times meanwhile; give each job a directory of its own"));
}

/// Gives this claim's file its name, unless another has it. The file is complete
/// and on the disk before, so that little time passes between mayTake and the link.
absl::Status DirectoryClaim::link(absl::FunctionRef<absl::Status()> mayTake, bool &isTaken) const {
  const std::string partial = absl::StrCat(directory, "/", kPrefix, randomId(), kPartial);
  SPLITCAST_ASSIGN_OR_RETURN(runtime::File file, runtime::File::create(partial));
  absl::Status status = file.append(note);
  if (status.ok())
    status = file.sync();
  if (status.ok())
    status = mayTake();
  if (status.ok())
    status = linkAs(partial, path(), note);
  ::unlink(partial.c_str());
  if (status.code() != absl::StatusCode::kAlreadyExists) {
    isTaken = status.ok();
    return status;
  }
  const absl::StatusOr<std::string> found = readNote(path());
  isTaken = found.ok() && *found == note;
  return absl::OkStatus();
}

/// Removes files of earlier jobs, and those of jobs that were killed while they took a number. Errors do not matter:
/// only the largest number counts.
void DirectoryClaim::removeEarlier() const {
  struct stat own{};
  if (::stat(path().c_str(), &own) != 0)
    return;
  const absl::StatusOr<std::vector<std::string>> names = namesIn(directory);
  for (const std::string &name : names.ok() ? *names : std::vector<std::string>()) {
    const std::string file = absl::StrCat(directory, "/", name);
    struct stat found{};
    const bool isLeft = absl::StartsWith(name, kPrefix) && absl::EndsWith(name, kPartial) &&
                        ::lstat(file.c_str(), &found) == 0 && own.st_mtime - found.st_mtime > kPartialSeconds;
    if (isLeft || (numberOf(name) > 0 && numberOf(name) < ownNumber))
      ::unlink(file.c_str());
  }
}

std::string DirectoryClaim::describe() const { return absl::StrCat(ownNumber, " ", note); }

absl::StatusOr<DirectoryClaim> DirectoryClaim::join(const std::string &directory, const std::string &text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int64_t number = 0;
  if (!absl::SimpleAtoi(parts.first, &number) || number < 1)
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' does not describe a claim to a directory"));
  DirectoryClaim claim(directory, number, parts.second);
  absl::StatusOr<std::string> seen = readNote(claim.path());
  if (!seen.ok() || *seen != claim.note)
    return runtime::fileError(absl::StatusCode::kFailedPrecondition, claim.path(),
                              "is not what rank 0 wrote there; give --checkpoint a directory that all hosts share");
  return claim;
}

absl::Status DirectoryClaim::lostTo(int64_t number) const {
  const absl::StatusOr<std::string> other = readNote(absl::StrCat(directory, "/", nameOf(number)));
  return runtime::fileError(
      absl::StatusCode::kFailedPrecondition, directory,
      absl::StrCat("now belongs to ", textOf(number, other.value_or("")), ", which began after this one, ",
                   textOf(ownNumber, note),
                   "; this job ends and leaves its checkpoints alone: resume from them, or give each job a directory "
                   "of its own"));
}

absl::Status DirectoryClaim::check() const {
  SPLITCAST_ASSIGN_OR_RETURN(const int64_t largest, largestIn(directory));
  if (largest > ownNumber)
    return lostTo(largest);
  const absl::StatusOr<std::string> found = readNote(path());
  if (found.ok() && *found == note)
    return absl::OkStatus();
  if (found.ok())
    return lostTo(ownNumber);
  if (found.status().code() != absl::StatusCode::kNotFound)
    return found.status();
  return runtime::fileError(absl::StatusCode::kFailedPrecondition, path(),
                            absl::StrCat("is gone, so the directory may belong to another job than this one, ",
                                         textOf(ownNumber, note),
                                         ": somebody has removed it; resume from the newest checkpoint that is left"));
}

void DirectoryClaim::giveBack() const {
  if (const absl::StatusOr<std::string> found = readNote(path()); found.ok() && *found == note)
    ::unlink(path().c_str());
}

} // namespace splitcast
