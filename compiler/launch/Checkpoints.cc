#include "compiler/launch/Checkpoints.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace splitcast {

namespace {

constexpr char kManifest[] = ".json", kVariables[] = ".safetensors";

std::string manifestPath(const std::string &directory, const CheckpointName &name) {
  return absl::StrCat(directory, "/", name.text(), kManifest);
}
std::string variablesPath(const std::string &directory, const CheckpointName &name) {
  return absl::StrCat(directory, "/", name.text(), kVariables);
}

absl::StatusOr<std::string> readAll(const std::string &path) {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::File file, runtime::File::openForReading(path));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t size, file.sizeBytes());
  std::string text(size, '\0');
  absl::Status status = file.readAt(0, size, text.data());
  return status.ok() ? absl::StatusOr<std::string>(std::move(text)) : status;
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

/// Returns the checkpoints that have a manifest, newest first.
absl::StatusOr<std::vector<CheckpointName>> checkpointsIn(const std::string &directory) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(directory));
  std::vector<CheckpointName> found;
  for (const std::string &name : names)
    if (const std::optional<CheckpointName> checkpoint = CheckpointName::ofManifest(name))
      found.push_back(*checkpoint);
  std::sort(found.begin(), found.end());
  std::reverse(found.begin(), found.end());
  return found;
}

/// Returns the largest number of a job that has a file in the directory, whether
/// its checkpoint is finished or not.
absl::StatusOr<int64_t> latestJobIn(const std::string &directory) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(directory));
  int64_t job = 0;
  for (const std::string &name : names)
    if (const std::optional<CheckpointName> checkpoint = CheckpointName::ofFile(name);
        checkpoint && checkpoint->job > 1)
      job = std::max(job, checkpoint->job);
  return job;
}

/// Returns the best of the checkpoints: that of the least validation loss, the
/// first of equal ones; nullopt if none has such a loss.
std::optional<CheckpointName> bestOf(const std::string &directory, const std::vector<CheckpointName> &names) {
  std::optional<std::pair<double, CheckpointName>> best;
  for (const CheckpointName &name : names) {
    const std::string path = manifestPath(directory, name);
    absl::StatusOr<std::string> text = readAll(path);
    absl::StatusOr<CheckpointManifest> manifest =
        text.ok() ? CheckpointManifest::parse(*text, path) : absl::StatusOr<CheckpointManifest>(text.status());
    const bool isBetter =
        manifest.ok() && manifest->validationLoss && (!best || *manifest->validationLoss < best->first);
    if (isBetter)
      best = {*manifest->validationLoss, name};
  }
  return best ? std::make_optional(best->second) : std::nullopt;
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
  absl::Status status = options.directory.empty() ? absl::OkStatus() : checkpoints.claimDirectory();
  return status.ok() ? absl::StatusOr<Checkpoints>(std::move(checkpoints)) : status;
}

/// Returns an error if the directory has checkpoints from which this job does
/// not resume: it would remove them as old ones.
absl::Status Checkpoints::refuseOthers() const {
  const std::string &directory = options->directory;
  std::error_code error;
  if (!options->resume.empty() && std::filesystem::equivalent(directory, options->resume, error))
    return absl::OkStatus();
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<CheckpointName> found, checkpointsIn(directory));
  return found.empty() ? absl::OkStatus()
                       : runtime::fileError(absl::StatusCode::kFailedPrecondition, directory,
                                            absl::StrCat("has a checkpoint of step ", found.front().step,
                                                         "; continue from it with --resume=", directory,
                                                         ", or use another directory"));
}

/// Makes the directory on rank 0, and takes it from any job that had it.
absl::StatusOr<DirectoryClaim> Checkpoints::takeDirectory() const {
  const std::string &directory = options->directory;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return runtime::fileError(absl::StatusCode::kUnavailable, directory,
                              absl::StrCat("cannot be created: ", error.message()));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t latest, latestJobIn(directory));
  return DirectoryClaim::take(directory, latest, [&] { return refuseOthers(); });
}

/// Takes the directory, and checks that all ranks see the same one: they read
/// what rank 0 wrote there.
absl::Status Checkpoints::claimDirectory() {
  absl::Status status;
  if (launch->rank() == 0) {
    absl::StatusOr<DirectoryClaim> taken = takeDirectory();
    status = taken.status();
    if (taken.ok())
      claim = *std::move(taken);
  }
  SPLITCAST_RETURN_IF_ERROR(launch->agree(status, "opening of the checkpoints"));
  SPLITCAST_ASSIGN_OR_RETURN(
      std::vector<std::string> all,
      launch->communicator().exchange(claim ? claim->describe() : "", {"comparison of directories of checkpoints"}));
  if (launch->rank() != 0) {
    absl::StatusOr<DirectoryClaim> joined = DirectoryClaim::join(options->directory, all.front());
    status = joined.status();
    if (joined.ok())
      claim = *std::move(joined);
  }
  return launch->agree(status, "opening of the checkpoints");
}

