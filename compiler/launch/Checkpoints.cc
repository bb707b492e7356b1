#include "compiler/launch/Checkpoints.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace splitcast {

namespace {

std::string manifestPath(const std::string &directory, int64_t step) {
  return absl::StrCat(directory, "/", CheckpointManifest::nameOf(step), ".json");
}
std::string variablesPath(const std::string &directory, int64_t step) {
  return absl::StrCat(directory, "/", CheckpointManifest::nameOf(step), ".safetensors");
}

constexpr char kSharedName[] = "/shared.txt"; ///< in a directory of checkpoints

/// Returns whether a file in a directory of checkpoints belongs to one,
/// finished or not.
bool isOfCheckpoint(const std::string &name) {
  const std::string stem = name.substr(0, name.find('.'));
  return CheckpointManifest::stepOf(stem + ".json") >= 0;
}

absl::StatusOr<std::string> readAll(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::File file, runtime::File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t size, file.sizeBytes());
  std::string text(size, '\0');
  absl::Status status = file.readAt(0, size, text.data());
  return status.ok() ? absl::StatusOr<std::string>(std::move(text)) : status;
}

absl::Status writeAll(const std::string &path, const std::string &text) {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::PendingFile file, runtime::PendingFile::create(path));
  absl::Status status = file.file().append(text);
  return status.ok() ? file.commit() : status;
}

/// Returns the names in a directory, which may be missing.
absl::StatusOr<std::vector<std::string>> namesIn(const std::string &directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    return runtime::fileError(absl::StatusCode::kUnavailable, directory,
                              absl::StrCat("cannot be listed: ", error.message()));
  return names;
}

/// Returns the steps that have a manifest, newest first.
absl::StatusOr<std::vector<int64_t>> stepsIn(const std::string &directory) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(directory));
  std::vector<int64_t> steps;
  for (const std::string &name : names)
    if (const int64_t step = CheckpointManifest::stepOf(name); step >= 0)
      steps.push_back(step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

} // namespace

void CheckpointOptions::addTo(Flags &flags) {
  flags.addString("checkpoint", &directory, "DIRECTORY",
                  "directory in which checkpoints are written; all hosts must share it");
  flags.addInteger("checkpoint-every", &every, 1, 1'000'000'000, "number of steps from one checkpoint to the next");
  flags.addInteger("keep", &keep, 1, 1'000'000,
                   "how many of the newest checkpoints are kept; the one of the least validation loss is kept, too");
  flags.addString("resume", &resume, "DIRECTORY", "continue from the newest complete checkpoint in this directory");
}

absl::StatusOr<Checkpoints> Checkpoints::open(const CheckpointOptions &options, int64_t seed, Launch &launch,
                                              Session &session) {
  Checkpoints checkpoints(options, seed, launch, session);
  absl::Status status = options.directory.empty() ? absl::OkStatus() : checkpoints.checkShared();
  return status.ok() ? absl::StatusOr<Checkpoints>(std::move(checkpoints)) : status;
}

/// Makes the directory on rank 0, and returns what it wrote there for the other
/// ranks to find.
absl::StatusOr<std::string> Checkpoints::makeDirectory() const {
  const std::string &directory = options->directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return runtime::fileError(absl::StatusCode::kUnavailable, directory,
                              absl::StrCat("cannot be created: ", error.message()));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<int64_t> steps, stepsIn(directory));
  const bool goesOn = !options->resume.empty() && std::filesystem::equivalent(directory, options->resume, error);
  if (!steps.empty() && !goesOn) // this job would remove them as old ones
    return runtime::fileError(absl::StatusCode::kFailedPrecondition, directory,
                              absl::StrCat("has a checkpoint of step ", steps.front(),
                                           "; continue from it with --resume=", directory,
                                           ", or use another directory"));
  const std::string text = absl::StrCat("written by the job that began at ", absl::FormatTime(absl::Now()), "\n");
  absl::Status status = writeAll(directory + kSharedName, text);
  return status.ok() ? absl::StatusOr<std::string>(text) : status;
}

/// Checks that all ranks see the same directory: they read what rank 0 wrote
/// there.
absl::Status Checkpoints::checkShared() {
  const std::string path = options->directory + kSharedName;
  absl::StatusOr<std::string> text = launch->rank() == 0 ? makeDirectory() : "";
  SPLITCAST_RETURN_IF_ERROR(launch->agree(text.status(), "opening of the checkpoints"));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             launch->communicator().exchange(*text, {"comparison of directories of checkpoints"}));
  absl::StatusOr<std::string> seen = readAll(path);
  absl::Status shared = seen.ok() && *seen == all.front()
                            ? absl::OkStatus()
                            : runtime::fileError(absl::StatusCode::kFailedPrecondition, path,
                                                 "is not what rank 0 wrote there; give --checkpoint a directory "
                                                 "that all hosts share");
  return launch->agree(shared, "opening of the checkpoints");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns the steps that have a manifest, as rank 0 finds them.
absl::StatusOr<std::vector<int64_t>> Checkpoints::stepsToTry() {
  absl::StatusOr<std::vector<int64_t>> mine = std::vector<int64_t>();
  if (launch->rank() == 0)
    mine = stepsIn(options->resume);
  SPLITCAST_RETURN_IF_ERROR(launch->agree(mine.status(), "search for checkpoints"));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             launch->communicator().exchange(absl::StrJoin(*mine, " "), {"search for checkpoints"}));
  std::vector<int64_t> steps;
  for (absl::string_view text : absl::StrSplit(all.front(), ' ', absl::SkipEmpty()))
    if (!absl::SimpleAtoi(text, &steps.emplace_back()))
      return absl::InternalError(absl::StrCat("rank 0 sent '", text, "' as the step of a checkpoint"));
  return steps;
}

/// Checks that the files of a checkpoint are what was written. Each rank reads
/// its own blocks.
absl::Status Checkpoints::isWhole(int64_t step, CheckpointManifest &manifest) {
  const std::string path = manifestPath(options->resume, step), variables = variablesPath(options->resume, step);
  SPLITCAST_ASSIGN_OR_RETURN(std::string text, readAll(path));
  SPLITCAST_ASSIGN_OR_RETURN(manifest, CheckpointManifest::parse(text, path));
  if (manifest.step != step)
    return runtime::fileError(absl::StatusCode::kDataLoss, path,
                              absl::StrCat("is the manifest of step ", manifest.step, "; rename it back"));
  SPLITCAST_ASSIGN_OR_RETURN(
      std::vector<std::string> digests,
      digestsOfBlocks(variables, manifest.bytes, manifest.blockBytes, launch->rank(), launch->size()));
  for (size_t i = 0; i < digests.size(); ++i)
    if (const auto block = static_cast<int64_t>(i) * launch->size() + launch->rank();
        digests[i] != manifest.digests[block])
      return runtime::fileError(absl::StatusCode::kDataLoss, variables,
                                absl::StrCat("is damaged between bytes ", block * manifest.blockBytes, " and ",
                                             std::min(manifest.bytes, (block + 1) * manifest.blockBytes),
                                             "; use an earlier checkpoint"));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Checkpoints::resume(int64_t steps) {
  if (options->resume.empty())
    return 0;
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<int64_t> all, stepsToTry());
  for (int64_t step : all) {
    CheckpointManifest manifest;
    const absl::Status whole = launch->agree(isWhole(step, manifest), "reading of a checkpoint");
    if (!whole.ok()) {
      if (launch->rank() == 0)
        fprintf(stderr, "checkpoint of step %ld is skipped: %s\n", static_cast<long>(step), whole.ToString().c_str());
      continue;
    }
    const std::string path = variablesPath(options->resume, step);
    if (manifest.seed != seed)
      return runtime::fileError(absl::StatusCode::kInvalidArgument, path,
                                absl::StrCat("was trained with --seed=", manifest.seed, ", but this run has seed ",
                                             seed, "; use the same seed, or begin anew with --load-variables=", path));
    if (step > steps)
      return runtime::fileError(absl::StatusCode::kInvalidArgument, path,
                                absl::StrCat("has done ", step, " steps, but --steps is ", steps,
                                             "; steps count from the beginning of training: give more"));
    absl::Status status = session->loadVariables(path);
    return status.ok() ? absl::StatusOr<int64_t>(step) : status;
  }
  return absl::NotFoundError(absl::StrCat("'", options->resume, "': has no complete checkpoint, of ", all.size(),
                                          " in all; check the path, or leave out --resume to begin anew"));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

absl::Status Checkpoints::afterStep(int64_t done, std::optional<double> validationLoss) {
  const bool isTime = !options->directory.empty() && done % options->every == 0;
  if (absl::Status status = goOn(/*waits=*/isTime); !status.ok() || !isTime)
    return status;
  return begin(done, validationLoss);
}

absl::Status Checkpoints::finish() { return goOn(/*waits=*/true); }

absl::Status Checkpoints::begin(int64_t step, std::optional<double> validationLoss) {
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<runtime::PendingSave> save,
                             session->beginSave(variablesPath(options->directory, step)));
  pending.emplace();
  pending->step = step;
  pending->validationLoss = validationLoss;
  pending->save = std::move(save);
  return absl::OkStatus();
}

/// Returns whether all ranks are ready. They do the next part of the work
/// together.
absl::StatusOr<bool> Checkpoints::isReady(bool isMine) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             launch->communicator().exchange(isMine ? "1" : "0", {"progress of a checkpoint"}));
  return std::find(all.begin(), all.end(), "0") == all.end();
}