/// Returns an error on all ranks if the directory belongs to another job by now.
absl::Status Checkpoints::checkOwned() {
  return launch->agree(launch->rank() == 0 ? claim->check() : absl::OkStatus(), "look at the checkpoints' owner");
}

/// Returns the cause of an error, if it is that another job owns the directory
/// and has removed this job's files; otherwise the error. Each rank looks by
/// itself, since ranks that have failed may not answer.
absl::Status Checkpoints::causeOf(const absl::Status &error) const {
  absl::Status owned = error.ok() ? absl::OkStatus() : claim->check();
  return owned.code() == absl::StatusCode::kFailedPrecondition ? owned : error;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns the checkpoints that have a manifest, as rank 0 finds them.
absl::StatusOr<std::vector<CheckpointName>> Checkpoints::namesToTry() {
  absl::StatusOr<std::vector<CheckpointName>> mine = std::vector<CheckpointName>();
  if (launch->rank() == 0)
    mine = checkpointsIn(options->resume);
  SPLITCAST_RETURN_IF_ERROR(launch->agree(mine.status(), "search for checkpoints"));
  const std::string text = absl::StrJoin(
      *mine, " ", [](std::string *out, const CheckpointName &name) { absl::StrAppend(out, name.text(), kManifest); });
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> all,
                             launch->communicator().exchange(text, {"search for checkpoints"}));
  std::vector<CheckpointName> names;
  for (absl::string_view word : absl::StrSplit(all.front(), ' ', absl::SkipEmpty())) {
    const std::optional<CheckpointName> name = CheckpointName::ofManifest(std::string(word));
    if (!name)
      return absl::InternalError(absl::StrCat("rank 0 sent '", word, "' as the name of a checkpoint"));
    names.push_back(*name);
  }
  return names;
}