/// Continues the pending checkpoint as far as it can without waiting or, if
/// `waits`, to its end.
absl::Status Checkpoints::goOn(bool waits) {
  while (pending) {
    const bool isMine = pending->save ? pending->save->isWritten()
                                      : pending->digests.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    absl::StatusOr<bool> ready = waits ? true : isReady(isMine);
    if (!ready.ok() || !*ready)
      return ready.status();
    if (!pending->save) {
      SPLITCAST_RETURN_IF_ERROR(complete());
      continue;
    }
    SPLITCAST_RETURN_IF_ERROR(pending->save->finish());
    pending->save.reset();
    const std::string path = variablesPath(options->directory, pending->step);
    absl::StatusOr<runtime::File> file = runtime::File::openForReading(path);
    absl::StatusOr<int64_t> size = file.ok() ? file->sizeBytes() : file.status();
    SPLITCAST_RETURN_IF_ERROR(launch->agree(size.status(), "reading of a checkpoint"));
    pending->bytes = *size;
    pending->digests = std::async(std::launch::async, digestsOfBlocks, path, *size, CheckpointManifest().blockBytes,
                                  launch->rank(), launch->size());
  }
  return absl::OkStatus();
}

/// Returns the manifest of the file, with the digests of all blocks. Each rank
/// has read its own.
absl::StatusOr<CheckpointManifest> Checkpoints::digested() {
  CheckpointManifest manifest;
  manifest.step = pending->step;
  manifest.seed = seed;
  manifest.bytes = pending->bytes;
  absl::StatusOr<std::vector<std::string>> mine = pending->digests.get();
  SPLITCAST_RETURN_IF_ERROR(launch->agree(mine.status(), "reading of a checkpoint"));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             launch->communicator().exchange(absl::StrJoin(*mine, " "), {"digests of a checkpoint"}));
  manifest.digests.resize(manifest.numBlocks());
  for (int64_t rank = 0; rank < launch->size(); ++rank) {
    int64_t block = rank;
    for (absl::string_view digest : absl::StrSplit(all[rank], ' ', absl::SkipEmpty())) {
      if (block < manifest.numBlocks())
        manifest.digests[block] = std::string(digest);
      block += launch->size();
    }
  }
  if (pending->validationLoss && std::isfinite(*pending->validationLoss))
    manifest.validationLoss = pending->validationLoss;
  return manifest;
}

absl::Status Checkpoints::complete() {
  SPLITCAST_ASSIGN_OR_RETURN(CheckpointManifest manifest, digested());
  const int64_t step = pending->step;
  pending.reset();
  absl::Status status;
  if (launch->rank() == 0) {
    status = writeAll(manifestPath(options->directory, step), manifest.text());
    std::error_code ignored; // that of removing a file that has no manifest and only fills the disk
    if (status.ok())
      status = removeOld(step);
    else
      std::filesystem::remove(variablesPath(options->directory, step), ignored);
  }
  return launch->agree(status, "writing of a checkpoint");
}

/// Returns the steps to keep, on rank 0: the newest up to this step, and the
/// one of the least validation loss. If two have this loss, it is the newer
/// one. A later step was damaged, or is older than this job, which began before
/// it.
absl::StatusOr<std::vector<int64_t>> Checkpoints::stepsToKeep(int64_t step) const {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<int64_t> steps, stepsIn(options->directory));
  steps.erase(std::remove_if(steps.begin(), steps.end(), [&](int64_t other) { return other > step; }), steps.end());
  std::optional<std::pair<double, int64_t>> best;
  for (int64_t other : steps) {
    const std::string path = manifestPath(options->directory, other);
    absl::StatusOr<std::string> text = readAll(path);
    absl::StatusOr<CheckpointManifest> manifest =
        text.ok() ? CheckpointManifest::parse(*text, path) : absl::StatusOr<CheckpointManifest>(text.status());
    const bool isBetter =
        manifest.ok() && manifest->validationLoss && (!best || *manifest->validationLoss < best->first);
    if (isBetter)
      best = {*manifest->validationLoss, other};
  }
  steps.resize(std::min<size_t>(steps.size(), options->keep));
  if (best)
    steps.push_back(best->second);
  return steps;
}

/// Removes, on rank 0, all files of checkpoints except those to keep. Manifests
/// are removed first, so that no manifest is left without its file.
absl::Status Checkpoints::removeOld(int64_t step) const {
  absl::StatusOr<std::vector<int64_t>> steps = stepsToKeep(step);
  absl::StatusOr<std::vector<std::string>> names = namesIn(options->directory);
  if (!steps.ok() || !names.ok())
    return steps.ok() ? names.status() : steps.status();
  std::vector<std::string> old;
  for (const std::string &name : *names) {
    const auto isKept = [&](int64_t step) {
      const std::string kept = CheckpointManifest::nameOf(step);
      return name == kept + ".json" || name == kept + ".safetensors";
    };
    if (isOfCheckpoint(name) && std::none_of(steps->begin(), steps->end(), isKept))
      old.push_back(name);
  }
  std::stable_partition(old.begin(), old.end(), [](const std::string &name) { return absl::EndsWith(name, ".json"); });
  for (const std::string &name : old) {
    std::error_code error;
    std::filesystem::remove(absl::StrCat(options->directory, "/", name), error);
    if (error)
      return runtime::fileError(absl::StatusCode::kUnavailable, absl::StrCat(options->directory, "/", name),
                                absl::StrCat("cannot be removed: ", error.message()));
  }
  return absl::OkStatus();
}

} // namespace splitcast