/// Checks that the files of a checkpoint are what was written. Each rank reads
/// its own blocks.
absl::Status Checkpoints::isWhole(const CheckpointName &name, CheckpointManifest &manifest) {
  const std::string path = manifestPath(options->resume, name), variables = variablesPath(options->resume, name);
  SPLITCAST_ASSIGN_OR_RETURN(std::string text, readAll(path));
  SPLITCAST_ASSIGN_OR_RETURN(manifest, CheckpointManifest::parse(text, path));
  if (manifest.step != name.step)
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

/// Returns the newest of these checkpoints that is whole; nullopt if none is.
absl::StatusOr<std::optional<CheckpointName>> Checkpoints::newestWhole(const std::vector<CheckpointName> &names,
                                                                       CheckpointManifest &manifest) {
  for (const CheckpointName &name : names) {
    const absl::Status whole = launch->agree(isWhole(name, manifest), "reading of a checkpoint");
    if (whole.ok())
      return std::make_optional(name);
    if (launch->rank() == 0)
      fprintf(stderr, "checkpoint of step %ld is skipped: %s\n", static_cast<long>(name.step),
              whole.ToString().c_str());
  }
  return std::optional<CheckpointName>();
}

absl::StatusOr<int64_t> Checkpoints::resume(int64_t steps, const SavedRates &rates) {
  if (options->resume.empty())
    return 0;
  absl::StatusOr<int64_t> done = load(steps, rates);
  if (!done.ok() && claim && launch->rank() == 0)
    claim->giveBack(); // to a job that may still run
  return done;
}

absl::StatusOr<int64_t> Checkpoints::load(int64_t steps, const SavedRates &rates) {
  CheckpointManifest manifest;
  std::optional<CheckpointName> found;
  std::vector<CheckpointName> tried;
  // If the directory's owner removes old checkpoints meanwhile, there are newer
  // ones.
  constexpr int kSearches = 3;
  for (int search = 0; search < kSearches && !found; ++search) {
    SPLITCAST_ASSIGN_OR_RETURN(std::vector<CheckpointName> names, namesToTry());
    if (search > 0 && names == tried)
      break;
    SPLITCAST_ASSIGN_OR_RETURN(found, newestWhole(names, manifest));
    tried = std::move(names);
  }
  if (!found)
    return absl::NotFoundError(absl::StrCat("'", options->resume, "': has no complete checkpoint, of ", tried.size(),
                                            " in all; check the path, or leave out --resume to begin anew"));
  const std::string path = variablesPath(options->resume, *found);
  if (manifest.seed != seed)
    return runtime::fileError(absl::StatusCode::kInvalidArgument, path,
                              absl::StrCat("was trained with --seed=", manifest.seed, ", but this run has seed ", seed,
                                           "; use the same seed, or begin anew with --load-variables=", path));
  if (found->step > steps)
    return runtime::fileError(absl::StatusCode::kInvalidArgument, path,
                              absl::StrCat("has done ", found->step, " steps, but --steps is ", steps,
                                           "; steps count from the beginning of training: give more"));
  SPLITCAST_RETURN_IF_ERROR(rates.load(*session, path, [&] { return session->loadVariables(path); }));
  resumedStep = found->step;
  return resumedStep;
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

absl::Status Checkpoints::finish() {
  SPLITCAST_RETURN_IF_ERROR(goOn(/*waits=*/true));
  return claim ? checkOwned() : absl::OkStatus();
}

absl::Status Checkpoints::begin(int64_t step, std::optional<double> validationLoss) {
  SPLITCAST_RETURN_IF_ERROR(checkOwned());
  const CheckpointName name{claim->number(), step};
  absl::StatusOr<std::unique_ptr<runtime::PendingSave>> save =
      session->beginSave(variablesPath(options->directory, name));
  if (!save.ok())
    return causeOf(save.status());
  pending.emplace();
  pending->name = name;
  pending->validationLoss = validationLoss;
  pending->save = *std::move(save);
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
    SPLITCAST_RETURN_IF_ERROR(checkOwned());
    SPLITCAST_RETURN_IF_ERROR(causeOf(pending->save->finish()));
    pending->save.reset();
    const std::string path = variablesPath(options->directory, pending->name);
    absl::StatusOr<runtime::File> file = runtime::File::openForReading(path);
    absl::StatusOr<int64_t> size = file.ok() ? file->sizeBytes() : file.status();
    SPLITCAST_RETURN_IF_ERROR(causeOf(launch->agree(size.status(), "reading of a checkpoint")));
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
  manifest.step = pending->name.step;
  manifest.seed = seed;
  manifest.bytes = pending->bytes;
  absl::StatusOr<std::vector<std::string>> mine = pending->digests.get();
  SPLITCAST_RETURN_IF_ERROR(causeOf(launch->agree(mine.status(), "reading of a checkpoint")));
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
  const CheckpointName name = pending->name;
  pending.reset();
  absl::Status status;
  if (launch->rank() == 0) {
    status = writeManifest(manifest, manifestPath(options->directory, name));
    std::error_code ignored; // that of removing a file that has no manifest and only fills the disk
    if (status.ok())
      status = removeOld(name.step);
    else
      std::filesystem::remove(variablesPath(options->directory, name), ignored);
    status = causeOf(status);
  }
  return launch->agree(status, "writing of a checkpoint");
}

absl::Status Checkpoints::writeManifest(const CheckpointManifest &manifest, const std::string &path) const {
  SPLITCAST_ASSIGN_OR_RETURN(runtime::PendingFile file, runtime::PendingFile::create(path));
  SPLITCAST_RETURN_IF_ERROR(file.file().append(manifest.text()));
  SPLITCAST_RETURN_IF_ERROR(claim->check());
  return file.commit();
}

/// Returns the checkpoints to keep, on rank 0: the newest up to this step, and
/// the one of the least validation loss. If two have this loss, it is the newer
/// one. An earlier job's checkpoint of a step beyond the one from which this job
/// resumed was damaged, or came too late.
absl::StatusOr<std::vector<CheckpointName>> Checkpoints::namesToKeep(int64_t step) const {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<CheckpointName> names, checkpointsIn(options->directory));
  const auto isPassedOver = [&](const CheckpointName &name) {
    return name.job > claim->number() || name.step > (name.job < claim->number() ? resumedStep : step);
  };
  names.erase(std::remove_if(names.begin(), names.end(), isPassedOver), names.end());
  const std::optional<CheckpointName> best = bestOf(options->directory, names);
  names.resize(std::min<size_t>(names.size(), options->keep));
  if (best)
    names.push_back(*best);
  return names;
}

/// Removes, on rank 0, all files of checkpoints of this job and earlier ones,
/// except those to keep. Manifests are removed first, so that no manifest is left
/// without its file.
absl::Status Checkpoints::removeOld(int64_t step) const {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<CheckpointName> kept, namesToKeep(step));
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(options->directory));
  std::vector<std::string> old;
  for (const std::string &name : names) {
    const std::optional<CheckpointName> checkpoint = CheckpointName::ofFile(name);
    const bool isFinished =
        checkpoint && (name == checkpoint->text() + kManifest || name == checkpoint->text() + kVariables);
    const bool isKept = isFinished && std::find(kept.begin(), kept.end(), *checkpoint) != kept.end();
    if (checkpoint && checkpoint->job <= claim->number() && !isKept)
      old.push_back(name);
  }
  std::stable_partition(old.begin(), old.end(),
                        [](const std::string &name) { return absl::EndsWith(name, kManifest); });
  for (const std::string &name : old) {
    SPLITCAST_RETURN_IF_ERROR(claim->check());
    std::error_code error;
    std::filesystem::remove(absl::StrCat(options->directory, "/", name), error);
    if (error)
      return runtime::fileError(absl::StatusCode::kUnavailable, absl::StrCat(options->directory, "/", name),
                                absl::StrCat("cannot be removed: ", error.message()));
  }
  claim->removeEarlier();
  return absl::OkStatus();
}

} // namespace splitcast
